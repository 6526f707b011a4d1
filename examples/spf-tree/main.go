// Command spf-tree draws the SPF record of a domain with all that it includes: as text, and as a picture.
//
//	go run ./examples/spf-tree -svg tree.svg example.com     asks the Internet
//	go run ./examples/spf-tree -once                         asks the small Internet of examples/demo
//
// A report has a view: what a person should see of it. The package render writes views, and here the drawing alone.
package main

import (
	"context"
	"flag"
	"os"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/spf"
)

var picture = flag.String("svg", "", "file for the picture")

func main() {
	internet.Main("draw harbour.example of the demonstration", []string{"harbour.example"}, draw)
}

func draw(ctx context.Context, env *diag.Env, words []string) error {
	domain, err := diag.ParseDomain(strings.Join(words, " "))
	if err != nil {
		return err
	}
	report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain})
	if err != nil {
		return err
	}
	v := report.View()
	if err := render.Text(os.Stdout, v, render.Options{Width: 100}); err != nil || *picture == "" || v.Drawing == nil {
		return err
	}
	file, err := os.Create(*picture)
	if err != nil {
		return err
	}
	defer file.Close()
	return render.SVG(file, v.Drawing, "SPF of "+domain.String())
}
