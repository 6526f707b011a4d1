package redirect

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/html"
)

// locationKind is the kind of fault in the target of a redirect.
type locationKind int

const (
	malformed   locationKind = iota // it cannot be read, or clients read it differently
	credentials                     // it has a user name or a password
	otherScheme                     // it leads out of the web, such as mailto
	unsafe                          // browsers refuse such a redirect, such as javascript
	local                           // it leads to the machine itself
	tooLong                         // it is longer than what is read here
)

// A locationFault is why the target of a redirect was not even tried.
type locationFault struct {
	kind   locationKind
	scheme string // in lower case, if it is another one
}

var scheme = kit.Regexp(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// unsafeSchemes are those that browsers do not follow from a page of the web (fetch.spec.whatwg.org,
// "HTTP-redirect fetch", and html.spec.whatwg.org, "navigate").
var unsafeSchemes = []string{"javascript", "data", "file", "about", "blob", "view-source", "vbscript", "filesystem"}

// readLocation finds out what is wrong with the target of the last hop, if it was not tried.
func (e *evidence) readLocation() {
	s := e.last()
	if s == nil || !s.redirects() || !s.hop.Target.IsZero() {
		return
	}
	e.location = classify(s.hop.Location, s.url.Scheme())
	if s.hop.Refused != nil && s.hop.Refused.Limit && e.location.kind == malformed {
		e.location.kind = tooLong
	}
}

func classify(location, base string) *locationFault {
	f := &locationFault{kind: malformed}
	text := strings.TrimSpace(location)
	if m := scheme().FindStringSubmatch(text); m != nil {
		f.scheme = strings.ToLower(m[1])
		text = text[len(m[0]):]
	}
	switch web := f.scheme == "" || f.scheme == "http" || f.scheme == "https"; {
	case slices.Contains(unsafeSchemes, f.scheme):
		f.kind = unsafe
		return f
	case !web:
		f.kind = otherScheme
		return f
	}
	rest, ok := strings.CutPrefix(text, "//")
	if !ok {
		return f
	}
	if f.scheme == "" {
		f.scheme = base
	}
	authority := rest[:len(rest)-len(strings.TrimLeft(rest, "/"))]
	rest = rest[len(authority):]
	if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
		rest = rest[:end]
	}
	host := strings.ToLower(strings.TrimSuffix(rest, "."))
	host, _, _ = strings.Cut(host, ":")
	switch {
	case strings.Contains(rest, "@"):
		f.kind = credentials
	case strings.TrimSuffix(host, ".") == "localhost" || strings.HasSuffix(strings.TrimSuffix(host, "."), ".localhost"):
		f.kind = local
	}
	return f
}

// rawIn names the first character of a location that no URL may have as itself (RFC 3986 section 2), or nothing. White
// space at its ends is not part of it (RFC 9110 section 5.5); a backslash in front of the query has a rule of its own.
func rawIn(location string) string {
	const allowed = ":/?#[]@!$&'()*+,;=-._~%"
	text := strings.Trim(location, " \t")
	query := strings.IndexAny(text, "?#")
	for i, c := range text {
		switch {
		case c == ' ':
			return "a space"
		case c == '%' && escapes().FindString(text[i:]) == "":
			return "a percent sign without two hexadecimal digits"
		case c == '\\' && (query < 0 || i < query):
		case c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(allowed, c)):
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return fmt.Sprintf("the byte 0x%02X, which is not UTF-8,", text[i])
		default:
			return fmt.Sprintf("the character %q", c)
		}
	}
	return ""
}

// escapes matches an escape at the beginning of a text.
var escapes = kit.Regexp(`^%[0-9A-Fa-f]{2}`)

