// Command domain-report runs every check of a domain, an address or a URL, and writes one page: HTML in a single file,
// which can be mailed, printed and kept.
//
//	go run ./examples/domain-report example.com >report.html     asks the Internet
//	go run ./examples/domain-report -once                        asks the small Internet of examples/demo
package main

import (
	"context"
	"os"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/target"
)

func main() {
	internet.Main("report on harbour.example of the demonstration", []string{"harbour.example"}, report)
}

func report(ctx context.Context, env *diag.Env, words []string) error {
	t, err := target.Parse(strings.Join(words, " ")) // a domain, an address, a URL; the error says which forms there are
	if err != nil {
		return err
	}
	// All checks run at once, and share their DNS queries. NoSMTP helps where port 25 is closed.
	overview := target.Run(ctx, t, target.Options{NoSMTP: true}, target.Local(env), nil)
	if err := overview.Err(); err != nil {
		return err // nothing at all could be learned
	}
	return render.Page(os.Stdout, overview.View(), render.HTMLOptions{})
}
