// Command domain-report runs every check of a domain, an address or a URL, and writes one page: HTML in a single file,
// which can be mailed, printed and kept.
//
//	go run ./examples/domain-report example.com >report.html     asks the Internet
//	go run ./examples/domain-report -once                        asks the small Internet of examples/demo
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/target"
)

func main() {
	once := flag.Bool("once", false, "report on harbour.example of the demonstration")
	flag.Parse()
	word := flag.Arg(0)
	if *once {
		word = "harbour.example"
	}
	if err := report(os.Stdout, word, *once); err != nil {
		log.Fatal(err)
	}
}

func report(w io.Writer, word string, demo bool) error {
	t, err := target.Parse(word) // a domain, an address, a URL; the error says which forms there are
	if err != nil {
		return err
	}
	env, release, err := internet.Choose(demo)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// All checks run at once, and share their questions to the DNS. NoSMTP helps where port 25 is closed.
	whole := target.Run(ctx, t, target.Options{NoSMTP: true}, target.Local(env), nil)
	if err := whole.Err(); err != nil {
		return err // nothing at all could be learned
	}
	return render.Page(w, whole.View(), render.HTMLOptions{})
}
