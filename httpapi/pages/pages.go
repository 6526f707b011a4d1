package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/textutil"
)

// Config says what the pages tell of a server. Its zero value is useful.
type Config struct {
	// Plans are those that the server sells. Nil means metering.DefaultPlans.
	Plans metering.Plans
}

// policy lets a page have what is served beside it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

const htmlMedia = "text/html; charset=utf-8"

// assets are the files that are served as they are.
//
//go:embed assets
var assets embed.FS

// A site answers for all pages.
type site struct {
	Config
	operations []operation
	files      map[string]func() *httpapi.File // by path; made when they are first asked for
}

// Handler serves "/", "/docs", what is below it, "/openapi.json", "/openapi.yaml" and "/llms.txt". For any other path
// it answers with status 404 and the operation that was probably meant.
func Handler(c Config) http.Handler {
	s := &site{Config: c, files: map[string]func() *httpapi.File{}}
	if s.Plans == nil {
		s.Plans = metering.DefaultPlans()
	}
	for _, ep := range httpapi.Endpoints() {
		op := operation{ep}
		s.operations = append(s.operations, op)
		s.add(op.Page(), htmlMedia, func() ([]byte, error) {
			return s.render("operation", guide{"", op.Page(), op.Name(), op.About()[0]}, op)
		})
	}
	for _, g := range guides {
		s.add(g.Path, htmlMedia, func() ([]byte, error) { return s.render(g.Template, g, nil) })
	}
	for at, media := range map[string]string{
		"/docs/style.css": "text/css; charset=utf-8", "/docs/docs.js": "text/javascript; charset=utf-8",
		"/docs/icon.svg": "image/svg+xml", "/llms.txt": "text/plain; charset=utf-8",
	} {
		s.add(at, media, func() ([]byte, error) { return assets.ReadFile("assets/" + path.Base(at)) })
	}
	s.add("/openapi.json", "application/json", func() ([]byte, error) { return httpapi.OpenAPI(), nil })
	s.add("/openapi.yaml", "application/yaml", func() ([]byte, error) {
		reply, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: string(httpapi.OpenAPI())})
		if err != nil {
			return nil, err
		}
		return []byte(*reply.Result), nil
	})
	return s
}

func (s *site) add(path, media string, make func() ([]byte, error)) {
	s.files[path] = sync.OnceValue(func() *httpapi.File {
		contents, err := make()
		if err != nil { // tests make all of them
			panic("pages: making " + path + ": " + err.Error())
		}
		return httpapi.NewFile(media, contents)
	})
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
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
	if target := s.moved(r.URL.Path); target != "" {
		http.Redirect(w, r, target, http.StatusFound)
		return
	}
	var meant *operation
	if near, ok := httpapi.Nearest(strings.TrimPrefix(r.URL.Path, "/docs")); ok {
		meant = &operation{near}
	}
	nothing := guide{Title: "Page not found", Description: "There is nothing at this address."}
	body, err := s.render("missing", nothing, meant)
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

// moved is where a path leads that has no page of its own: one with a slash at its end, or a finding by its code
// alone.
func (s *site) moved(at string) string {
	if clean := path.Clean(at); s.files[clean] != nil {
		return clean
	}
	for _, f := range findings() {
		if at == "/docs/findings/"+string(f.Code) {
			return f.Operation.Page() + "#" + string(f.Code)
		}
	}
	return ""
}

type operation struct{ httpapi.Endpoint }

// Page is the path of the operation's page, without the braces around names of parameters.
func (op operation) Page() string {
	return "/docs" + strings.NewReplacer("{", "", "}", "").Replace(op.Path)
}

// Sample is the call of the library on the example, and the package to import.
func (op operation) Sample() (sample struct{ Package, Call string }, err error) {
	sample.Package, sample.Call, err = op.GoCall(op.Example())
	return sample, err
}

// A finding is a rule, and the first operation whose page explains it.
type finding struct {
	diag.RuleInfo
	Operation operation
}

// findings are all codes in the order of the table.
var findings = sync.OnceValue(func() []finding {
	var list []finding
	seen := map[diag.Code]bool{}
	for _, ep := range httpapi.Endpoints() {
		for _, r := range ep.Rules() {
			if !seen[r.Code] {
				list, seen[r.Code] = append(list, finding{r, operation{ep}}), true
			}
		}
	}
	return list
})

// readDocument reads the OpenAPI document for the templates. It is read for each page that is made, and not kept.
func readDocument() (doc map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(httpapi.OpenAPI()))
	d.UseNumber()
	return doc, d.Decode(&doc)
}
