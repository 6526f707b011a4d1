package redirect

import (
	"bytes"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/html"
)

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
