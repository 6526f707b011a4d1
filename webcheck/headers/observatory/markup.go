package observatory

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/html"
	"golang.org/x/net/publicsuffix"
)

// A markup is what the Observatory reads in a page.
type markup struct {
	scripts  []attributes
	policies []string // of meta elements
	referrer string   // of the last meta element that has one
}

type attributes map[string]string

// maxElements bounds the elements of a kind that are kept.
const maxElements = 10_000

// maxAttributes bounds the attributes of an element.
const maxAttributes = 1000

// htmlTypes are the media types in which a page is read. The Observatory compares them as they were sent.
var htmlTypes = []string{"text/html", "application/xhtml+xml"}

func (r *Response) mediaType() string {
	value, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return value
}

// readMarkup finds the elements that matter. A page without a media type has scripts, and no meta elements.
func readMarkup(page Response) (m markup) {
	kind := page.mediaType()
	if kind != "" && !slices.Contains(htmlTypes, kind) {
		return m
	}
	z := html.NewTokenizer(strings.NewReader(page.Body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return m
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		switch name, _ := z.TagName(); string(name) {
		case "script":
			if len(m.scripts) < maxElements {
				m.scripts = append(m.scripts, attributesOf(z))
			}
		case "meta":
			if kind != "" && len(m.policies) < maxElements {
				m.meta(attributesOf(z))
			}
		case "noscript":
			z.NextIsNotRawText() // to the Observatory's parser there is no scripting
		}
	}
}

// attributesOf reads the attributes of the tag whose name was just read; of a name the first counts.
func attributesOf(z *html.Tokenizer) attributes {
	list := attributes{}
	for more := true; more && len(list) < maxAttributes; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, ok := list[string(key)]; !ok && len(key) > 0 {
			list[string(key)] = string(value)
		}
	}
	return list
}

func (m *markup) meta(a attributes) {
	equiv, named := a["http-equiv"]
	content, ok := a["content"]
	switch {
	case named && ok:
		if lower(equiv) == "content-security-policy" && content != "" {
			m.policies = append(m.policies, content)
		}
	case lower(a["name"]) == "referrer":
		m.referrer = cmp.Or(content, m.referrer)
	}
}

// integrityOrder are the results for scripts, from the best. What is not in it counts as before them all.
var integrityOrder = []string{"sri-implemented-and-all-scripts-loaded-securely",
	"sri-implemented-and-external-scripts-loaded-securely", "sri-implemented-but-external-scripts-not-loaded-securely",
	"sri-not-implemented-but-external-scripts-loaded-securely",
	"sri-not-implemented-and-external-scripts-not-loaded-securely"}

var (
	protocolRelative = diag.Regexp(`^//[^/]`)
	fullURL          = diag.Regexp(`^https?://`)
)

func (s *scan) integrity() string {
	if kind := s.Page.mediaType(); kind != "" && !slices.Contains(htmlTypes, kind) {
		return "sri-not-implemented-response-not-html"
	}
	if len(s.page.scripts) == 0 {
		return "sri-not-implemented-but-no-scripts-loaded"
	}
	worst, foreign := "", false
	found := func(result string) {
		if worst == "" || slices.Index(integrityOrder, result) > slices.Index(integrityOrder, worst) {
			worst = result
		}
	}
	for _, script := range s.page.scripts {
		src, checked := script["src"], script["integrity"] != ""
		if src == "" {
			continue
		}
		own, secure := s.origin(src)
		foreign = foreign || !own
		switch {
		case own && checked && secure && worst == "":
			worst = "sri-implemented-and-all-scripts-loaded-securely"
		case own:
		case checked && !secure:
			found("sri-implemented-but-external-scripts-not-loaded-securely")
		case !checked && secure:
			found("sri-not-implemented-but-external-scripts-loaded-securely")
		case !checked:
			found("sri-not-implemented-and-external-scripts-not-loaded-securely")
		}
	}
	switch {
	case worst != "":
		return worst
	case foreign:
		return "sri-implemented-and-external-scripts-loaded-securely"
	default:
		return "sri-not-implemented-but-all-scripts-loaded-from-secure-origin"
	}
}

// origin reports whether a script is of the site itself, and whether it comes over https. To the Observatory a
// URL without a scheme is neither.
func (s *scan) origin(src string) (own, secure bool) {
	switch {
	case protocolRelative().MatchString(src):
		return false, false
	case fullURL().MatchString(src):
		return registrable(hostOf(src)) == registrable(s.Host), strings.HasPrefix(src, "https:")
	default:
		return true, s.Secure
	}
}

func hostOf(src string) string {
	if u, err := url.Parse(src); err == nil {
		return u.Hostname()
	}
	_, rest, _ := strings.Cut(src, "//")
	host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune(":/?#", r) }))]
	return host
}

// registrable returns the domain that was registered for a host, below the suffixes of registries only;
// empty if there is none, as for an address.
func registrable(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":") {
		return ""
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	for !icann && strings.Contains(suffix, ".") {
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(host, suffix), ".")
	if rest == "" || rest == host {
		return ""
	}
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
}
