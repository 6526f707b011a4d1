// Command embed calls a check from a Go program: no server, no key, no store, only a function with a
// typed request and a typed report.
//
//	go run ./examples/embed example.com     asks the Internet
//	go run ./examples/embed -once           asks the small Internet of examples/demo, and needs no network
//
// Every check of the library has this shape. The first argument cancels the check. The second is the environment of
// the check: nil is the real Internet, a diagtest.World one for tests. Faults of the domain are in the report; the
// error means that there is no report.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

func main() {
	// The policy of gap.example leaves out a mail exchanger.
	internet.Main("check gap.example of the demonstration", []string{"gap.example"}, check)
}

func check(ctx context.Context, env *diag.Env, words []string) error {
	domain, err := diag.ParseDomain(strings.Join(words, " ")) // from here on it is known to be one
	if err != nil {
		return fmt.Errorf("embed takes a domain, as in: go run ./examples/embed example.com; or -once: %w", err)
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
