// Command embed calls a check from a Go program: no server, no key, no store, only a function with a
// typed request and a typed report.
//
//	go run ./examples/embed example.com     asks the Internet
//	go run ./examples/embed -once           asks a small Internet in memory, and needs no network
//
// Every check of the library has this shape. The first argument ends all waiting. The second is the
// world that the check sees: nil is the real one, a diagtest.World one for tests. What is wrong with
// the domain stands in the report, while the error tells that there is no report.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

func main() {
	once := flag.Bool("once", false, "look at example.com in a world in memory")
	flag.Parse()
	domain, env := flag.Arg(0), (*diag.Env)(nil)
	if *once {
		world, err := smallWorld()
		if err != nil {
			log.Fatal(err)
		}
		defer world.Close()
		domain, env = "example.com", world.Env()
	}
	if domain == "" {
		log.Fatal("embed takes a domain, as in: go run ./examples/embed example.com; or -once")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := check(ctx, env, domain); err != nil {
		log.Fatal(err)
	}
}

func check(ctx context.Context, env *diag.Env, name string) error {
	domain, err := diag.ParseDomain(name) // from here on it is known to be one
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	report, err := mtasts.Lookup(ctx, env, mtasts.Request{Domain: domain})
	switch {
	case errors.Is(err, diag.ErrUnavailable):
		return fmt.Errorf("no server said anything about %s: %w", domain, err)
	case err != nil: // the context ended
		return err
	}

	// The report is plain data. Programs branch on its fields and on the codes of findings, which never
	// change; the sentences are for people.
	fmt.Printf("%s: %s (%s)\n", domain, report.Headline, report.Band)
	if report.Policy.Mode != mtasts.Enforce {
		fmt.Printf("the policy is not enforced: its mode is %s\n", report.Policy.Mode)
	}
	for _, f := range report.Findings {
		if f.Severity >= diag.Warning {
			fmt.Printf("%s  %s: %s\n", f.Severity, f.Code, f.Detail)
		}
	}
	if len(report.Recommendations) > 0 {
		first := report.Recommendations[0]
		fmt.Printf("do first: %s\n%s", first.Detail, first.SuggestedValue)
	}
	return nil
}

// smallWorld is an Internet with one domain in it, whose policy leaves out a mail exchanger.
func smallWorld() (*diagtest.World, error) {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.            MX  10 mx1.example.com.
		example.com.            MX  20 mx2.example.com.
		mx1.example.com.        A   192.0.2.25
		mx2.example.com.        A   192.0.2.26
		_mta-sts.example.com.   TXT "v=STSv1; id=20260101T000000"
		_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`})
	if err != nil {
		return nil, err
	}
	world.HTTPS("mta-sts.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "version: STSv1\r\nmode: enforce\r\nmx: mx1.example.com\r\nmax_age: 1209600\r\n")
	}))
	return world, world.Err()
}
