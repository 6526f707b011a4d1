package dmarcbis

import (
	"context"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// mx and host make a domain that receives mail.
const mx = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\nwww.example.com. A 192.0.2.80\n"

// at publishes a record at a domain.
func at(domain, record string) string { return "_dmarc." + domain + ". TXT \"" + record + "\"\n" }

func TestCheck(t *testing.T) {
	const rua = "; rua=mailto:d@example.com"
	good := mx + at("example.com", "v=DMARC1; p=reject"+rua)
	tests := []struct {
		name, zone, domain string
		broken             string // answers SERVFAIL
		codes              string
		state              diag.State
		score              string
		ready, compatible  bool
		organizational     string
		policy             string
		agree              string // yes, no or ?
		missing            string
		suggested          string // first suggestion, without "v=DMARC1; "
	}{
		{name: "good", zone: good, state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np"},
		{name: "inherited", zone: good, domain: "www.example.com", state: diag.Valid, score: "100", ready: true,
			compatible: true,
			missing:    "np"},
		{name: "np is not reject", zone: mx + at("example.com", "v=DMARC1; p=none"+rua), codes: "",
			state: diag.Valid,
			score: "100", ready: true, compatible: true, missing: "np"},
		{name: "np differs from sp", zone: mx + at("example.com", "v=DMARC1; p=none; np=reject"+rua), codes: "",
			state: diag.Valid, score: "100", ready: true},

		{name: "np as sp", zone: mx + at("example.com", "v=DMARC1; p=none; sp=reject; np=reject"+rua), state: diag.Valid,
			score: "100", ready: true, compatible: true},

		{name: "no record", zone: mx, codes: "record.missing", state: diag.Missing, score: "0", policy: "-",
			suggested: "p=none; rua=mailto:dmarc-reports@example.com"},
		{name: "no record, no mail", zone: "example.com. MX 0 .\n", codes: "record.missing.no_mail", state: diag.Missing,
			score:  "0",
			policy: "-", suggested: "p=reject"},
		{name: "no record, implicit MX", zone: "example.com. A 192.0.2.1\n", codes: "record.missing", state: diag.Missing,
			score:  "0",
			policy: "-", suggested: "p=none; rua=mailto:dmarc-reports@example.com"},
		{name: "no record of a public suffix", zone: "co.uk. A 192.0.2.1\n", domain: "co.uk", codes: "record.missing.suffix.mail",
			state: diag.Missing, score: "0", organizational: "co.uk", policy: "-"},
		{name: "no record of a public suffix without mail", zone: "co.uk. TXT x\n", domain: "co.uk",
			codes: "record.missing.suffix", state: diag.Missing, score: "none", organizational: "co.uk", policy: "-"},
		{name: "record of a public suffix with psd", zone: "co.uk. TXT x\n" + at("co.uk", "v=DMARC1; p=reject; psd=y; "+
			"np=reject; rua=mailto:d@co.uk"), domain: "co.uk", state: diag.Valid, score: "100", ready: true,
			organizational: "co.uk", policy: "co.uk", compatible: true},
		{name: "record of a public suffix with mail and psd", zone: "co.uk. MX 10 mx.example.com.\n" + at("co.uk",
			"v=DMARC1; p=reject; psd=y; np=reject; rua=mailto:d@co.uk"), domain: "co.uk", state: diag.Valid, score: "100",
			ready: true, organizational: "co.uk", policy: "co.uk", compatible: true},
		{name: "no record of a subdomain", zone: mx, domain: "www.example.com", codes: "record.missing", state: diag.Missing,
			score: "0", organizational: "www.example.com", policy: "-", agree: "no"},
		{name: "alias to nowhere", zone: mx + "_dmarc.example.com. CNAME gone.example.net.\n", codes: "record.alias",
			state: diag.Missing, score: "0", policy: "-"},
		{name: "alias to another text, no mail", domain: "a.example.com", zone: "a.example.com. MX 0 .\n" +
			"_dmarc.a.example.com. CNAME d.example.net.\nd.example.net. A 192.0.2.1\n", codes: "record.alias",
			state: diag.Missing, score: "0", organizational: "a.example.com", policy: "-", agree: "no"},
		{name: "alias to a provider", zone: mx + "_dmarc.example.com. CNAME d.example.net.\nd.example.net. TXT " +
			"\"v=DMARC1; p=reject" + rua + "\"\n", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np"},
		{name: "alias to nowhere at the subdomain", domain: "www.example.com", zone: good +
			"_dmarc.www.example.com. CNAME gone.example.net.\n", state: diag.Valid, score: "100", ready: true,
			compatible: true, missing: "np"},
		{name: "no domain", zone: mx, domain: "example.net", codes: "domain.nxdomain", state: diag.Missing, score: "none",
			organizational: "example.net", policy: "-"},
		{name: "no subdomain", zone: good, domain: "nx.example.com", codes: "domain.nxdomain", state: diag.Missing,
			score:      "none",
			compatible: true, missing: "np"},
		{name: "stray", zone: mx + at("example.com", "v=dmarc1; p=reject"), codes: "record.stray", state: diag.Bad,
			score:  "39",
			policy: "-"},
		{name: "several records", zone: good + at("example.com", "v=DMARC1; p=none"), codes: "record.multiple",
			state: diag.Bad,
			score: "39", policy: "-"},
		{name: "stray at the subdomain", domain: "www.example.com", zone: good + at("www.example.com", "DMARC1; p=none"),
			codes: "record.discarded", state: diag.Bad, score: "69", missing: "np", compatible: true},
		{name: "several records at the subdomain", domain: "www.example.com", codes: "record.discarded legacy.policy",
			zone:  good + at("www.example.com", "v=DMARC1; p=none") + at("www.example.com", "v=DMARC1; p=reject"),
			state: diag.Bad, score: "69", missing: "np"},

		{name: "unusable, for a tag that is none", zone: mx + at("example.com", "v=DMARC1; policy=reject"),
			codes: "record.unusable", state: diag.Bad, score: "69", missing: "np", compatible: true, suggested: "p=none; rua=mailto:dmarc-reports@example.com"},
		{name: "unusable", zone: mx + at("example.com", "v=DMARC1; p=rejct"), codes: "record.unusable", state: diag.Bad,
			score:   "69",
			missing: "np", compatible: true, suggested: "p=none; rua=mailto:dmarc-reports@example.com"},
		{name: "policy not valid", zone: mx + at("example.com", "v=DMARC1; p=rejct"+rua), codes: "policy.invalid",
			state: diag.Bad, score: "69", missing: "np", compatible: true, suggested: "p=none" + rua},
		{name: "p absent", zone: mx + at("example.com", "v=DMARC1"+rua), codes: "policy.absent", state: diag.Warned,
			score: "89", missing: "np", compatible: true, suggested: "p=none" + rua},

		{name: "pct", zone: mx + at("example.com", "v=DMARC1; p=quarantine; np=reject; pct=50"+rua),
			codes: "obsolete.pct", state: diag.Warned, score: "84", missing: "",
			suggested: "p=none; np=quarantine" + rua},
		{name: "pct of another domain", domain: "www.example.com", zone: mx + at("example.com",
			"v=DMARC1; p=reject; pct=0"+rua),
			codes: "obsolete.pct", state: diag.Warned, score: "84", missing: "np"},
		{name: "tags without effect", zone: mx + at("example.com", "v=DMARC1; p=reject; pct=100; ri=1; rf=afrf; "+
			"rua=mailto:d@example.com!1m"),
			codes: "obsolete.tag obsolete.tag obsolete.tag obsolete.size", state: diag.Valid, score: "100", ready: true,
			compatible: true, missing: "np", suggested: "p=reject" + rua},
		{name: "tags without effect, of another domain", domain: "www.example.com", zone: mx + at("example.com",
			"v=DMARC1; p=reject; ri=1"+rua),
			codes: "obsolete.tag", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np"},
		{name: "size limits", zone: mx + at("example.com", "v=DMARC1; p=reject; rua=mailto:d@example.com!1m; "+
			"ruf=mailto:f@example.com!1m"),
			codes: "obsolete.size obsolete.size", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np",
			suggested: "p=reject" + rua + "; ruf=mailto:f@example.com"},

		{name: "t=y", zone: mx + at("example.com", "v=DMARC1; p=reject; sp=quarantine; np=reject; t=y"+rua),
			codes: "legacy.t", state: diag.Warned, score: "89", ready: true,
			suggested: "p=quarantine; sp=none; np=quarantine" + rua},
		{name: "t=y of another domain", domain: "www.example.com", zone: mx + at("example.com",
			"v=DMARC1; p=reject; t=y"+rua),
			codes: "legacy.t", state: diag.Warned, score: "89", ready: true, missing: "np"},
		{name: "t=y and pct=0 agree", zone: mx + at("example.com", "v=DMARC1; p=reject; t=y; pct=0"+rua),
			codes: "obsolete.tag", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np",
			suggested: "p=quarantine" + rua},
		{name: "p at the end", zone: mx + at("example.com", "v=DMARC1"+rua+"; p=reject"), codes: "legacy.order",
			state: diag.Warned,
			score: "89", ready: true, missing: "np", suggested: "p=reject" + rua},

		{name: "psd=n", domain: "www.example.com", zone: good + at("www.example.com", "v=DMARC1; p=reject; psd=n"+rua),
			codes: "legacy.organizational", state: diag.Warned, score: "89", ready: true, organizational: "www.example.com",
			policy: "www.example.com", agree: "no", missing: "np"},
		{name: "psd=y", domain: "www.example.com", zone: mx + at("example.com", "v=DMARC1; p=reject; psd=y"+rua),
			codes: "psd.wrong legacy.organizational", state: diag.Warned, score: "89", organizational: "www.example.com",
			agree: "no", missing: "np"},
		{name: "record of a public suffix", domain: "a.example.co.uk", codes: "psd.missing legacy.policy " +
			"legacy.organizational",
			zone:  at("co.uk", "v=DMARC1; p=reject; rua=mailto:d@co.uk") + "a.example.co.uk. A 192.0.2.1\n",
			state: diag.Warned, score: "89", organizational: "co.uk", policy: "co.uk", agree: "no", missing: "np psd"},
		{name: "nearer record", domain: "a.www.example.com",
			zone:  good + at("www.example.com", "v=DMARC1; p=none") + "a.www.example.com. A 192.0.2.1\n",
			codes: "", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np"},
		{name: "deep", domain: "1.2.3.4.5.6.7.example.com", zone: good + "1.2.3.4.5.6.7.example.com. A 192.0.2.1\n",
			codes: "", state: diag.Valid, score: "100", ready: true, compatible: true, missing: "np"},

		{name: "mail does not answer", zone: "www.example.com. A 192.0.2.1\n", broken: "example.com", codes: "mail.unknown", state: diag.Unknown,
			score: "none", policy: "-"},
		{name: "two records below an enforced parent", domain: "www.example.com",
			zone:  good + at("www.example.com", "v=DMARC1; p=none") + at("www.example.com", "v=DMARC1; p=reject"),
			codes: "record.discarded legacy.policy", state: diag.Bad, score: "69", missing: "np"},
		{name: "top does not answer", zone: good, broken: "_dmarc.com", codes: "organizational.unknown", state: diag.Valid,
			score: "89", ready: true, organizational: "-", agree: "?"},
		{name: "record does not answer", zone: good, broken: "_dmarc.example.com", codes: "record.unknown",
			state: diag.Unknown,
			score: "none", organizational: "-", policy: "-", agree: "?"},
		{name: "record on the way does not answer", zone: good, domain: "www.example.com", broken: "_dmarc.example.com",
			codes: "record.unknown", state: diag.Unknown, score: "none", organizational: "-", policy: "-", agree: "?"},
		{name: "own record, organizational domain does not answer", domain: "www.example.com", broken: "_dmarc.example.com",
			zone: good + at("www.example.com", "v=DMARC1; p=reject"+rua), codes: "organizational.unknown", state: diag.Valid,
			score: "89", organizational: "-", policy: "www.example.com", agree: "?"},
		{name: "domain does not answer", zone: good, domain: "www.example.com", broken: "www.example.com",
			codes: "existence.unknown", state: diag.Valid, score: "89", compatible: true, missing: "np"},
		{name: "list does not answer", domain: "a.b.example.com", broken: "_dmarc.example.com",
			codes: "legacy.organizational psl.unknown",
			zone:  "a.b.example.com. A 192.0.2.1\n" + at("b.example.com", "v=DMARC1; p=reject; psd=n"+rua), state: diag.Warned,
			score: "89", ready: true, organizational: "b.example.com", policy: "b.example.com", agree: "no", missing: "np"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			if tt.broken != "" {
				w.Break(tt.broken, dns.RcodeServerFailure)
			}
			domain := or(tt.domain, "example.com")
			r, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain(domain)})
			require.NoError(t, err)
			seen.Add(r.Verdict)
			var codes []string
			for _, f := range r.Findings {
				codes = append(codes, strings.TrimPrefix(string(f.Code), "dmarcbis."))
			}
			require.Equal(t, tt.codes, strings.Join(codes, " "))
			require.Equal(t, tt.state, r.State)
			require.Equal(t, tt.score, diagtest.Score(r.Verdict))
			require.Equal(t, tt.ready, r.Ready, "ready")
			require.Equal(t, tt.compatible, r.BackwardCompatible, "compatible")
			require.Equal(t, or(tt.organizational, "example.com"), or(r.OrganizationalDomain, "-"))
			require.Equal(t, or(tt.policy, "example.com"), or(r.PolicyDomain, "-"))
			require.Equal(t, or(tt.agree, "yes"), said(r.MethodsAgree))
			require.Equal(t, said(r.MethodsAgree) == "no", r.MethodsExplanation != "")
			require.Equal(t, tt.missing, strings.Join(r.MissingTags, " "))
			require.Equal(t, tt.broken != "", r.Partial)
			require.Equal(t, tt.policy != "-", r.Analysis.Record != "")
			require.Equal(t, tt.suggested, strings.TrimPrefix(firstSuggestion(r.Recommendations), "v=DMARC1; "))
			for _, s := range r.TreeWalk {
				require.NotEmpty(t, s.Detail)
			}
		})
	}
	require.NoError(t, checkRules.Check())
	diagtest.CoverRules(t, checkRules, seen)
	diagtest.CheckTexts(t, texts, checkRules.Describe(), seen)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func said(b *bool) string {
	switch {
	case b == nil:
		return "?"
	case *b:
		return "yes"
	default:
		return "no"
	}
}

// firstSuggestion is the first value to publish; it must be valid.
func firstSuggestion(list []diag.Recommendation) string {
	for _, r := range list {
		if r.SuggestedValue != "" {
			return r.SuggestedValue
		}
	}
	return ""
}

// An alias that leads to no record is reported in the step that met it.
func TestCheckAliasDetail(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(mx + "_dmarc.example.com. CNAME gone.example.net.\n")
	r, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain("example.com")})
	require.NoError(t, err)
	const alias = "_dmarc.example.com is an alias (CNAME) of gone.example.net, which does not exist."
	require.Contains(t, r.TreeWalk[0].Detail, alias)
	require.Equal(t, alias, r.Findings[0].Detail)
	require.Contains(t, r.Recommendations[0].Detail, "replace the CNAME")
}

func TestCheckSilence(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Silence("*.")
	_, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain("example.com")})
	require.ErrorIs(t, err, diag.ErrUnavailable)
	_, err = Check(t.Context(), w.Env(), CheckRequest{})
	require.ErrorAs(t, err, new(*diag.InputError))
}

