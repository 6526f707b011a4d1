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

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
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
		"component": doc.component, "at": newSchemaAt, "fieldNames": fieldNames,
		"typeName": typeName, "otherMedia": otherMedia,
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
