// Command ci-gate fails a build if a domain has a fault: it ends with 1 for an error or worse, with 4 if something
// could not be learned, and writes a report that CI servers show (JUnit's XML).
//
//	go run ./examples/ci-gate example.com >junit.xml     asks the Internet
//	go run ./examples/ci-gate -once                      asks the small Internet of examples/demo
//
// Codes of findings are permanent, so that a list of those to be ignored stays right. "diag --junit" does the same.
package main

import (
	"context"
	"encoding/xml"
	"flag"
	"io"
	"log"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/target"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Cases    []result `xml:"testcase"`
}

type result struct {
	Name    string `xml:"name,attr"`
	Failure string `xml:"failure,omitempty"`
}

func main() {
	once := flag.Bool("once", false, "examine good.example of the demonstration")
	flag.Parse()
	domain := flag.Arg(0)
	if *once {
		domain = "good.example"
	}
	code, err := gate(os.Stdout, domain, *once, diag.Error)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

func gate(w io.Writer, domain string, demo bool, threshold diag.Severity) (code int, err error) {
	t, err := target.Parse(domain)
	if err != nil {
		return 0, err
	}
	env, release, err := internet.Choose(demo)
	if err != nil {
		return 0, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v := target.Run(ctx, t, target.Options{NoSMTP: true}, target.Local(env), nil).View()
	s := suite{Name: domain, Tests: len(v.Findings) + 1, Cases: []result{{Name: v.Headline}}}
	if v.Partial {
		code = 4
	}
	for _, f := range v.Findings {
		r := result{Name: string(f.Code)}
		if f.Severity >= threshold {
			r.Failure, code = f.Title+": "+f.Detail, 1
			s.Failures++
		}
		s.Cases = append(s.Cases, r)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return code, e.Encode(s)
}
