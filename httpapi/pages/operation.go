package pages

import (
	"embed"
	"html/template"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/sample"
)

// An operation is an endpoint as its page shows it.
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

//go:embed samples
var sampleFiles embed.FS

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
