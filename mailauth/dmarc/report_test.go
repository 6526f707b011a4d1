package dmarc

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// The shape of dmarc/validate is fixed: the analysis is the root object, with ten fields of the verdict added
// (CONTRACT 3.3.1).
func TestValidateShape(t *testing.T) {
	a, err := Validate(ValidateRequest{
		Record: "v=DMARC1; p=none; sp=none; np=none; rua=mailto:d@example.com!10m", Domain: diag.MustDomain("example.com"),
	})
	require.NoError(t, err)
	data, err := json.Marshal(a)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(data, &fields))
	want := strings.Fields(`record valid version policy subdomain_policy nonexistent_subdomain_policy effective percentage
		testing psd dkim_alignment spf_alignment failure_options report_formats report_interval_seconds aggregate_uris
		failure_uris errors warnings findings
		state score score_band verdict_headline verdict_sub score_factors score_breakdown recommendations passed_checks
		parsed_tags`)
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(fields)))
	require.Equal(t, map[string]any{"policy": "none", "subdomain_policy": "none", "nonexistent_subdomain_policy": "none"},
		fields["effective"])
	require.Equal(t, []any{map[string]any{"uri": "mailto:d@example.com!10m", "scheme": "mailto", "address": "d@example.com",
		"size_limit_bytes": 10485760.0, "external": false, "valid": true}}, fields["aggregate_uris"])
	require.Equal(t, 100.0, fields["percentage"])
	require.Equal(t, 86400.0, fields["report_interval_seconds"])
}

func TestErrorsAndWarnings(t *testing.T) {
	a, err := Validate(ValidateRequest{Record: "v=DMARC1; p=reject; adkim=x; foo=1; rua=mailto:d@example.com"})
	require.NoError(t, err)
	require.Equal(t, []string{`The value "x" of adkim is not r or s.`}, a.Errors)
	require.Equal(t, []string{"foo is not a tag of DMARC."}, a.Warnings)
	require.Nil(t, a.AggregateURIs[0].External, "without a domain nobody knows")
}

func TestValidateRefuses(t *testing.T) {
	for _, record := range []string{"", " \t", strings.Repeat("a", MaxRecordLength+1)} {
		_, err := Validate(ValidateRequest{Record: record})
		input, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok)
		require.Contains(t, input.Error(), "record")
	}
}

func TestLookupReport(t *testing.T) {
	zone := mx + "a.example.com. A 192.0.2.1\n" + accepting("example.net") +
		dmarcAt("example.com", "v=DMARC1; p=reject; sp=quarantine; pct=50; t=y; rua=mailto:d@example.net; ruf=mailto:f@example.com")
	r := lookup(t, zone, "a.example.com", nil)
	require.True(t, r.Inherited)
	require.True(t, r.Found)
	require.Equal(t, "example.com", r.Location)
	require.Equal(t, "example.com", r.OrganizationalDomain)
	require.Equal(t, "_dmarc.example.com", r.RecordName)
	require.Equal(t, "a.example.com", r.Domain.String())
	require.Equal(t, policy.TreeWalk, r.DiscoveryMethod)
	require.Equal(t, Effective{policy.Quarantine, policy.None, policy.None}, r.Effective)
	require.Equal(t, []Destination{{
		URI: "mailto:d@example.net", Domain: "example.net", RecordName: "example.com._report._dmarc.example.net",
		Authorized: new(true), Wildcard: true, Rcode: "NOERROR",
	}}, r.ExternalDestinations)
	require.Equal(t, []View{
		{policy.RFC7489, "example.com", "example.com", true, policy.Quarantine, 50, ""},
		{policy.RFC9989, "example.com", "example.com", true, policy.None, 100, ""},
	}, r.Views)
	require.False(t, r.Partial)
	require.True(t, *r.AggregateURIs[0].External)
	require.False(t, *r.FailureURIs[0].External)
}

// A domain without a successful lookup is not praised for existing.
func TestNothingUnseenIsPraised(t *testing.T) {
	r := lookup(t, "example.net. TXT x\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	})
	require.NotContains(t, r.Passed, diag.Check{Code: "dmarc.domain.missing", Label: "The domain exists"})
}

// Without a record the report has no details of one.
func TestLookupReportWithoutRecord(t *testing.T) {
	r := lookup(t, mx, "", nil)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(data, &fields))
	for _, name := range strings.Fields("record policy effective percentage psd dkim_alignment report_interval_seconds location") {
		require.NotContains(t, fields, name)
	}
	require.Equal(t, "example.com", fields["organizational_domain"])
	require.Equal(t, []any{}, fields["aggregate_uris"])
}

// What a failed lookup leaves open is absent.
func TestUnknownIsAbsent(t *testing.T) {
	r := lookup(t, full+"a.example.com. A 192.0.2.1\n", "a.example.com", broken("_dmarc.example.com"))
	require.Empty(t, r.OrganizationalDomain)
	require.Empty(t, r.Views)
	r = lookup(t, full, "", broken("_dmarc.com"))
	require.Empty(t, r.OrganizationalDomain)
	require.Equal(t, []View{
		{policy.RFC7489, "example.com", "example.com", true, policy.Reject, 100, ""},
		{policy.RFC9989, "", "example.com", true, policy.Reject, 100, ""},
	}, r.Views)
}

