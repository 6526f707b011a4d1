package csp

import (
	"encoding/base64"
	"strings"
)

// A Source is one source expression (section 2.3.1).
type Source struct {
	Keyword string // 'self', 'none', 'unsafe-inline' and others, without quotes
	Nonce   string
	Hash    string // as in sha256-…
	Scheme  string // of a scheme source, or of a host source; empty if none is given
	Host    string // may be * or begin with *.
	Port    string // may be *
	Path    string
}

// keywords are the sources that are quoted.
var keywords = map[string]bool{
	"self": true, "none": true, "unsafe-inline": true, "unsafe-eval": true, "strict-dynamic": true,
	"unsafe-hashes": true, "report-sample": true, "wasm-unsafe-eval": true, "unsafe-allow-redirects": true,
	"inline-speculation-rules": true, "trusted-types-eval": true, "report-sha256": true, "report-sha384": true,
	"report-sha512": true,
}

// ParseSource reads a source expression; it reports whether browsers know it.
func ParseSource(text string) (Source, bool) {
	if len(text) > 2 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return parseQuoted(text[1 : len(text)-1])
	}
	if text == "*" {
		return Source{Host: "*"}, true
	}
	scheme, rest, ok := strings.Cut(text, ":")
	if ok && rest == "" && isScheme(scheme) {
		return Source{Scheme: strings.ToLower(scheme)}, true
	}
	var s Source
	if ok && strings.HasPrefix(rest, "//") {
		if !isScheme(scheme) {
			return Source{}, false
		}
		s.Scheme, text = strings.ToLower(scheme), rest[2:]
	}
	if i := strings.IndexByte(text, '/'); i >= 0 {
		text, s.Path = text[:i], text[i:]
	}
	s.Host, s.Port, ok = strings.Cut(text, ":")
	s.Host = strings.ToLower(s.Host)
	if !isHost(s.Host) ||
		ok && s.Port != "*" && (s.Port == "" || len(s.Port) > 5 || strings.Trim(s.Port, "0123456789") != "") ||
		strings.ContainsAny(s.Path, "?#") {
		return Source{}, false
	}
	return s, true
}

func parseQuoted(text string) (Source, bool) {
	lower := strings.ToLower(text)
	if keywords[lower] {
		return Source{Keyword: lower}, true
	}
	if strings.HasPrefix(lower, "nonce-") {
		return Source{Nonce: text[len("nonce-"):]}, isBase64(text[len("nonce-"):])
	}
	for algorithm, size := range map[string]int{"sha256-": 32, "sha384-": 48, "sha512-": 64} {
		if strings.HasPrefix(lower, algorithm) {
			value := normal(text[len(algorithm):])
			sum, err := base64.StdEncoding.DecodeString(value)
			return Source{Hash: algorithm + value}, err == nil && len(sum) == size
		}
	}
	return Source{}, false
}

// normal writes base64 in the standard alphabet: policies may use that of URLs too.
func normal(s string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(s) }

func isBase64(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") == ""
}

