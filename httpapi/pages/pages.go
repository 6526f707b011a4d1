// Package pages is the documentation that the API server shows in a browser: a guide, a page for each operation with
// what it examines, its fields and all of its findings, and an index of everything.
//
// All of it is made from the table of endpoints, the OpenAPI document and the tables of rules, by html/template: a
// new operation or rule has its place here without another line. A page is made when it is first asked for, and kept
// compressed; it is the same for everybody, so clients may keep it and ask whether it has changed.
//
// The pages work without JavaScript, and load nothing from other hosts: their Content-Security-Policy allows the one
// style sheet and the one script that are served with them.
//
// [httpapi.Handler] does not import this package, so that programs without pages are built without html/template. A
// program with pages sets
//
//	httpapi.Config{Gate: gate, Pages: pages.Handler(pages.Config{})}
//
// and serves [httpapi.Handler] at "/", or mounts the handler of this package in a mux of its own.
package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/textutil"
)

// Config describes the server to the pages. Its zero value is useful.
type Config struct {
	// Plans are those that the server sells. Nil means metering.DefaultPlans.
	Plans metering.Plans
	// Endpoints are operations of one's own, as in [httpapi.Config].
	Endpoints []httpapi.Endpoint
	// Dashboard is the path of the dashboard, /dashboard: pages link to it, to its sign-in, and to its playground. Empty
	// means that there is none.
	Dashboard string
	// PublicCheck and LetterBox say whether the server has packages publiccheck and letterbox, which the first page
	// leads to.
	PublicCheck, LetterBox bool
}

const htmlMedia = "text/html; charset=utf-8"

// A site answers for all pages.
type site struct {
	Config
	table      httpapi.Table
	operations []operation
	findings   func() []finding                // all codes in the order of the table
	files      map[string]func() *httpapi.File // by path; made on the first request
}

// Handler serves "/", "/docs", the paths below it, "/openapi.json", "/openapi.yaml", "/llms.txt" and "/robots.txt". For any other
// path it answers with status 404 and the operation that was probably meant.
func Handler(c Config) http.Handler {
	s := &site{Config: c, files: map[string]func() *httpapi.File{}}
	if s.Plans == nil {
		s.Plans = metering.DefaultPlans()
	}
	s.table = httpapi.Endpoints(c.Endpoints...)
	s.findings = sync.OnceValue(func() []finding { return collectFindings(s.table) })
	for i, ep := range s.table {
		op := operation{ep, i >= len(s.table)-len(c.Endpoints)}
		s.operations = append(s.operations, op)
		s.addFile(op.Page(), htmlMedia, func() ([]byte, error) {
			return s.render("operation", guide{"", op.Page(), op.Name(), op.Description()[0]}, op)
		})
	}
	for _, g := range guides {
		s.addFile(g.Path, htmlMedia, func() ([]byte, error) { return s.render(g.Template, g, nil) })
	}
	for _, f := range []struct {
		path, media string
		contents    []byte
	}{
		{"/docs/style.css", "text/css; charset=utf-8", ui.Style()},
		{"/docs/docs.js", "text/javascript; charset=utf-8", ui.Script()},
		{"/docs/icon.svg", "image/svg+xml", ui.Icon()},
		{"/llms.txt", "text/plain; charset=utf-8", llms},
		{"/robots.txt", "text/plain; charset=utf-8", robots},
	} {
		s.addFile(f.path, f.media, func() ([]byte, error) { return f.contents, nil })
	}
	s.addFile("/openapi.json", "application/json", func() ([]byte, error) { return s.table.OpenAPI(), nil })
	s.addFile("/openapi.yaml", "application/yaml", func() ([]byte, error) {
		reply, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: string(s.table.OpenAPI())})
		if err != nil {
			return nil, err
		}
		return []byte(*reply.Result), nil
	})
	return s
}

func (s *site) addFile(path, media string, render func() ([]byte, error)) {
	s.files[path] = sync.OnceValue(func() *httpapi.File {
		contents, err := render()
		if err != nil { // tests make all of them
			panic("pages: making " + path + ": " + err.Error())
		}
		return httpapi.NewFile(media, contents)
	})
}

// Patterns are the paths of all pages and files.
func (s *site) Patterns() []string { return slices.Sorted(maps.Keys(s.files)) }

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", ui.ScriptPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The method must be GET or HEAD.", http.StatusMethodNotAllowed)
		return
	}
	if file := s.files[r.URL.Path]; file != nil {
		file().ServeHTTP(w, r)
		return
	}
	if target := s.redirectTarget(r.URL.Path); target != "" {
		http.Redirect(w, r, target, http.StatusFound)
		return
	}
	var nearest *operation
	if near, ok := s.table.Nearest(strings.TrimPrefix(r.URL.Path, "/docs")); ok {
		nearest = &operation{Endpoint: near}
	}
	page := guide{Title: "Page not found", Description: "This page does not exist."}
	body, err := s.render("missing", page, nearest)
	if err != nil { // as above
		panic("pages: " + err.Error())
	}
	h.Set("Content-Type", htmlMedia)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	if r.Method == http.MethodGet {
		w.Write(body) // an error means that the client has gone
	}
}

// redirectTarget returns the target of a path that has no page of its own: one with a slash at its end, or a finding
// by its code alone.
func (s *site) redirectTarget(at string) string {
	if clean := path.Clean(at); s.files[clean] != nil {
		return clean
	}
	for _, f := range s.findings() {
		if at == "/docs/findings/"+string(f.Code) {
			return f.Operation.Page() + "#" + string(f.Code)
		}
	}
	return ""
}

type operation struct {
	httpapi.Endpoint
	Custom bool // it is not of the public API, so that the command does not know it
}

