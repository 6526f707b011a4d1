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
	_ "embed"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

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
	findings   func() *findings
	index      func() *index
	templates  func() *template.Template                         // of pages that show no schemas
	files      map[string]func() *httpapi.File                   // by path; made on the first request
	collected  map[string]func() map[string]func() *httpapi.File // by the folder, then by the name below it
}

// Handler serves "/", "/docs", the paths below it, "/openapi.json", "/openapi.yaml", "/llms.txt" and "/robots.txt". For
// any other path it answers with status 404 and the operation that was probably meant.
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

// findingPages are the pages of families and of findings, by name and code.
func (s *site) findingPages() map[string]func() *httpapi.File {
	pages := map[string]func() *httpapi.File{}
	for _, family := range s.findings().Families {
		pages[family.Name] = s.page("family", guide{Path: family.Page(), Title: family.Title + " findings",
			Description: "Every finding of the family " + family.Title + "."}, family)
		for _, f := range family.Findings {
			title := f.Title + " (" + string(f.Code) + ")"
			pages[string(f.Code)] = s.page("finding", guide{Path: f.Page(), Title: title, Description: f.Requirement + "."}, f)
		}
	}
	return pages
}

// typePages are the pages of all types, by name.
func (s *site) typePages() map[string]func() *httpapi.File {
	pages := map[string]func() *httpapi.File{}
	doc, err := readDocument(s.table)
	if err != nil { // it is what the table has written
		panic("pages: " + err.Error())
	}
	for name := range doc.Types() {
		g := guide{Path: typesPath + name, Title: name, Description: "The type " + name + " of the diagkit API."}
		pages[name] = s.page("type", g, name)
	}
	return pages
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

var (
	//go:embed llms.txt
	llms []byte
	// robots keeps crawlers (RFC 9309) away from what belongs to members and visitors. That a page has noindex they would
	// only know once they have fetched it.
	//go:embed robots.txt
	robots []byte
)
