package hostedspftest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/stretchr/testify/require"
)

type fixture struct {
	t     *testing.T
	clock *Clock
	store hostedspf.Store
	names int
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

func (f *fixture) now() time.Time { return f.clock.Now().UTC().Truncate(time.Microsecond) }

// profile makes up a profile that was created now, and is not stored yet.
func (f *fixture) profile(owner hostedspf.Owner, domain string) hostedspf.Profile {
	f.names++
	return hostedspf.Profile{
		ID: fmt.Sprintf("spf_%026d", f.names), Owner: owner, Domain: diag.MustDomain(domain), Name: domain,
		Status: hostedspf.Active, SourceRecord: "v=spf1 include:_spf.example.net -all", Records: []hostedspf.Record{},
		IncludeHost: diag.MustName(fmt.Sprintf("h%d.spf.example.net", f.names)), IntervalSeconds: 3600,
		CreatedAt: f.now(), UpdatedAt: f.now(), NextResolveAt: f.now(),
	}
}

func (f *fixture) create(owner hostedspf.Owner, domain string) hostedspf.Profile {
	f.t.Helper()
	p := f.profile(owner, domain)
	require.NoError(f.t, f.store.Create(f.ctx(), p))
	return p
}

func (f *fixture) read(id string) hostedspf.Profile {
	f.t.Helper()
	p, err := f.store.Profile(f.ctx(), id)
	require.NoError(f.t, err)
	return p
}

func (f *fixture) claim(id string) hostedspf.Claim {
	f.t.Helper()
	c, err := f.store.Claim(f.ctx(), id, lease)
	require.NoError(f.t, err)
	return c
}

func (f *fixture) claimRefused(id string, expected error, why ...any) {
	f.t.Helper()
	_, err := f.store.Claim(f.ctx(), id, lease)
	require.ErrorIs(f.t, err, expected, why...)
}

// lapsed expects that nothing can be finished by a claim.
func (f *fixture) lapsed(c hostedspf.Claim, why ...any) {
	f.t.Helper()
	_, err := f.store.Finish(f.ctx(), c, f.outcome(c.ProfileID, "198.51.100.0/24"))
	require.ErrorIs(f.t, err, hostedspf.ErrLapsed, why...)
}

func (f *fixture) finish(c hostedspf.Claim, o hostedspf.Outcome) hostedspf.Profile {
	f.t.Helper()
	p, err := f.store.Finish(f.ctx(), c, o)
	require.NoError(f.t, err)
	return p
}

func (f *fixture) update(id string, change func(*hostedspf.Profile)) {
	f.t.Helper()
	_, err := f.store.Update(f.ctx(), id, func(p *hostedspf.Profile) error { change(p); return nil })
	require.NoError(f.t, err)
}

// outcome returns an outcome of the present that publishes a network, or a failure without one.
func (f *fixture) outcome(id, network string) hostedspf.Outcome {
	f.names++
	o := hostedspf.Outcome{
		Resolution: hostedspf.Resolution{
			ID: fmt.Sprintf("res_%026d", f.names), ProfileID: id, ResolvedAt: f.now(), Trigger: hostedspf.Scheduled,
			Status: hostedspf.ResolutionFailed, DurationMS: int64(f.names), DNSLookups: 3,
			Added: []string{}, Removed: []string{}, Error: "looking up example.com.: SERVFAIL",
		},
		NextResolveAt: f.now().Add(time.Hour),
	}
	if network == "" {
		return o
	}
	text := "v=spf1 ip4:" + network + " -all"
	r := &o.Resolution
	r.Status, r.Error, r.Added = hostedspf.ResolutionChanged, "", []string{network}
	r.IP4Count, r.RecordHash = 1, "hash of "+network
	o.Published = &hostedspf.Publication{
		FlattenedRecord: text, Records: []hostedspf.Record{{Name: "h.example.net", Value: text, LengthBytes: len(text)}},
		LookupsBefore: 3, LookupsAfter: 1, IP4Count: 1, RecordHash: r.RecordHash,
	}
	return o
}

func (f *fixture) resolve(id, network string) hostedspf.Resolution {
	f.t.Helper()
	o := f.outcome(id, network)
	f.finish(f.claim(id), o)
	return o.Resolution
}

func (f *fixture) history(id string) []string {
	f.t.Helper()
	list, err := f.store.Resolutions(f.ctx(), hostedspf.HistoryQuery{ProfileID: id, Limit: 1000})
	require.NoError(f.t, err)
	return kit.Map(list, func(r hostedspf.Resolution) string { return r.ID })
}

func (f *fixture) page(q hostedspf.ProfileQuery) (ids []string, total int) {
	f.t.Helper()
	page, err := f.store.Profiles(f.ctx(), q)
	require.NoError(f.t, err)
	return kit.Map(page.Profiles, func(p hostedspf.Profile) string { return p.ID }), page.Total
}
