// Command expiry-report lists expiry dates of domain registrations and certificates, the soonest first.
//
//	go run ./examples/expiry-report example.com example.org     asks the Internet
//	go run ./examples/expiry-report -once                       asks the small Internet of examples/demo
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

// An expiry is a line of the table. An unknown end is the zero time.
type expiry struct {
	domain, what string
	end          time.Time
}

func main() {
	internet.Main("list domains of the demonstration",
		[]string{"good.example", "harbour.example", "lapsing.example", "stale.example"}, report)
}

func report(ctx context.Context, env *diag.Env, names []string) error {
	var list []expiry
	for _, name := range names {
		entries, err := expiries(ctx, env, name)
		if err != nil {
			return err
		}
		list = append(list, entries...)
	}
	slices.SortStableFunc(list, func(a, b expiry) int { return a.end.Compare(b.end) }) // unknown ones come first
	for _, e := range list {
		days := "not known"
		if !e.end.IsZero() {
			days = fmt.Sprintf("%4d days  %s", int(e.end.Sub(env.Now()).Hours()/24), e.end.Format(time.DateOnly))
		}
		fmt.Printf("%-18s %-13s %s\n", e.domain, e.what, days)
	}
	return nil
}

// expiries queries the registry and the web server. A failure of one of them is not an error: its date is unknown.
func expiries(ctx context.Context, env *diag.Env, name string) ([]expiry, error) {
	domain, err := diag.ParseDomain(name)
	if err != nil {
		return nil, err
	}
	list := []expiry{{domain: name, what: "registration"}, {domain: name, what: "certificate"}}
	registration, err := registry.LookupDomain(ctx, env, registry.DomainRequest{Domain: domain})
	if err == nil {
		list[0].end = registration.Dates.ExpiresAt
	}
	certificate, err := tlscert.Check(ctx, env, tlscert.Request{Host: tlscert.MustHost(domain.String())})
	if err == nil {
		list[1].end = certificate.ExpiresAt
	}
	return list, ctx.Err()
}
