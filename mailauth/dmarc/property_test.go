package dmarc

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checkSuggestions fails unless a suggested record (CONTRACT 1.8) is valid, keeps every destination of the records it
// replaces, and makes receivers apply nothing stricter than what is in force.
func checkSuggestions(t require.TestingT, v diag.Verdict, before []string, inForce policy.Policies) {
	for _, r := range v.Recommendations {
		if r.SuggestedValue == "" {
			continue
		}
		a, err := Validate(ValidateRequest{Record: r.SuggestedValue})
		require.NoError(t, err)
		require.True(t, a.Valid, "%s suggests %q: %+v", r.Code, r.SuggestedValue, a.Findings)
		require.Empty(t, a.Errors, "%s suggests %q", r.Code, r.SuggestedValue)
		for _, f := range a.Findings {
			require.True(t, f.Severity < diag.Warning || chosen[f.Code], "%s suggests %q: %+v", r.Code, r.SuggestedValue, f)
		}
		after := policy.Parse(r.SuggestedValue)
		for _, text := range before {
			old := policy.Parse(text)
			keeps(t, old.AggregateURIs, after.AggregateURIs, r)
			keeps(t, old.FailureURIs, after.FailureURIs, r)
		}
		asked := after.Reading(policy.RFC9989).Requested
		if after.Testing && after.Percentage == 0 { // which keeps receivers of either kind from applying it
			asked = asked.Lowered()
		}
		require.LessOrEqual(t, asked.Domain.Level(), inForce.Domain.Level(), "%s suggests %q", r.Code, r.SuggestedValue)
		require.LessOrEqual(t, asked.Subdomain.Level(), inForce.Subdomain.Level(), "%s suggests %q", r.Code, r.SuggestedValue)
		require.LessOrEqual(t, asked.Nonexistent.Level(), inForce.Nonexistent.Level(), "%s suggests %q", r.Code, r.SuggestedValue)
	}
}

// chosen are findings about choices of a first stage or of the owner, which a correction does not change.
var chosen = map[diag.Code]bool{
	"dmarc.policy.none": true, "dmarc.rua.missing": true, "dmarc.policy.testing": true, "dmarc.policy.sampled": true,
	"dmarc.subdomain.weaker": true, "dmarc.subdomain.nonexistent.weaker": true, "dmarc.psd.suffix": true, "dmarc.uri.scheme": true,
}

func keeps(t require.TestingT, before, after []policy.URI, r diag.Recommendation) {
	for _, u := range before {
		if !u.Valid() || u.Domain == "" { // "P:none" is a URI, too
			continue
		}
		same := func(v policy.URI) bool { return strings.EqualFold(u.URI, v.URI) }
		require.True(t, slices.ContainsFunc(after, same), "%s suggests %q, which loses %s", r.Code, r.SuggestedValue, u.URI)
	}
}

// inForce returns the policies of a text that receivers apply now; they use the first of repeated tags.
func inForce(text string) policy.Policies {
	r := policy.Parse(text)
	if len(r.Repeated()) > 0 && r.Is() {
		r = policy.Parse(policy.DraftOf(&r.List).String())
	}
	return r.Reading(policy.RFC9989).Requested
}

// draws generates records with all the usual mistakes.
var draws = rapid.Custom(func(t *rapid.T) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	tags := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		policies := []string{"none", "quarantine", "reject", "rejct", "", "Reject"}
		uris := []string{"mailto:a@example.com", "mailto:b@example.net!10m", "c@example.com",
			"mailto:d@example.com mailto:e@example.com", "mailto://f@example.com", "https://example.com/", "mailto:g!h@example.com", "bogus", "mailto:i@example.com,", "",
			"mailto:mailto:j@example.com", "malto:k@example.com", "mailto;l@example.com", "mailto:@example.com", "mailto:m.@example.com",
			"mailto:n@example.com.", "mailto:o..p@example.com", "none", "mailto", "mailto:"}
		values := map[string][]string{
			"p": policies, "sp": policies, "np": policies, "P": policies, "rua": uris, "ruf": uris, "RUA": uris,
			"adkim": {"r", "s", "strict"}, "aspf": {"r", "s", ""}, "fo": {"0", "1", "0:1:d", "x"}, "t": {"y", "n", "yes"},
			"psd": {"y", "n", "u", "1"}, "pct": {"100", "50", "0", "x"}, "ri": {"3600"}, "rf": {"afrf"}, "rau": uris,
			"x-y": {"z"}, "foo": {"bar"},
		}
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		slices.Sort(names)
		name := rapid.SampledFrom(names).Draw(t, "name")
		value := rapid.SampledFrom(values[name]).Draw(t, "value")
		return name + rapid.SampledFrom([]string{"=", " = ", ":", ""}).Draw(t, "equals") + value
	}), 0, 6).Draw(t, "tags")
	version := pick("version", "v=DMARC1", "v=DMARC1", "v=DMARC1", "v = DMARC1", "v=dmarc1", "DMARC1", " v=DMARC1",
		"“v=DMARC1", "")
	text := version
	for _, tag := range tags {
		text += pick("separator", "; ", "; ", "; ", ";", " ", ", ", ";; ") + tag
	}
	return text + pick("end", "", ";", " ", "”")
})

func TestSuggestionsHarmNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draws.Draw(t, "record")
		if strings.TrimSpace(text) == "" {
			return
		}
		a, err := Validate(ValidateRequest{Record: text, Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
		checkSuggestions(t, a.Verdict, []string{text}, inForce(text))
		for _, r := range a.Recommendations { // where there is a domain, what does not protect yet brings reports
			after := policy.Parse(r.SuggestedValue)
			require.True(t, r.SuggestedValue == "" || after.Policy != policy.None || after.Reported(), "%s suggests %q", r.Code, r.SuggestedValue)
		}
	})
	for _, tt := range records {
		a, err := Validate(ValidateRequest{Record: tt.record})
		require.NoError(t, err)
		checkSuggestions(t, a.Verdict, []string{a.Record}, inForce(a.Record))
	}
	for _, tt := range worlds {
		r := lookup(t, tt.zone, tt.domain, tt.spoil)
		now := policy.Policies{Domain: policy.None, Subdomain: policy.None, Nonexistent: policy.None}
		if len(r.Records) == 1 {
			now = inForce(r.Record)
		}
		if len(r.Findings) > 0 && r.Findings[0].Code == "dmarc.record.missing.no_mail" { // the domain sends no mail
			now = policy.Policies{Domain: policy.Reject, Subdomain: policy.Reject, Nonexistent: policy.Reject}
		}
		checkSuggestions(t, r.Verdict, r.Records, now)
	}
}

// The policy of a broken record does not come into force by its correction, nor by the advice about it.
func TestCorrectionWakesNothing(t *testing.T) {
	for _, text := range []string{"v=DMARC1 p=reject", "v=dmarc1; p=reject", "v=DMARC1; policy=reject", "v=DMARC1; p:reject; rua=mailto:a@example.com",
		"v=DMARC1 p=reject; rua=mailto:@example.com", "“v=DMARC1; p=quarantine"} {
		a, err := Validate(ValidateRequest{Record: text, Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
		require.NotEmpty(t, a.Recommendations, text)
		checkSuggestions(t, a.Verdict, []string{text}, inForce(text))
		require.Contains(t, a.Recommendations[0].Detail, "until the reports show that all senders pass", text)
	}
	a, err := Validate(ValidateRequest{Record: "v=DMARC1; p=reject;; rua=mailto:a@example.com"}) // which is in force
	require.NoError(t, err)
	require.NotContains(t, a.Recommendations[0].Detail, "until the reports")
}

// A corrected record needs no further correction.
func TestCorrectionIsFinal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &evidence{offline: true, found: policy.Format.Read(draws.Draw(t, "record"))}
		r := policy.Read(e.found.List)
		if e.setRecord(&r); e.suggested == "" {
			return
		}
		again := &evidence{offline: true, found: policy.Format.Read(e.suggested)}
		r = policy.Read(again.found.List)
		again.setRecord(&r)
		require.Empty(t, again.suggested, "%q", e.suggested)
	})
}

// Whatever is published at whatever level, and whichever servers fail, the report does not contradict itself.
func TestLookupIsConsistent(t *testing.T) {
	levels := []string{"com", "example.com", "a.example.com", "b.a.example.com"}
	rapid.Check(t, func(rt *rapid.T) {
		w := diagtest.NewWorld(t)
		defer w.Close()
		var zone strings.Builder
		zone.WriteString("x.com. TXT \"x\"\n")
		for _, domain := range levels {
			for range rapid.IntRange(0, 2).Draw(rt, "records") {
				text := draws.Draw(rt, "record")
				if text != "" && !strings.ContainsAny(text, "\"\\") && len(text) <= dnsmsg.MaxTXTString {
					zone.WriteString(dmarcAt(domain, text))
				}
			}
			zone.WriteString(rapid.SampledFrom([]string{"", domain + ". MX 0 .\n", domain + ". MX 10 mx.example.com.\n",
				domain + ". A 192.0.2.1\n"}).Draw(rt, "mail"))
		}
		w.Zone(zone.String())
		for _, name := range levels {
			if rapid.IntRange(0, 9).Draw(rt, "broken") == 0 {
				w.Break("_dmarc."+name, dns.RcodeServerFailure)
			}
		}
		domain := rapid.SampledFrom(levels).Draw(rt, "domain")
		r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: diag.MustDomain(domain)})
		require.NoError(rt, err)
		ignorant := slices.ContainsFunc(r.Findings, func(f diag.Finding) bool {
			return f.Code == "dmarc.record.unknown" || f.Code == "dmarc.record.inherited.unknown"
		})
		require.True(rt, ignorant || r.State != diag.Unknown, "%+v", r.Findings)
		require.False(rt, ignorant && r.State == diag.Missing, "%+v", r.Findings)
		require.False(rt, r.State == diag.Unknown && r.Score != nil)
		require.Equal(rt, r.Found, len(r.Records) > 0)
		require.False(rt, r.Valid && (len(r.Errors) > 0 && r.State != diag.Missing), "%+v", r.Findings)
		require.False(rt, r.Inherited && r.Location == domain)
		require.NotEmpty(rt, r.Headline)
		require.Equal(rt, r.Policy != "", r.Policy.Level() > 0 || r.Policy == policy.None)
		for _, v := range r.Views {
			require.True(rt, v.Usable || v.AppliedPolicy == policy.None, "%+v", v)
		}
	})
}
