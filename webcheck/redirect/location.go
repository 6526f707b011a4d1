package redirect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"golang.org/x/net/html"
)

// locationKind is what is wrong with the target of a redirect.
type locationKind int

const (
	malformed   locationKind = iota // it cannot be read, or clients read it differently
	credentials                     // it has a user name or a password
	otherScheme                     // it leads out of the web, such as mailto
	unsafe                          // browsers refuse such a redirect, such as javascript
	local                           // it leads to the machine itself
)

// A locationFault is why the target of a redirect was not even tried.
type locationFault struct {
	kind   locationKind
	scheme string // in lower case, if it is another one
}

var scheme = diag.Regexp(`^([A-Za-z][A-Za-z0-9+.-]*):`)

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
	list := slices.Clone(h.Header.Values("Location"))
	slices.Sort(list)
	return slices.Compact(list)
}

const (
	// maxIdleText is how much text a page may show that is only there to lead elsewhere, in bytes. Pages with
	// contents name locations in their scripts for many reasons.
	maxIdleText = 500
	// maxScripts is how much of the scripts is searched, in bytes.
	maxScripts = 64 << 10
	maxTarget  = 2048 // bytes of a URL, as in package diag
)

// navigation is how scripts lead elsewhere (html.spec.whatwg.org, "The Location interface").
var navigation = diag.Regexp(`(?:^|[^\w$])location(?:\.href)?\s*(?:=|\.(?:replace|assign)\()\s*` +
	`(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// scriptIn returns where an inline script of a page seems to lead, or nothing.
func scriptIn(text []byte) string {
	z := html.NewTokenizer(bytes.NewReader(text))
	for left := maxScripts; left > 0; {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) != "script" || z.Next() != html.TextToken {
				continue
			}
			script := z.Raw()
			script = script[:min(len(script), left)]
			left -= len(script)
			if target := scriptTarget(script); target != "" {
				return target
			}
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
	if strings.HasPrefix(target, "#") || len(target) > maxTarget {
		return ""
	}
	return printable(target)
}
