// Package pages is the documentation that the API server shows in a browser: guides, a page for each operation with
// what it examines, its fields and programs that call it, a page for each finding and each type, and a search over all
// of them.
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
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/sample"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/httpapi/target"
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
	findings   func() *findings
	index      func() *index
	templates  func() *template.Template                         // of pages that show no schemas
	files      map[string]func() *httpapi.File                   // by path; made on the first request
	collected  map[string]func() map[string]func() *httpapi.File // by the folder, then by the name below it
}

// Handler serves "/", "/docs", the paths below it, "/openapi.json", "/openapi.yaml", "/llms.txt" and "/robots.txt". For any other
// path it answers with status 404 and the operation that was probably meant.
func Handler(c Config) http.Handler {
	s := &site{Config: c, files: map[string]func() *httpapi.File{}}
	if s.Plans == nil {
		s.Plans = metering.DefaultPlans()
	}
	s.table = httpapi.Endpoints(c.Endpoints...)
	s.findings = sync.OnceValue(func() *findings { return newFindings(s.table) })
	s.index = sync.OnceValue(s.newIndex)
	s.templates = sync.OnceValue(func() *template.Template { return s.newTemplates(nil) })
	s.collected = map[string]func() map[string]func() *httpapi.File{
		findingsPath: sync.OnceValue(s.findingPages), typesPath: sync.OnceValue(s.typePages),
	}
	for i, ep := range s.table {
		op := operation{ep, i >= len(s.table)-len(c.Endpoints)}
		s.operations = append(s.operations, op)
		s.files[op.Page()] = s.page("operation", guide{"", op.Page(), op.Name(), op.Description()[0]}, op)
	}
	for _, g := range guides {
		s.files[g.Path] = s.page(g.Template, g, nil)
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
		s.files[f.path] = newFile(f.path, f.media, func() ([]byte, error) { return f.contents, nil })
	}
	s.files["/openapi.json"] = newFile("/openapi.json", "application/json", func() ([]byte, error) {
		return s.table.OpenAPI(), nil
	})
	s.files["/openapi.yaml"] = newFile("/openapi.yaml", "application/yaml", func() ([]byte, error) {
		reply, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: string(s.table.OpenAPI())})
		if err != nil {
			return nil, err
		}
		return []byte(*reply.Result), nil
	})
	return s
}

// page is a page that is made on the first request.
func (s *site) page(template string, g guide, subject any) func() *httpapi.File {
	return newFile(g.Path, htmlMedia, func() ([]byte, error) { return s.render(template, g, subject) })
}

// newFile is a file that is made on the first request.
func newFile(path, media string, render func() ([]byte, error)) func() *httpapi.File {
	return sync.OnceValue(func() *httpapi.File {
		contents, err := render()
		if err != nil { // tests make all of them
			panic("pages: making " + path + ": " + err.Error())
		}
		return httpapi.NewFile(media, contents)
	})
}

// file returns what lies at a path; nil for nothing.
func (s *site) file(path string) *httpapi.File {
	if file := s.files[path]; file != nil {
		return file()
	}
	folder, name := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	if pages := s.collected[folder]; pages != nil {
		if file := pages()[name]; file != nil {
			return file()
		}
	}
	return nil
}