// Page is the path of the operation's page.
func (op operation) Page() string { return "/docs/" + op.Slug() }

// Sample is the call of the library on the example, and the package to import.
func (op operation) Sample() (sample struct{ Package, Call string }, err error) {
	sample.Package, sample.Call, err = op.GoCall(op.Example())
	return sample, err
}

// A finding is a rule, and the first operation whose page explains it.
type finding struct {
	rule.Description
	Operation operation
}

// collectFindings returns all codes in the order of a table.
func collectFindings(table httpapi.Table) (list []finding) {
	seen := map[diag.Code]bool{}
	for _, ep := range table {
		for _, r := range ep.Rules() {
			if !seen[r.Code] {
				list, seen[r.Code] = append(list, finding{r, operation{Endpoint: ep}}), true
			}
		}
	}
	return list
}

// readDocument reads the OpenAPI document for the templates. It is read for each page that is made, and not kept.
func (s *site) readDocument() (doc map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(s.table.OpenAPI()))
	d.UseNumber()
	return doc, d.Decode(&doc)
}

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed llms.txt
	llms []byte
	// robots keeps crawlers (RFC 9309) away from what belongs to members and visitors. That a page has noindex they would
	// only know once they have fetched it.
	//go:embed robots.txt
	robots []byte
)

// A guide is a page that is written by hand.
type guide struct{ Template, Path, Title, Description string }

// guides are in the order in which they are best read; lists leave out the first two.
var guides = []guide{
	{"home", "/", "diagkit API", "What is wrong with a domain's DNS, mail and web set-up, and how to fix it."},
	{"overview", "/docs", "Documentation", "All guides and operations of the diagkit API."},
	{"quickstart", "/docs/quickstart", "Quickstart", "From a key to the first report in three steps."},
	{"authentication", "/docs/authentication", "Authentication", "API keys, scopes, expiry and rotation."},
	{"credits", "/docs/credits", "Credits and plans", "What operations cost and what plans include."},
	{"idempotency", "/docs/idempotency", "Idempotency", "How to repeat a request without paying twice."},
	{"errors", "/docs/errors", "Errors", "The ten error codes, and what to do about each."},
	{"rate-limits", "/docs/rate-limits", "Rate limits", "How many requests a key and an address can send."},
	{"types", "/docs/types", "Shared types", "Objects that the replies of several operations contain."},
	{"search", "/docs/search", "Search", "Every guide, operation and finding."},
}

// pageData is the data of the templates.
type pageData struct {
	ui.Layout
	Path        string
	Description string
	Guides      []guide     // that lists have
	Families    []string    // headings of lists of operations
	Operations  []operation // all rows of the table
	Plans       []metering.Plan
	Server      Config
	Op          any            // the operation of the page, or the one that was meant
	Doc         map[string]any // the OpenAPI document, on pages that show schemas
}

// render lays out a page whose body is the template of a name.
func (s *site) render(name string, g guide, op any) ([]byte, error) {
	data := &pageData{Path: g.Path, Description: g.Description, Guides: guides[2:], Operations: s.operations, Op: op,
		Layout: ui.Layout{Title: g.Title, Kind: "docs", Home: "/", Style: "/docs/style.css", Icon: "/docs/icon.svg",
			Script: "/docs/docs.js"},
		Families: []string{"Mail", "DNS and registration", "Web", "Hosted SPF", "Text"},
		Plans: slices.SortedFunc(maps.Values(s.Plans), func(a, b metering.Plan) int {
			return int(a.Credits - b.Credits)
		}),
	}
	if data.Server = s.Config; g.Path == "/" {
		data.Kind = "narrow"
	}
	var err error
	if name == "operation" || name == "types" {
		if data.Doc, err = s.readDocument(); err != nil {
			return nil, err
		}
	}
	t, err := baseTemplates().Clone()
	if err != nil {
		return nil, err
	}
	t.Funcs(s.templateFuncs(data.Doc))
	return ui.Render(t, name+".html", data)
}

func (s *site) templateFuncs(doc map[string]any) template.FuncMap {
	components, _ := json.Marshal(doc["components"]) // which were JSON before
	return template.FuncMap{
		"component": func(ref string) any { // the target of a reference
			var at any = doc
			for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				at = at.(map[string]any)[step]
			}
			return at
		},
		"shared": func(schema string) bool { // whether others refer to it
			return bytes.Contains(components, []byte(`"#/components/schemas/`+schema+`"`))
		},
		"findings": s.findings,
		"ipRate":   func() int { return httpapi.DefaultIPRate },
		"last":     func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] },
		"lower":    strings.ToLower,
		"typeName": typeName, "otherMedia": otherMedia,
		"contains": func(list any, word string) bool {
			words, _ := list.([]any) // nil for none
			return slices.Contains(words, any(word))
		},
		"upper": phrase.Capitalize,
		"json": func(v any) (string, error) {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false) // the template escapes
			e.SetIndent("", "  ")
			err := e.Encode(v)
			return strings.TrimSpace(b.String()), err
		},
		"money":       func(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) },
		"perThousand": func(micros int64) int64 { return micros * 1000 / metering.MicrosPerCent },
	}
}

// typeName is a type of a schema, or several.
func typeName(t any) string {
	list, several := t.([]any)
	if !several {
		return fmt.Sprint(t)
	}
	return strings.Join(kit.Map(list, func(t any) string { return fmt.Sprint(t) }), " or ")
}

// otherMedia returns the media types of a body beside JSON.
func otherMedia(content map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(content)), func(media string) bool {
		return media == "application/json"
	})
}

// baseTemplates are the templates as they are before their functions know a document.
var baseTemplates = sync.OnceValue(func() *template.Template {
	return ui.Templates((&site{}).templateFuncs(nil), templateFiles, "templates/*.html")
})
