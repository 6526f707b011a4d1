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
	"log"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/spf"
)

func main() {
	once := flag.Bool("once", false, "draw harbour.example of the demonstration")
	picture := flag.String("svg", "", "file for the picture")
	flag.Parse()
	name := flag.Arg(0)
	if *once {
		name = "harbour.example"
	}
	if err := draw(name, *once, *picture); err != nil {
		log.Fatal(err)
	}
}

func draw(name string, demo bool, picture string) error {
	domain, err := diag.ParseDomain(name)
	if err != nil {
		return err
	}
	env, release, err := internet.Choose(demo)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain})
	if err != nil {
		return err
	}
	v := report.View()
	if err := render.Text(os.Stdout, v, render.Options{Width: 100}); err != nil || picture == "" || v.Drawing == nil {
		return err
	}
	file, err := os.Create(picture)
	if err != nil {
		return err
	}
	defer file.Close()
	return render.SVG(file, v.Drawing, "SPF of "+name)
}
