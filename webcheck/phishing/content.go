package phishing

import (
	"bytes"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/page"
	"golang.org/x/net/html"
	"golang.org/x/net/publicsuffix"
)

// examine finds what the rules on content look at.
func (e *evidence) examine() {
	if e.page == nil {
		return
	}
	texts := slices.Clone(e.page.Titles)
	texts = append(texts, e.page.OpenGraph()["og:site_name"]...)
	for _, text := range texts {
		if t := e.targets.Named(text); t != nil && t != e.last().owner {
			e.titleBrand, e.claimed = t, t.Claimed(text) && !hosted()[t.Name]
			break
		}
	}
	e.hiddenFrames = hiddenFrames(e.body, e.page.Base)
}

// hosted are brands of software that others run on hosts of their own, whose pages to log in have its name.
var hosted = diag.Words("WordPress GitLab Atlassian Cisco Oracle SAP IBM Samsung Huawei HP Dell Sony Zoho")

// forms lists the forms that ask for something.
func (e *evidence) forms() []Form {
	list := []Form{}
	if e.page == nil {
		return list
	}
	for i := range e.page.Forms {
		f := &e.page.Forms[i]
		for _, to := range targetsOf(f) {
			list = append(list, e.form(f, to))
		}
	}
	return list
}

// targetsOf lists where a form sends to, by itself and by its buttons.
func targetsOf(f *page.Form) []page.Ref { return append([]page.Ref{f.Action}, f.Actions...) }

func (e *evidence) form(f *page.Form, to page.Ref) Form {
	out := Form{HasPassword: f.HasPassword}
	url := to.URL
	if url == "" && to.Raw == "" {
		url = e.site.URL.String()
	}
	u, err := diag.ParseURL(url)
	if err != nil {
		out.CrossOrigin = true // data:, mailto: and the like
		return out
	}
	out.ActionHost = u.Host().Name()
	out.CrossOrigin = u.Origin() != e.site.URL.Origin()
	out.Insecure = u.Scheme() == "http"
	return out
}

// foreign reports whether a host belongs to somebody else than the site whose page was read: another
// registrable domain, and not one of the same brand.
func (e *evidence) foreign(host string) bool {
	registered, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		registered = host
	}
	a := e.last()
	return registered != a.place() && (a.owner == nil || e.targets.Owner(host) != a.owner)
}

var (
	obfuscated = diag.Regexp(`(?i)(?:eval|document\.write(?:ln)?|Function)\s*\(\s*(?:unescape|atob|decodeURIComponent|String\.fromCharCode)\s*\(` +
		`|eval\s*\(\s*function\s*\(\s*p\s*,\s*a\s*,\s*c\s*,\s*k|unescape\s*\(\s*['"](?:%[0-9a-f]{2}){20}`)
	exfiltrates = diag.Regexp(`(?i)api\.telegram\.org/bot|discord(?:app)?\.com/api/webhooks/|formspree\.io/|formsubmit\.co/|submit-form\.com/`)
)

// maxFrames bounds the frames that are looked at.
const maxFrames = 20

// hiddenFrames lists the hosts of frames of other sites that nobody can see.
func hiddenFrames(body []byte, base string) (hosts []string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	skip := 0
	for len(hosts) < maxFrames {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return hosts
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, more := z.TagName()
			switch {
			case string(name) == "noscript" && kind == html.StartTagToken:
				skip++
			case string(name) == "noscript":
				skip--
			case string(name) == "iframe" && kind != html.EndTagToken && skip <= 0 && more:
				if host := hiddenFrame(z, base); host != "" && !slices.Contains(hosts, host) {
					hosts = append(hosts, host)
				}
			}
		}
	}
	return hosts
}

// hiddenFrame returns the host of an iframe if it is hidden.
func hiddenFrame(z *html.Tokenizer, base string) string {
	src, hidden := "", false
	for {
		key, value, more := z.TagAttr()
		v := strings.ToLower(strings.ReplaceAll(string(value), " ", ""))
		switch string(key) {
		case "src":
			src = string(value)
		case "width", "height":
			hidden = hidden || v == "0" || v == "1" || v == "0px" || v == "1px"
		case "style":
			hidden = hidden || strings.Contains(v, "display:none") || strings.Contains(v, "visibility:hidden")
		case "hidden":
			hidden = true
		}
		if !more {
			break
		}
	}
	if !hidden || src == "" {
		return ""
	}
	absolute, _ := page.Resolve(base, src)
	u, err := diag.ParseURL(absolute)
	if err != nil {
		return ""
	}
	return u.Host().Name()
}