func TestViewsOfConflictingRecords(t *testing.T) {
	r := lookup(t, full+"a.example.com. A 192.0.2.1\n"+dmarcAt("a.example.com", "v=DMARC1; p=none")+
		dmarcAt("a.example.com", "v=DMARC1; p=quarantine"), "a.example.com", nil)
	require.Equal(t, []View{
		{policy.RFC7489, "example.com", "", false, policy.None, 100, ""},
		{policy.RFC9989, "example.com", "example.com", true, policy.Reject, 100, ""},
	}, r.Views)
	require.False(t, r.Valid)
}

func TestPartial(t *testing.T) {
	require.True(t, lookup(t, ext, "", broken("example.com._report._dmarc.reports.example.net")).Partial)
	require.Nil(t, lookup(t, ext, "", broken("example.com._report._dmarc.reports.example.net")).ExternalDestinations[0].Authorized)
	require.True(t, lookup(t, full, "", broken("_dmarc.com")).Partial)
	require.False(t, lookup(t, ext+consented, "", nil).Partial)
}

// The walk, the mail servers and all wrong places are one round trip, all destinations another.
func TestRoundTrips(t *testing.T) {
	for _, tt := range []struct {
		name, zone, domain string
		check              bool
		trips              int
	}{
		{"record", full, "example.com", true, 1},
		{"deep", full + "a.b.c.d.e.f.g.h.i.example.com. A 192.0.2.1\n", "a.b.c.d.e.f.g.h.i.example.com", true, 2},
		{"no record", mx, "example.com", true, 1},
		{"destinations", mx + dmarcAt("example.com", manyURIs(10)), "example.com", true, 2},
		{"destinations left alone", mx + dmarcAt("example.com", manyURIs(10)), "example.com", false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(tt.zone) },
				func(ctx context.Context, env *diag.Env) {
					_, err := Lookup(ctx, env, LookupRequest{Domain: diag.MustDomain(tt.domain), CheckReporting: &tt.check})
					require.NoError(t, err)
				})
			require.Equal(t, tt.trips, trips)
		})
	}
}

// A domain may be so long that no label fits in front of it; then the records at its apex are not mistaken for a
// wildcard.
func TestLookupOfLongNames(t *testing.T) {
	for _, label := range []int{47, 48, 49} {
		long := strings.Repeat(strings.Repeat("a", label)+".", 5) + "com"
		r := lookup(t, "com. TXT x\n"+long+". MX 10 mx.example.com.\n"+long+`. TXT "v=spf1 mx -all"`, long, nil)
		require.Equal(t, diag.Missing, r.State, label)
	}
}

func TestLookupFails(t *testing.T) {
	_, err := Lookup(t.Context(), nil, LookupRequest{})
	_, ok := errors.AsType[*diag.InputError](err)
	require.True(t, ok)
	request := LookupRequest{Domain: diag.MustDomain("example.com")}
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(full)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, context.Canceled)
		w.Silence("*.com")
		w.Silence("com")
		ctx, cancel = context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err = Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, diag.ErrUnavailable)
		require.NoError(t, ctx.Err())
	})
}

// Whatever the text, every location lies in it, what is suggested is valid, and what is called valid has no error.
func FuzzValidate(f *testing.F) {
	for _, tt := range records {
		f.Add(tt.record)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Validate(ValidateRequest{Record: text, Domain: diag.MustDomain("example.com")})
		if err != nil {
			return
		}
		for _, finding := range a.Findings {
			if l := finding.Location; l != nil {
				require.LessOrEqual(t, l.Offset+l.Length, len(strings.Join(dnsmsg.SplitTXT(text), "")))
			}
		}
		require.False(t, a.Valid && len(a.Errors) > 0, "%+v", a.Findings)
		now := strings.Join(dnsmsg.SplitTXT(text), "")
		checkSuggestions(t, a.Verdict, nil, inForce(now))
	})
}

// The weights of the factors: policy 40 (reject 40, quarantine 28, none 0 of 28), subdomains 15, aggregate reports 15, full
// application 10, alignment 5, syntax and uniqueness 15.
func TestFactors(t *testing.T) {
	r := lookup(t, ext+consented, "", nil)
	most := map[string]int{}
	for _, f := range r.Factors {
		most[string(f.Code)] = f.MaxPoints
	}
	require.Equal(t, map[string]int{
		"policy": 40, "subdomains": 15, "reporting": 15, "application": 10, "alignment": 5, "syntax": 15,
	}, most)
	require.Equal(t, diag.Code("policy"), r.Factors[0].Code)
	for p, want := range map[policy.Policy]diag.CategoryScore{
		policy.None: {Earned: 0, Max: 28}, policy.Quarantine: {Earned: 28, Max: 40}, policy.Reject: {Earned: 40, Max: 40},
	} {
		a, err := Validate(ValidateRequest{Record: "v=DMARC1; p=" + string(p)})
		require.NoError(t, err)
		require.Equal(t, want, a.Breakdown.Categories["policy"], "%s", p)
	}
}

// A program that reads the policy of a domain without a record, or without a name, must not have to ask whether there is one.
func TestEffectiveWithoutRecord(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("example.net. A 192.0.2.1")
	for _, domain := range []string{"example.net", "gone.example"} {
		r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: diag.MustDomain(domain)})
		require.NoError(t, err)
		require.NotEqual(t, policy.Reject, r.Effective.Policy)
	}
}
