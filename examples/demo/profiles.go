package main

import (
	"context"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
)

// The hosted SPF profiles of the demonstration. The first has the id that the documentation shows.
const (
	profileID       = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"
	brokenProfileID = "spf_brokenbrokenbrokenbrokenbr"
)

// newProfiles makes two profiles that are due: one that can be resolved, and one that cannot.
func newProfiles(ctx context.Context, owner hostedspf.Owner) (hostedspf.Store, error) {
	store := memory.New(memory.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i, p := range []struct{ id, domain, record string }{
		{profileID, "example.com", "v=spf1 mx include:_spf.news.example include:_spf.shop.example -all"},
		{brokenProfileID, "good.example", "v=spf1 include:servfail.example -all"},
	} {
		domain, err := diag.ParseDomain(p.domain)
		if err != nil {
			return nil, err
		}
		host, err := diag.ParseName("_spf." + p.domain)
		if err != nil {
			return nil, err
		}
		err = store.Create(ctx, hostedspf.Profile{
			ID: p.id, Owner: owner, Domain: domain, Name: p.domain, Status: hostedspf.Active,
			SourceRecord: p.record, IncludeHost: host, IntervalSeconds: hostedspf.DefaultInterval,
			CreatedAt: now.Add(time.Duration(i) * time.Microsecond), UpdatedAt: now, NextResolveAt: now,
		})
		if err != nil {
			return nil, err
		}
	}
	return store, nil
}