// Patterns are the paths of all pages and files. Those of findings and types have a parameter.
func (s *site) Patterns() []string {
	return slices.Concat(slices.Sorted(maps.Keys(s.files)), []string{findingsPath + "{finding}", typesPath + "{type}"})
}

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
	if r.URL.Path == searchPath && r.URL.RawQuery != "" {
		s.serveSearch(w, r)
		return
	}
	if file := s.file(r.URL.Path); file != nil {
		file.ServeHTTP(w, r)
		return
	}
	if clean := path.Clean(r.URL.Path); clean != r.URL.Path && s.file(clean) != nil {
		http.Redirect(w, r, clean, http.StatusFound)
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

type operation struct {
	httpapi.Endpoint
	Custom bool // it is not of the public API, so that the command does not know it
}

// Page is the path of the operation's page.
func (op operation) Page() string { return "/docs/" + op.Slug() }

// Samples are programs that send the example.
func (op operation) Samples() (list []program, err error) {
	samples, err := sample.Of(op.Endpoint, op.Example())
	return kit.Map(samples, func(s sample.Sample) program { return program{s.Title, preformatted(s.Text)} }), err
}

type program struct {
	Title string
	Text  template.HTML
}

// preformatted is a text for a block of code. Unlike what templates write, it leaves quotes as they are, which are a
// large part of JSON.
func preformatted(text string) template.HTML {
	return template.HTML(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// GoCall is the call of the library on the example, and the package to import.
func (op operation) GoCall() (call struct{ Package, Call string }, err error) {
	call.Package, call.Call, err = op.Endpoint.GoCall(op.Example())
	return call, err
}

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed samples
	sampleFiles embed.FS
	//go:embed llms.txt
	llms []byte
	// robots keeps crawlers (RFC 9309) away from what belongs to members and visitors. That a page has noindex they would
	// only know once they have fetched it.
	//go:embed robots.txt
	robots []byte
)

// receivers are programs that receive webhooks.
func receivers() (list []program, err error) {
	for _, r := range [][2]string{
		{"Go", "receiver.go.txt"}, {"Python", "receiver.py"}, {"JavaScript", "receiver.mjs"}, {"PHP", "receiver.php"},
	} {
		text, err := sampleFiles.ReadFile("samples/" + r[1])
		if err != nil {
			return nil, err
		}
		list = append(list, program{r[0], preformatted(strings.TrimSpace(string(text)))})
	}
	return list, nil
}

// A guide is a page that is written by hand.
type guide struct{ Template, Path, Title, Description string }

// guides are in the order in which they are best read; lists leave out the first two.
var guides = []guide{
	{"home", "/", "diagkit API", "What is wrong with a domain's DNS, mail and web set-up, and how to fix it."},
	{"overview", "/docs", "Documentation", "All guides and operations of the diagkit API."},
	{"quickstart", "/docs/quickstart", "Quickstart", "From a key to the first report in three steps."},
	{"authentication", "/docs/authentication", "Authentication", "API keys, scopes, expiry and rotation."},
	{"credits", "/docs/credits", "Credits and plans", "What operations cost and what plans include."},
	{"billing", "/docs/billing", "Billing", "Invoices, upgrades, overage and failed payments."},
	{"idempotency", "/docs/idempotency", "Idempotency", "How to repeat a request without paying twice."},
	{"errors", "/docs/errors", "Errors", "The ten error codes, and what to do about each."},
	{"rate-limits", "/docs/rate-limits", "Rate limits", "How many requests a key and an address can send."},
	{"watches", "/docs/watches", "Watched domains", "Check domains on a schedule and be notified of changes."},
	{"webhooks", "/docs/webhooks", "Webhooks and notifications", "Receive events, and verify their signatures."},
	{"hosted-spf", "/docs/hosted-spf", "Hosted SPF", "SPF flattening: a record within ten lookups, maintained for you."},
	{"agents", "/docs/agents", "AI agents (MCP)", "Connect an agent to the checks as tools."},
	{"findings", "/docs/findings", "Findings", "Every code that a report can contain, by family."},
	{"types", "/docs/types", "Types", "The objects that replies contain."},
	{"search", searchPath, "Search", "Search guides, operations, findings and types."},
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
	Subject     any      // an operation, a finding, a type and so on, as the template expects it
	Query       string   // that was searched for
	Doc         document // on pages that show schemas
}

// render lays out a page whose body is the template of a name.
func (s *site) render(name string, g guide, subject any) ([]byte, error) {
	data := s.newPageData(g, subject)
	if name != "operation" && name != "type" && name != "types" {
		return ui.Render(s.templates(), name+".html", data)
	}
	var err error
	if data.Doc, err = readDocument(s.table); err != nil {
		return nil, err
	}
	return ui.Render(s.newTemplates(data.Doc), name+".html", data)
}

// newTemplates are the templates of all pages, with functions that know a document.
func (s *site) newTemplates(doc document) *template.Template {
	return template.Must(baseTemplates().Clone()).Funcs(s.templateFuncs(doc))
}

func (s *site) newPageData(g guide, subject any) *pageData {
	data := &pageData{Path: g.Path, Description: g.Description, Server: s.Config, Guides: guides[2:],
		Operations: s.operations, Subject: subject,
		Layout: ui.Layout{Title: g.Title, Kind: "docs", Home: "/", Style: "/docs/style.css", Icon: "/docs/icon.svg",
			Script: "/docs/docs.js"},
		Families: []string{"Mail", "DNS and registration", "Web", "Hosted SPF", "Text"},
		Plans: slices.SortedFunc(maps.Values(s.Plans), func(a, b metering.Plan) int {
			return int(a.Credits - b.Credits)
		}),
	}
	if g.Path == "/" {
		data.Kind = "narrow"
	}
	return data
}

func (s *site) templateFuncs(doc document) template.FuncMap {
	return template.FuncMap{
		"component": doc.component, "at": newSchemaAt, "fieldNames": fieldNames, "typeName": typeName, "otherMedia": otherMedia,
		"findings": func() *findings { return s.findings() }, "consequence": target.Consequence,
		"usersOfFinding": s.usersOfFinding, "receivers": receivers,
		"samples": func(name string) ([]program, error) {
			ep, _ := s.table.ByName(name)
			return operation{Endpoint: ep}.Samples()
		},
		"usersOfType": func(name string) []operation { return s.usersOfType(doc, name) },
		"ipRate":      func() int { return httpapi.DefaultIPRate },
		"last":        func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] },
		"lower":       strings.ToLower,
		"contains": func(list any, word string) bool {
			words, _ := list.([]any) // nil for none
			return slices.Contains(words, any(word))
		},
		"upper": phrase.Capitalize, "pre": preformatted, "references": references,
		"json": func(v any) (template.HTML, error) {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false) // done below
			e.SetIndent("", "  ")
			err := e.Encode(v)
			return preformatted(strings.TrimSpace(b.String())), err
		},
		"money":       func(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) },
		"perThousand": func(micros int64) int64 { return micros * 1000 / metering.MicrosPerCent },
	}
}

// baseTemplates are the templates as they are before their functions know a document.
var baseTemplates = sync.OnceValue(func() *template.Template {
	return ui.Templates((&site{}).templateFuncs(nil), templateFiles, "templates/*.html")
})
