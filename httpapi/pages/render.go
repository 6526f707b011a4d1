package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed templates
var templateFiles embed.FS

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
	{"rate-limits", "/docs/rate-limits", "Rate limits", "How many requests a key and an address may send."},
	{"types", "/docs/types", "Shared types", "Objects that the replies of several operations contain."},
	{"search", "/docs/search", "Search", "Every guide, operation and finding."},
}

// A view is what the templates show.
type view struct {
	guide
	Guides     []guide     // that lists have
	Families   []string    // headings of lists of operations
	Operations []operation // all rows of the table
	Plans      []metering.Plan
	Op         any            // the operation of the page, or the one that was meant
	Doc        map[string]any // the OpenAPI document, on pages that show schemas
	Body       template.HTML  // in the layout
}

// render lays out a page whose body is the template of a name.
func (s *site) render(name string, g guide, op any) ([]byte, error) {
	v := view{guide: g, Guides: guides[2:], Operations: s.operations, Op: op,
		Families: []string{"Mail", "DNS and registration", "Web", "Hosted SPF", "Text"},
		Plans: slices.SortedFunc(maps.Values(s.Plans), func(a, b metering.Plan) int {
			return int(a.Credits - b.Credits)
		}),
	}
	var err error
	if name == "operation" || name == "types" {
		if v.Doc, err = readDocument(); err != nil {
			return nil, err
		}
	}
	t, err := parsed().Clone()
	if err != nil {
		return nil, err
	}
	t.Funcs(functions(v.Doc))
	var body, whole bytes.Buffer
	if err := t.ExecuteTemplate(&body, name+".html", v); err != nil {
		return nil, err
	}
	v.Body = template.HTML(body.String()) // which its template has escaped
	err = t.ExecuteTemplate(&whole, "layout.html", v)
	return whole.Bytes(), err
}

func functions(doc map[string]any) template.FuncMap {
	components, _ := json.Marshal(doc["components"]) // which were JSON before
	return template.FuncMap{
		"component": func(ref string) any { // what a reference leads to
			var at any = doc
			for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				at = at.(map[string]any)[step]
			}
			return at
		},
		"shared": func(schema string) bool { // whether others refer to it
			return bytes.Contains(components, []byte(`"#/components/schemas/`+schema+`"`))
		},
		"findings": findings,
		"ipRate":   func() int { return httpapi.DefaultIPRate },
		"last":     func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] },
		"lower":    strings.ToLower,
		"upper":    diag.Upper,
		"json": func(v any) (string, error) {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false) // the template escapes
			e.SetIndent("", "  ")
			err := e.Encode(v)
			return strings.TrimSpace(b.String()), err
		},
		"number":      func(n any) string { return message.NewPrinter(language.English).Sprint(n) },
		"money":       func(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) },
		"perThousand": func(micros int64) int64 { return micros * 1000 / metering.MicrosPerCent },
	}
}

// parsed are the templates as they are before their functions know a document.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions(nil)).ParseFS(templateFiles, "templates/*.html"))
})
