// Command ticket writes the findings of a check as Markdown, to be pasted into an issue tracker: what strangers wrote
// into their records becomes no link, mention or image there.
//
//	go run ./examples/ticket example.com     asks the Internet
//	go run ./examples/ticket -once           asks the small Internet of examples/demo
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
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

func main() {
	once := flag.Bool("once", false, "examine harbour.example of the demonstration")
	flag.Parse()
	name := flag.Arg(0)
	if *once {
		name = "harbour.example"
	}
	if err := ticket(name, *once); err != nil {
		log.Fatal(err)
	}
}

func ticket(name string, demo bool) error {
	domain, err := diag.ParseDomain(name)
	if err != nil {
		return err
	}
	env, release, err := internet.Choose(demo)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	report, err := tlscert.Check(ctx, env, tlscert.Request{Host: tlscert.MustHost(domain.String())})
	if err != nil {
		return err
	}
	return render.Markdown(os.Stdout, report.View(), "TLS")
}