// A server that denies a name which has names below it is not believed.
func TestCheckWrongNXDOMAIN(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(mx + at("example.com", "v=DMARC1; p=reject; rua=mailto:d@example.com"))
	w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeNameError})
	r, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain("example.com")})
	require.NoError(t, err)
	require.Equal(t, diag.Valid, r.State, "%+v", r.Findings)
}

// A record longer than any that works is reported, but neither examined nor rewritten.
func TestCheckHugeRecord(t *testing.T) {
	w := diagtest.NewWorld(t)
	text := "v=DMARC1; p=quarantine; pct=5" + strings.Repeat("; a=b", 2000)
	parts := "\"" + strings.Join(dnsmsg.SplitTXT(text), "\" \"") + "\""
	w.Zone(mx + "_dmarc.example.com. TXT " + parts + "\n")
	r, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain("example.com")})
	require.NoError(t, err)
	require.Zero(t, r.Analysis)
	require.Equal(t, text, r.TreeWalk[0].Record)
	require.Empty(t, firstSuggestion(r.Recommendations))
}

// All queries are sent concurrently.
func TestCheckRoundTrips(t *testing.T) {
	trips := diagtest.DNSRoundTrips(t, func(w *diagtest.World) {
		w.Zone(mx + at("example.com", "v=DMARC1; p=reject; rua=mailto:d@example.net"))
	}, func(ctx context.Context, env *diag.Env) {
		r, err := Check(ctx, env, CheckRequest{Domain: diag.MustDomain("1.2.3.4.5.6.7.8.www.example.com")})
		require.NoError(t, err)
		require.Equal(t, 8, r.QueriesCount)
	})
	require.Equal(t, 1, trips)
}

func checkSuggestion(t *testing.T, record, suggested string) {
	c := convertRecord(record, diag.Domain{})
	s := newConversion(suggested, diag.Domain{})
	analysis, err := dmarc.Validate(dmarc.ValidateRequest{Record: suggested})
	require.NoError(t, err)
	require.True(t, analysis.Valid, suggested)
	for _, u := range c.before.AggregateURIs {
		require.Contains(t, suggested, u.URI)
	}
	for _, standard := range []string{"rfc9989", "rfc7489"} {
		require.NotEqual(t, Stricter, changed(compare(treated(&c.before, standard), treated(&s.before, standard))),
			"%s: %q to %q", standard, record, suggested)
	}
}

// treated are the treatments by receivers of a standard; those of RFC 7489 that ignore, for example, a misplaced p are
// left out.
func treated(r *policy.Record, s string) treatments { return treatmentsUnder(r, policy.Standard(s)) }