// isScheme is RFC 3986 section 3.1.
func isScheme(s string) bool {
	s = strings.ToLower(s)
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// isHost is the host-part of section 2.3.1. Browsers take underscores too.
func isHost(s string) bool {
	if s == "*" {
		return true
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "*."), ".")
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// sourceFault reports what is wrong with a source, if something is.
func sourceFault(text string, kind shape) (Fault, bool) {
	bare := strings.ToLower(unquoted(text))
	correct := "'" + bare + "'"
	if i := strings.IndexByte(bare, '-'); strings.HasPrefix(bare, "nonce-") || strings.HasPrefix(bare, "sha") && i > 0 {
		correct = "'" + unquoted(text) + "'"
	}
	_, quotedKnown := ParseSource(correct)
	s, ok := ParseSource(text)
	switch {
	case quotedKnown && !strings.EqualFold(text, correct):
		return Fault{Kind: MissingQuotes, Correct: correct}, true
	case knownName(bare) && text[0] != '\'':
		return Fault{Kind: MissingSemicolon, Correct: "; " + bare}, true
	case !ok:
		f := Fault{Kind: InvalidSource}
		if text[0] == '\'' && isResource(bare) {
			f.Correct = bare // hosts and schemes have no quotes
		}
		return f, true
	case s.Host != "" && schemes[text]:
		return Fault{Kind: MissingQuotes, Correct: text + ":"}, true
	case strings.Contains(s.Path, "*"): // section 6.7.2.12
		f := Fault{Kind: WildcardPath}
		if strings.HasSuffix(s.Path, "/*") && strings.Count(s.Path, "*") == 1 {
			f.Correct = text[:len(text)-1] // which covers all below it
		}
		return f, true
	case kind == ancestors && text[0] == '\'' && bare != "self" && bare != "none":
		return Fault{Kind: InvalidSource}, true // section 6.4.2
	}
	return Fault{}, false
}

// schemes are those that are listed in policies, where they end in a colon.
var schemes = map[string]bool{"data": true, "blob": true, "https": true, "http": true, "wss": true, "ws": true,
	"mediastream": true, "filesystem": true}

// isResource reports whether a source is a scheme, or a host with a dot in it.
func isResource(source string) bool {
	s, ok := ParseSource(source)
	return ok && (s.Host == "" || strings.Contains(s.Host, ".")) && s.Keyword == "" && s.Nonce == "" && s.Hash == ""
}

func knownName(name string) bool { return Known(name) && strings.Contains(name, "-") }

// unquoted takes quotes of any kind off a word.
func unquoted(s string) string { return strings.Trim(s, "'\"\u2018\u2019\u201c\u201d`") }

// A Bypass is a host from which anyone can serve a script of their choice, so that a policy that allows
// it does not stop injected scripts.
type Bypass struct {
	Host   string // without a star: with a leading dot, all names below it match
	Reason string // as an end of "the host …"
}

const (
	callbacks = "answers with the name of a callback that the caller chooses (JSONP)"
	libraries = "serves libraries, such as old AngularJS, by which markup alone runs scripts"
	packages  = "serves any file of any public package"
	tenants   = "serves files of all its customers"
)

// bypasses are known places of that kind; compiled 2026-11 from the providers' own documentation of JSONP endpoints, of
// package mirrors and of shared hosting. The list is short on purpose: each entry would convince the owner of a policy.
var bypasses = []Bypass{
	{"cdn.jsdelivr.net", packages}, {"fastly.jsdelivr.net", packages}, {"unpkg.com", packages}, {"esm.sh", packages},
	{"cdn.skypack.dev", packages}, {"esm.run", packages}, {"raw.githack.com", packages}, {"rawcdn.githack.com", packages},
	{"cdn.statically.io", packages}, {"ga.jspm.io", packages}, {"cdn.rawgit.com", packages},
	{"cdnjs.cloudflare.com", libraries}, {"ajax.googleapis.com", libraries}, {"code.angularjs.org", libraries},
	{"ajax.aspnetcdn.com", libraries}, {"yastatic.net", libraries}, {"cdn.bootcdn.net", libraries},
	{"cdn.bootcss.com", libraries}, {"lib.baomitu.com", libraries}, {"cdn.staticfile.org", libraries},
	{"www.google.com", callbacks}, {"accounts.google.com", callbacks}, {"translate.googleapis.com", callbacks},
	{"maps.googleapis.com", callbacks}, {"www.googleapis.com", callbacks}, {"suggestqueries.google.com", callbacks},
	{"api.twitter.com", callbacks}, {"cdn.syndication.twimg.com", callbacks}, {"graph.facebook.com", callbacks},
	{"api.vk.com", callbacks}, {"api.flickr.com", callbacks}, {"vimeo.com", callbacks}, {"api.map.baidu.com", callbacks},
	{"suggest.taobao.com", callbacks}, {"en.wikipedia.org", callbacks}, {"api.github.com", callbacks},
	{"dev.virtualearth.net", callbacks}, {"api.stackexchange.com", callbacks}, {"itunes.apple.com", callbacks},
	{"s3.amazonaws.com", tenants}, {".s3.amazonaws.com", tenants}, {".cloudfront.net", tenants},
	{"storage.googleapis.com", tenants}, {".appspot.com", tenants}, {".firebaseapp.com", tenants}, {".web.app", tenants},
	{".github.io", tenants}, {".gitlab.io", tenants}, {".herokuapp.com", tenants}, {".netlify.app", tenants},
	{".vercel.app", tenants}, {".pages.dev", tenants}, {".workers.dev", tenants}, {".r2.dev", tenants},
	{".blob.core.windows.net", tenants}, {".azureedge.net", tenants}, {".azurewebsites.net", tenants},
	{".digitaloceanspaces.com", tenants}, {".b-cdn.net", tenants}, {".glitch.me", tenants}, {".repl.co", tenants},
	{"dl.dropboxusercontent.com", tenants}, {"raw.githubusercontent.com", tenants},
}

// BypassOf returns the place of that kind that a source allows, if there is one. A source that names one file, or
// the host of one customer, is not a bypass.
func BypassOf(s Source) (Bypass, bool) {
	if s.Host == "" || s.Host == "*" || s.Path != "" && !strings.HasSuffix(s.Path, "/") || len(s.Path) > 1 {
		return Bypass{}, false
	}
	for _, b := range bypasses {
		below, shared := strings.CutPrefix(b.Host, ".")
		suffix, wild := strings.CutPrefix(s.Host, "*.")
		switch {
		case shared && wild && (suffix == below || strings.HasSuffix(below, "."+suffix)),
			!shared && s.Host == b.Host, !shared && wild && strings.HasSuffix(b.Host, "."+suffix):
			return b, true
		}
	}
	return Bypass{}, false
}