// withoutSecret shows a location whose user name and password are left out.
func withoutSecret(location string) string {
	i := strings.Index(location, "//")
	if i < 0 {
		return location
	}
	rest := strings.TrimLeft(location[i:], `/\`)
	before := location[:len(location)-len(rest)]
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		rest = "…@" + rest[at+1:]
	}
	return before + rest
}

// locations returns the different targets that the Location fields of an answer name.
func locations(h *fetch.Hop) []string {
	list := slices.DeleteFunc(slices.Clone(h.Header.Values("Location")), func(v string) bool { return v == "" })
	slices.Sort(list)
	return slices.Compact(list)
}

const (
	// maxIdleText is how much text a page may show that is only there to lead elsewhere, in bytes. Pages with
	// contents name locations in their scripts for many reasons.
	maxIdleText = 500
	// maxScripts is how much of the scripts is searched, in bytes.
	maxScripts = 64 << 10
)

// navigation is how scripts lead elsewhere (html.spec.whatwg.org, "The Location interface").
var navigation = kit.Regexp(`(?:^|[^\w$])location(?:\.href)?\s*(?:=|\.(?:replace|assign)\()\s*` +
	`(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// scriptIn returns where an inline script of a page seems to lead, or nothing.
func scriptIn(text []byte) string {
	z := html.NewTokenizer(bytes.NewReader(text))
	left := maxScripts
	for name := range page.StartTags(z) {
		if name != "script" || z.Next() != html.TextToken {
			continue
		}
		script := z.Raw()
		script = script[:min(len(script), left)]
		left -= len(script)
		if target := scriptTarget(script); target != "" || left == 0 {
			return target
		}
	}
	return ""
}

// scriptTarget returns where a script seems to lead, or nothing.
func scriptTarget(script []byte) string {
	m := navigation().FindSubmatch(bytes.ReplaceAll(script, []byte(`\/`), []byte("/")))
	if m == nil {
		return ""
	}
	target := string(m[1]) + string(m[2])
	if strings.HasPrefix(target, "#") || len(target) > input.MaxURL {
		return ""
	}
	return printable(target)
}

// maxNames bounds lists of names in a report.
const maxNames = 50

// tracking names query parameters by which clicks, campaigns and visitors are followed; those that end in an underscore
// are prefixes. It was compiled from the documentation of the vendors, as known in November 2026.
var tracking = []string{
	"utm_", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", // Google
	"_ga", "_gl",
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "twclid", "ttclid", "li_fat_id", "epik", "sccid", "rdt_cid", "yclid", "ysclid", "_openstat", // ad networks
	"mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "mkt_tok", // mailings
	"oly_anon_id", "oly_enc_id", "vero_id", "ml_subscriber", "ml_subscriber_hash", "_kx", "ck_subscriber_id", "_bta_tid",
	"mtm_", "pk_", "piwik_", "matomo_", // Matomo
	"s_cid", "ef_id", "s_kwcid", "irclickid", "irgwc", "cjevent", "wickedid", "rb_clickid", "wt_", "at_", "__s",
	"_branch_match_id",
}

// trackingParameters lists the names of such parameters in a query, each once, in their order.
func trackingParameters(u diag.URL) (names []string) {
	for _, p := range query(u) {
		if tracks(strings.ToLower(p.name)) && !slices.Contains(names, p.name) && len(names) < maxNames {
			names = append(names, p.name)
		}
	}
	return names
}

func tracks(name string) bool {
	return slices.ContainsFunc(tracking, func(t string) bool {
		return name == t || strings.HasSuffix(t, "_") && len(name) > len(t) && strings.HasPrefix(name, t)
	})
}

type parameter struct{ name, value string }

// query takes a query apart as forms do (url.spec.whatwg.org, "application/x-www-form-urlencoded parser").
// What cannot be decoded is left as it is.
func query(u diag.URL) (list []parameter) {
	for pair := range strings.SplitSeq(u.HTTP().RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" {
			list = append(list, parameter{unescape(name), unescape(value)})
		}
	}
	return list
}

func unescape(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return printable(t)
	}
	return s
}

// forwarding returns the name of the query parameter that holds the host to which a hop leads, on another
// registrable domain: who writes the URL decides where it leads (CWE-601).
func forwarding(s *step) string {
	if s.hop.Target.IsZero() || !s.crosses() {
		return ""
	}
	for _, p := range query(s.url) {
		value := strings.TrimSpace(p.value)
		if !strings.Contains(value, "//") {
			continue
		}
		if strings.HasPrefix(value, "//") {
			value = s.url.Scheme() + ":" + value
		}
		if u, err := diag.ParseURL(value); err == nil && u.Host() == s.hop.Target.Host() {
			return p.name
		}
	}
	return ""
}
