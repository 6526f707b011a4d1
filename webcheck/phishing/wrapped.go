package phishing

import (
	_ "embed" // wrappers.txt
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
)

// A wrapper is a service that rewrites URLs of others so that they lead through it: filters of mail, redirects of
// social networks, translators, archives and reverse proxies. The page is that of the URL within.
type wrapper struct {
	host string // or one under it, if it begins with a dot
	path string // with which the path begins
	how  string // where the other URL is: a key of unwrapping
	in   string // the parameters, separated by commas; "-" if it is in none
}

// wrappers come from the services' own documents: learn.microsoft.com "safe-links-about" and, for the suffixes of
// Defender for Cloud Apps, "troubleshooting-proxy-url"; help.proofpoint.com "URL Defense"; developers.google.com "AMP
// cache URL format"; the others from their links. As of 2026-11-22.
var wrappers = sync.OnceValue(func() (list []wrapper) {
	for line := range strings.SplitSeq(strings.TrimSpace(wrapperLines), "\n") {
		c := strings.Fields(line)
		list = append(list, wrapper{c[0], c[1], c[2], c[3]})
	}
	return list
})

//go:embed wrappers.txt
var wrapperLines string

// unwrapping are the ways in which the URL within is read; they return nothing if absent.
var unwrapping = map[string]func(a *anatomy, w *wrapper) string{
	"query": (*anatomy).innerParameter,
	"proofpoint": func(a *anatomy, w *wrapper) string {
		text, err := url.QueryUnescape(strings.NewReplacer("-", "%", "_", "/").Replace(a.innerParameter(w)))
		if err != nil {
			return ""
		}
		return text
	},
	"underscores": func(a *anatomy, w *wrapper) string {
		_, rest, _ := strings.Cut(a.url.String(), w.path+"__")
		inner, _, _ := strings.Cut(strings.TrimLeft(rest, "_"), "__")
		return inner
	},
	"first": func(a *anatomy, w *wrapper) string {
		first, _, _ := strings.Cut(a.innerPath(w), "/")
		text, err := url.PathUnescape(first)
		if err != nil {
			return ""
		}
		return text
	},
	"after": func(a *anatomy, w *wrapper) string { return a.innerPath(w) },
	"last": func(a *anatomy, _ *wrapper) string {
		path := a.url.HTTP().EscapedPath()
		text, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
		if err != nil || !strings.Contains(text, "://") {
			return ""
		}
		return text
	},
	"archive": func(a *anatomy, w *wrapper) string {
		moment, rest, _ := strings.Cut(a.innerPath(w), "/")
		if strings.Trim(moment, "0123456789*abcdefghijklmnopqrstuvwxyz_") != "" {
			return ""
		}
		return rest
	},
	"dashes": func(a *anatomy, w *wrapper) string {
		label := strings.TrimSuffix(a.url.Host().Name(), w.host)
		dots := strings.NewReplacer("--", "-", "-", ".").Replace(label)
		return "https://" + dots + a.url.HTTP().EscapedPath()
	},
	"suffix": func(a *anatomy, w *wrapper) string {
		inner := strings.TrimSuffix(a.url.Host().Name(), w.host)
		if !strings.Contains(inner, ".") {
			return ""
		}
		return "https://" + inner + strings.TrimPrefix(a.url.String(), a.url.Origin())
	},
}

func (a *anatomy) innerParameter(w *wrapper) string {
	query := a.url.HTTP().Query()
	for _, name := range strings.Split(w.in, ",") {
		if value := query.Get(name); value != "" {
			return value
		}
	}
	return ""
}

func (a *anatomy) innerPath(w *wrapper) string {
	_, rest, _ := strings.Cut(a.url.String(), a.url.Host().String()+w.path)
	return rest
}

// unwrap returns the URL that a known service rewrote, or nothing.
func (a *anatomy) unwrap() string {
	host, path := a.url.Host().Name(), a.url.HTTP().EscapedPath()
	for i := range wrappers() {
		w := &wrappers()[i]
		there := host == w.host || w.host[0] == '.' && strings.HasSuffix(host, w.host)
		if there && strings.HasPrefix(path, w.path) {
			return unwrapping[w.how](a, w)
		}
	}
	return ""
}

// The labels under which libraries and universities run proxies that put the name of a publisher in front of their own
// (OCLC EZproxy, "Proxy by hostname"), and those that say so only together with the name of a university.
var (
	libraryLabels = kit.Words("ezproxy ezproxy2 ezp ezaccess eproxy libproxy lib-proxy libezproxy idm bibproxy")
	proxyLabels   = kit.Words("proxy proxy1 proxy2 webproxy reverse-proxy vpn webvpn sslvpn www-proxy")
	academicName  = kit.Regexp(`^(?:uni|univ|tu|fh|hs|eth|bibliothe[a-z]*|biblio|lib)(?:-|$)|universit|college|library`)
	academicEnd   = kit.Regexp(`^(?:edu|ac|edu\.[a-z]{2}|ac\.[a-z]{2}|mil|gov)$`)
)

// exemptProxy takes back a likeness to a brand that is due to a proxy of a library: all of it where no one else can
// have the name, and most of it where only the label says so.
func (a *anatomy) exemptProxy() {
	if a.match == nil || a.match.Technique != lookalike.Subdomain {
		return
	}
	proxy := slices.IndexFunc(a.below, func(l string) bool { return libraryLabels()[l] })
	if general := slices.IndexFunc(a.below, func(l string) bool { return proxyLabels()[l] }); proxy < 0 &&
		(academicEnd().MatchString(a.suffix) || academicName().MatchString(a.label())) {
		proxy = general
	}
	switch {
	case proxy < 1: // nothing precedes it
	case academicEnd().MatchString(a.suffix), a.registered == "oclc.org":
		a.match, a.proxied = nil, true
	case a.match.Strength > lookalike.Fair:
		lesser := *a.match
		lesser.Strength = lookalike.Fair
		a.match, a.proxied = &lesser, true
	}
}
