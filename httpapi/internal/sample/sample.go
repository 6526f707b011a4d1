// Package sample writes the programs that documentation and playground show: a request of an operation in curl, Go,
// Python, JavaScript and PHP, made from the table of endpoints. They use what comes with the language alone, and read
// the address of the server from $DIAG_SERVER and the key from $DIAG_KEY.
//
//	samples, err := sample.Of(endpoint, endpoint.Example())
//
// The component samples of package ui shows them as tabs.
package sample

import (
	"embed"
	"go/format"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/diagkit/diagkit/httpapi"
)

// A Sample is a program in one language.
type Sample struct {
	Title string // the name of the language
	File  string // a name for the program, with the extension of the language
	Text  string
}

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"quote": quote, "quotePHP": quotePHP, "quoteGo": quoteGo,
	"python": python.literal, "javascript": javascript.literal, "php": php.literal,
}).ParseFS(files, "templates/*"))

// program is the data of the templates.
type program struct {
	httpapi.Endpoint
	Target string // the path below the server, with its query
	Body   string // a JSON object; empty on GET
}

// Of returns the samples of a request, a JSON object of all its fields, the shortest first.
func Of(ep httpapi.Endpoint, fields []byte) ([]Sample, error) {
	curl, err := ep.Curl(fields)
	if err != nil {
		return nil, err
	}
	target, body, err := ep.Target(fields)
	if err != nil {
		return nil, err
	}
	if body != nil && !slices.ContainsFunc(ep.Params(), func(p httpapi.Param) bool { return p.In != "body" }) {
		body = fields // in the order of its author
	}
	list := []Sample{
		{"curl", "sample.sh", curl}, {"Go", "main.go", ""}, {"Python", "sample.py", ""},
		{"JavaScript", "sample.mjs", ""}, {"PHP", "sample.php", ""},
	}
	for i := range list[1:] {
		s := &list[i+1]
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, s.File, program{ep, target, string(body)}); err != nil {
			return nil, err
		}
		s.Text = strings.TrimSpace(b.String())
	}
	formatted, err := format.Source([]byte(list[1].Text))
	list[1].Text = strings.TrimSpace(string(formatted))
	return list, err
}

// quoteGo is a text as a literal of Go, raw where that is readable.
func quoteGo(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
