// Command dmarc-charts charts who sent mail in the name of a domain, from a DMARC aggregate report: bars on the
// terminal, and a picture.
//
//	go run ./examples/dmarc-charts -svg chart.svg report.xml.gz
//	go run ./examples/dmarc-charts -once                            reads the report of examples/demo
//
// It does not use the network.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
)

func main() {
	once := flag.Bool("once", false, "read the report of the demonstration")
	picture := flag.String("svg", "", "file for the picture")
	flag.Parse()
	file := flag.Arg(0)
	if *once {
		file = "examples/demo/report.xml"
	}
	if err := chart(file, *picture); err != nil {
		log.Fatal(err)
	}
}

func chart(name, picture string) error {
	data, err := os.ReadFile(name) // as received by mail: XML, gzip or ZIP
	if err != nil {
		return err
	}
	report, err := aggregate.Analyze(context.Background(), nil, aggregate.Request{Content: data})
	if err != nil {
		return err
	}
	// A drawing is a list of rows. This one has a bar for each class of sources; the report's own has one for each
	// source.
	sums := map[aggregate.Class]int64{}
	for _, s := range report.Sources {
		sums[s.Classification] += s.MessageCount
	}
	v := report.View()
	d := v.Rows(view.Bars, "Messages by kind of source", "kind", "messages")
	for _, class := range aggregate.Class("").Values() {
		if n := sums[aggregate.Class(class)]; n > 0 {
			d.Bar(n, view.None, class, fmt.Sprint(n))
		}
	}
	if err := render.Text(os.Stdout, v, render.Options{Width: 100}); err != nil || picture == "" {
		return err
	}
	file, err := os.Create(picture)
	if err != nil {
		return err
	}
	defer file.Close()
	return render.SVG(file, v.Drawing, v.Headline)
}
