package pages

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
	"golang.org/x/net/html"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// get requests a path with header fields, given as names and values.
func get(h http.Handler, method, path string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A node is a page as a browser reads it.
type node struct {
	*html.Node
}

func parse(t *testing.T, text string) node {
	n, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	return node{n}
}

// all are the elements of a name, in their order; any if the name is empty.
func (n node) all(name string) []node {
	var list []node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (name == "" || d.Data == name) {
			list = append(list, node{d})
		}
	}
	return list
}

func (n node) attr(name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (n node) text() string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// shared is a site with a dashboard, whose pages are made once for all tests.
var shared = sync.OnceValue(func() *site { return Handler(Config{Dashboard: "/dashboard"}).(*site) })

// everyNth finding is tested with its page: all of them are made alike.
const everyNth = 25

// allPaths are the paths of all pages and files, but for most findings.
func allPaths(s *site) []string {
	paths := slices.Sorted(maps.Keys(s.files))
	for folder, pages := range s.collected {
		for i, name := range slices.Sorted(maps.Keys(pages())) {
			if folder == typesPath || !strings.ContainsAny(name, "._") || i%everyNth == 0 {
				paths = append(paths, folder+name)
			}
		}
	}
	return append(paths, "/docs/search?q=rotate", "/docs/search?q=spf", "/docs/search?q=zzz", "/docs/search?q=%20")
}

var parsedPages = sync.OnceValue(func() map[string]*html.Node {
	pages := map[string]*html.Node{}
	for _, path := range allPaths(shared()) {
		if w := get(shared(), "GET", path); w.Header().Get("Content-Type") == htmlMedia {
			pages[path], _ = html.Parse(w.Body) // which takes everything
		}
	}
	return pages
})

// allPages are all pages, by their paths.
func allPages() map[string]node {
	pages := map[string]node{}
	for path, n := range parsedPages() {
		pages[path] = node{n}
	}
	return pages
}

// maxPage bounds a page, in bytes.
const maxPage = 60 << 10

// No page is longer than a reader or a phone can take.
func TestSizes(t *testing.T) {
	for path := range allPages() {
		w := get(shared(), "GET", path)
		require.Equal(t, 200, w.Code, path)
		require.Less(t, w.Body.Len(), maxPage, path)
	}
}

// Every page is HTML with a language, a title and a heading of its own, and its anchors are unique.
func TestPages(t *testing.T) {
	pages := allPages()
	require.Greater(t, len(pages), len(httpapi.Endpoints())+len(guides)+150)
	titles := map[string]string{}
	for path, page := range pages {
		require.Equal(t, "en", page.all("html")[0].attr("lang"), path)
		require.Len(t, page.all("h1"), 1, path)
		title := page.all("title")[0].text()
		if path == "/docs/search?q=%20" {
			continue // an empty search
		}
		require.Empty(t, titles[title], "%s and %s have one title", path, titles[title])
		titles[title] = path
		ids := map[string]bool{}
		for _, e := range page.all("") {
			id := e.attr("id")
			require.False(t, id != "" && ids[id], "%s has #%s twice", path, id)
			ids[id] = true
			require.Empty(t, e.attr("style"), "%s: the policy allows no style attributes", path)
		}
		for _, e := range append(page.all("script"), page.all("style")...) {
			require.Empty(t, e.text(), "%s: the policy allows nothing inline", path)
		}
		require.NotContains(t, page.text(), "ZgotmplZ", path)
		require.NotContains(t, page.text(), "<nil>", path)
		require.NotContains(t, page.text(), "map[", path)
		require.NotRegexp(t, `[a-z]\.\. `, page.text(), path+": a sentence ends twice")
	}
}

// standard are addresses of standards, which pages link to, and load nothing from.
var standard = regexp.MustCompile(
	`^https://(www\.rfc-editor\.org/rfc/rfc\d+(#[a-z]+-[A-Z0-9.]+)?|datatracker\.ietf\.org/doc/html/draft-[a-z0-9-]+|` +
		`www\.standardwebhooks\.com)$`)

// Every link leads to a path of this server or to a standard, and every anchor exists.
func TestLinks(t *testing.T) {
	s := shared()
	pages := allPages()
	missing := get(s, "GET", "/docs/spf/lokup")
	pages["/docs/spf/lokup"] = parse(t, missing.Body.String())
	checked := 0
	for path, page := range pages {
		for _, e := range page.all("") {
			for _, name := range []string{"href", "src", "action", "srcset", "data"} {
				target := e.attr(name)
				if target == "" {
					continue
				}
				if e.Data == "a" && standard.MatchString(target) {
					continue
				}
				u, err := url.Parse(target)
				require.NoError(t, err, path)
				require.Empty(t, u.Scheme+u.Host, "%s leads to %s", path, target)
				at := u.Path
				if at == "" {
					at = path
				}
				if at == "/dashboard" || strings.HasPrefix(at, "/dashboard/") {
					continue // tests of the dashboard know its pages
				}
				require.True(t, at == path || s.file(at) != nil, "%s leads to %s", path, target)
				if u.Fragment != "" {
					found := slices.ContainsFunc(pages[at].all(""), func(e node) bool { return e.attr("id") == u.Fragment })
					require.True(t, found, "%s leads to %s", path, target)
				}
				checked++
			}
		}
	}
	require.Greater(t, checked, 5000)
}

// No page or file names a host from which something could be fetched, except in examples.
func TestNoForeignHosts(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)(?:src|href|action|url\(|@import|fetch\(|import )[^>\n]{0,3}["'(= ]*(?:https?:)?//`)
	links := regexp.MustCompile(`<a href="https://[^"]*"|(?s)<pre>.*?</pre>`) // see TestLinks; programs
	s := shared()
	for _, path := range allPaths(s) {
		if !strings.HasPrefix(path, "/openapi.") {
			text := links.ReplaceAllString(get(s, "GET", path).Body.String(), "")
			require.Empty(t, foreign.FindString(text), path)
		}
	}
}

// Each operation has a page with its sentences, its fields, its price and scope, and every finding with its texts.
func TestOperationPages(t *testing.T) {
	s := shared()
	pages := allPages()
	for _, ep := range httpapi.Endpoints() {
		page, ok := pages[operation{Endpoint: ep}.Page()]
		require.True(t, ok, ep.Name())
		text := page.text()
		for _, sentence := range ep.Description() {
			require.Contains(t, text, sentence)
		}
		require.Contains(t, text, string(ep.Scope))
		require.Equal(t, ep.Name(), page.all("h1")[0].text())
		byID := map[string]node{}
		for _, e := range page.all("") {
			byID[e.attr("id")] = e
		}
		for _, p := range ep.Params() {
			require.Contains(t, text, p.Name+" ", ep.Name())
			require.Contains(t, strings.ToLower(text), strings.ToLower(strings.Join(strings.Fields(p.Doc), " ")), ep.Name())
		}
		listed := s.findings().Of(operation{Endpoint: ep})
		for _, f := range listed {
			row, ok := byID[string(f.Code)]
			require.True(t, ok, "%s: %s", ep.Name(), f.Code)
			require.Equal(t, f.Title+" "+string(f.Code)+" "+f.Severity.String(), row.text())
			require.Equal(t, "/docs/findings/"+string(f.Code), row.all("a")[0].attr("href"))
		}
		elsewhere := 0
		for _, family := range s.findings().Elsewhere(operation{Endpoint: ep}) {
			require.Contains(t, text, family.Title)
			elsewhere += family.Count
		}
		require.Len(t, ep.Rules(), len(listed)+elsewhere)
		if len(ep.Rules()) <= maxListed {
			require.Zero(t, elsewhere)
		}
	}
}

// The fields of replies are those of the OpenAPI document.
func TestReplyFields(t *testing.T) {
	page := parse(t, get(shared(), "GET", "/docs/spf/lookup").Body.String()).text()
	for _, want := range []string{
		"All fields of Lookup, Verdict, and:", "dns_lookups SpfCount", "authorized object", "terms SpfTermReport[]",
		"tree SpfNodeReport or null", "sender string MAIL FROM", "At most 320 characters.", "ip4 string[]",
	} {
		assert.Contains(t, strings.ReplaceAll(page, " optional", ""), want)
	}
}

// The pages of what holds for all operations name every error code and every plan.
func TestGuides(t *testing.T) {
	pages := allPages()
	for _, code := range httpapi.InvalidRequest.Values() {
		found := slices.ContainsFunc(pages["/docs/errors"].all("section"), func(e node) bool { return e.attr("id") == code })
		require.True(t, found, code)
	}
	for _, want := range []string{"Pack 29.00 EUR 50,000 60 1.00 EUR",
		"Enterprise on request 5,000,000 1,200 0.30 EUR",
		"Free 0.00 EUR 30 10 hard limit"} {
		require.Contains(t, pages["/docs/credits"].text(), want)
	}
	require.NotContains(t, pages["/docs/credits"].text(), "Own use")
}

// Pages may be kept and revalidated, compressed or not; HEAD matches GET.
func TestServing(t *testing.T) {
	s := shared()
	for _, path := range allPaths(s) {
		plain := get(s, "GET", path)
		require.Equal(t, "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "+
			"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", plain.Header().Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", plain.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "public, no-cache", plain.Header().Get("Cache-Control"))
		require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
		require.Regexp(t, `^(text/(html|css|javascript|plain); charset=utf-8|image/svg\+xml|application/(json|yaml))$`,
			plain.Header().Get("Content-Type"), path)
		zipped := get(s, "GET", path, "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(zipped.Body)
		require.NoError(t, err, path)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, plain.Body.String(), string(text))
		require.NotEqual(t, plain.Header().Get("Etag"), zipped.Header().Get("Etag"))

		same := get(s, "GET", path, "If-None-Match", plain.Header().Get("Etag"))
		require.Equal(t, 304, same.Code)
		require.Empty(t, same.Body.String())
		head := get(s, "HEAD", path)
		require.Equal(t, 200, head.Code)
		require.Empty(t, head.Body.String())
		require.Equal(t, plain.Header(), head.Header())
	}
	refused := get(s, "POST", "/docs")
	require.Equal(t, 405, refused.Code)
	require.Equal(t, "GET, HEAD", refused.Header().Get("Allow"))
	require.Equal(t, "/docs/spf/lookup", get(s, "GET", "/docs/spf/lookup/").Header().Get("Location"))
}

// What is not there is not found, in HTML, and the operation that was probably meant is named.
func TestMissing(t *testing.T) {
	s := shared()
	for path, want := range map[string]string{
		"/docs/spf/lokup": "/docs/spf/lookup", "/docs/ssl": "/docs/certificates/ssl/check", "/spf/lookup": "/docs/spf/lookup",
		"/docs/zzz": "", "/docs/findings/none.such": "", "/docs/types/Nothing": "", "//docs.example/": "", "/docs/../x": "",
	} {
		w := get(s, "GET", path)
		require.Equal(t, 404, w.Code, path)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		main := parse(t, w.Body.String()).all("main")[0]
		require.Equal(t, want != "", strings.Contains(main.text(), "Did you mean"), path)
		if want != "" {
			require.Equal(t, want, main.all("a")[0].attr("href"))
		}
		require.Empty(t, get(s, "HEAD", path).Body.String())
	}
}

// The document in YAML is equivalent to that in JSON.
func TestYAML(t *testing.T) {
	s := shared()
	var fromYAML, fromJSON any
	require.NoError(t, yaml.Unmarshal(get(s, "GET", "/openapi.yaml").Body.Bytes(), &fromYAML))
	require.NoError(t, json.Unmarshal(get(s, "GET", "/openapi.json").Body.Bytes(), &fromJSON))
	again, err := json.Marshal(fromYAML)
	require.NoError(t, err)
	require.JSONEq(t, string(httpapi.Endpoints().OpenAPI()), string(again))
	require.NotNil(t, fromJSON)
}

func TestLLMs(t *testing.T) {
	text := get(shared(), "GET", "/llms.txt").Body.String()
	require.Equal(t, 14, strings.Count(text, "\n"))
	s := shared()
	for _, link := range regexp.MustCompile(`\]\((/[^)]*)\)`).FindAllStringSubmatch(text, -1) {
		require.NotNil(t, s.file(link[1]), link[1])
	}
	names := []string{}
	for _, ep := range httpapi.Endpoints() {
		names = append(names, ep.Name())
	}
	for _, name := range regexp.MustCompile(`[a-z]+/[a-z-]+(?:/[a-z]+)?(?: for| \.)`).FindAllString(text, -1) {
		require.Contains(t, names, strings.Fields(name)[0])
	}
}

// A page loads the style sheet, the script and the icon that all pages of the server share, and they are served.
func TestAssets(t *testing.T) {
	page := get(shared(), "GET", "/docs").Body.String()
	links := regexp.MustCompile(`<(?:link rel="(?:icon|stylesheet)" href|script src)="([^"]*)"`)
	loaded := links.FindAllStringSubmatch(page, -1)
	require.Len(t, loaded, 3)
	for _, link := range loaded {
		require.Equal(t, http.StatusOK, get(shared(), "GET", link[1]).Code, link[1])
	}
}

// Operations of one's own have their pages, and their places in the index and the document.
func TestOwnPages(t *testing.T) {
	type request struct {
		Domain diag.Domain `json:"domain" example:"example.com"`
		Port   int         `json:"port,omitempty" doc:"where it listens" min:"1"`
	}
	type report struct {
		Hosts []string `json:"hosts"`
	}
	own := httpapi.Endpoint{Method: "POST", Path: "/acme/hosts", Scope: metering.MailRead, Credits: 7,
		Purpose:   "hosts that our policy allows",
		Operation: httpapi.Pure(func(request) (*report, error) { return &report{}, nil })}
	s := Handler(Config{Endpoints: []httpapi.Endpoint{own}})
	page := parse(t, get(s, "GET", "/docs/acme/hosts").Body.String())
	text := page.text()
	for _, want := range []string{"acme/hosts", "Hosts that our policy allows.", "7 credits", "mail:read",
		"Where it listens.", "hosts string[]", `-d '{"domain":"example.com"}'`} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "Command", "the command does not know it")
	assert.NotContains(t, text, "In a Go program", "no package has the function")
	assert.NotContains(t, text, "Try it", "there is no dashboard")
	for _, path := range []string{"/docs", "/docs/search?q=policy+hosts", "/docs/acme/host"} {
		assert.Contains(t, get(s, "GET", path).Body.String(), `href="/docs/acme/hosts"`, path)
	}
	assert.Contains(t, get(s, "GET", "/openapi.json").Body.String(), "/public/v1/acme/hosts")
	assert.Contains(t, get(s, "GET", "/openapi.yaml").Body.String(), "/public/v1/acme/hosts")
	assert.Equal(t, 404, get(shared(), "GET", "/docs/acme/hosts").Code)
}
