package domaincheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each world states what the report puts first, what it reports at all, and whether the domain is ready.
func TestWorlds(t *testing.T) {
	lone := `example.com. TXT "v=spf1 -all"`
	for _, tt := range []struct {
		name     string
		edits    edits
		more     func(*diagtest.World)
		headline string
		state    diag.State
		ready    string // if no fault denies it: empty if unknown
		grave    []diag.Code
	}{
		{name: "good", headline: "Domain is ready to send and receive mail", state: diag.Valid, ready: "true"},
		{name: "good, and its mail servers are out of reach", more: func(w *diagtest.World) {
			w.Behave("192.0.2.25:25", diagtest.Unreachable)
			w.Behave("[2001:db8::25]:25", diagtest.Unreachable)
			w.Behave("198.51.100.25:25", diagtest.Unreachable)
		}, headline: "Next step for DANE: certificate of a mail server could not be fetched", state: diag.Valid,
			grave: []diag.Code{"dane.server.unreachable", "dane.server.unreachable"}},
		{name: "good, and nobody saw its mail servers", edits: edits{"tlsa": "", "policy": strings.Replace(policyText, "enforce", "testing", 1)},
			headline: "Next step: MTA-STS policy is in testing mode, not enforced", state: diag.Warned,
			grave: []diag.Code{"mtasts.policy.mode.testing", "dane.tlsa.missing"}},
		{name: "p=none", edits: edits{"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`},
			headline: "Next step: DMARC policy is none", state: diag.Warned, ready: "true",
			grave: []diag.Code{"dmarc.policy.none"}},
		{name: "BIMI with p=none", edits: edits{
			"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`,
			"more":  `default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a="`,
		}, headline: "Fix BIMI first: DMARC policy is none, so receivers show no logo", state: diag.Bad,
			grave: []diag.Code{"bimi.dmarc.none", "bimi.logo_file.invalid", "dmarc.policy.none", "bimi.certificate.missing"}},
		{name: "no DMARC", edits: edits{"dmarc": ""}, headline: "Fix first: no DMARC record", state: diag.Bad,
			grave: []diag.Code{"dmarc.record.missing"}},
		{name: "no SPF and p=none: SPF comes first", edits: edits{
			"spf": "", "dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`,
		}, headline: "Fix first: no SPF record", state: diag.Bad, grave: []diag.Code{"spf.record.missing", "dmarc.policy.none"}},
		{name: "an MX host is gone, the other works", edits: edits{"host": "mx1.example.com. A 192.0.2.25"},
			headline: "Fix first: MX host does not exist", state: diag.Bad, grave: []diag.Code{"mx.host.nxdomain"}},
		{name: "all MX hosts are gone, and everybody may send", edits: edits{
			"host": "", "spf": `example.com. TXT "v=spf1 +all"`,
		}, headline: "Fix first: no MX host has a public address", state: diag.Bad,
			grave: []diag.Code{"mx.hosts.unreachable", "spf.all.pass"}},
		{name: "no TLS reports is one fault", edits: edits{"tlsrpt": ""},
			headline: "Next step for TLS-RPT: no TLSRPT record", state: diag.Warned, ready: "true",
			grave: []diag.Code{"tlsrpt.record.missing"}},
		{name: "broken TLS reports do not outrank lost mail", edits: edits{
			"tlsrpt": `_smtp._tls.example.com. TXT "v=TLSRPTv1;"`, "host": "", "ptr": "", "spf": `example.com. TXT "v=spf1 ip4:203.0.113.0/28 -all"`,
		}, headline: "Fix first: no MX host has a public address", state: diag.Bad,
			grave: []diag.Code{"mx.hosts.unreachable", "tlsrpt.rua.missing"}},
		{name: "an enforced policy that covers no server", edits: edits{
			"policy": "version: STSv1\nmode: enforce\nmx: old.example.com\nmax_age: 604800\n",
		}, headline: "Fix first: enforced MTA-STS policy covers no mail server", state: diag.Bad,
			grave: []diag.Code{"mtasts.mx.undeliverable"}},
		{name: "a short key", edits: edits{"dkim": `default._domainkey.example.com. TXT ` + key1024},
			headline: "Next step: DKIM key is shorter than 2048 bits (RSA)", state: diag.Warned, ready: "true",
			grave: []diag.Code{"dkim.key.size.short"}},
		{name: "a revoked key beside one in use is a rotation", edits: edits{
			"more": `s1._domainkey.example.com. TXT "v=DKIM1; p="` + "\nselector2._domainkey.example.com. CNAME gone.example.net.",
		}, headline: "Domain is ready to send and receive mail", state: diag.Valid, ready: "true"},
		{name: "only a revoked key", edits: edits{"dkim": `default._domainkey.example.com. TXT "v=DKIM1; p="`},
			headline: "Fix first: DKIM key has been revoked", state: diag.Bad, grave: []diag.Code{"dkim.key.revoked"}},
		{name: "a key at a selector that nobody guesses", edits: edits{"dkim": `x2026._domainkey.example.com. TXT ` + key2048},
			headline: "Set up well as far as seen; DKIM selector is not known", state: diag.Valid},
		{name: "no key at all", edits: edits{"dkim": ""}, headline: "Fix first: no DKIM key",
			state: diag.Bad, grave: []diag.Code{"check.dkim.none"}},
		{name: "a wildcard below _domainkey is no key", edits: edits{"dkim": `*._domainkey.example.com. TXT "v=DKIM1; p="`},
			headline: "Set up well as far as seen; DKIM selector is not known", state: diag.Valid},
		{name: "parked as it should be", edits: edits{
			"mx": "example.com. MX 0 .", "host": "", "ptr": "", "spf": lone, "sts": "", "tlsrpt": "", "policy": "",
			"dkim": `*._domainkey.example.com. TXT "v=DKIM1; p="`, "dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`,
		}, headline: "Domain is set up well for having no mail", state: diag.Valid, ready: "true"},
		{name: "parked without DMARC wants DMARC, not DKIM", edits: edits{
			"mx": "example.com. MX 0 .", "host": "", "ptr": "", "spf": lone, "sts": "", "tlsrpt": "", "policy": "",
			"dkim": "", "dmarc": "",
		}, headline: "Next step: no DMARC record on a domain without mail", state: diag.Warned, ready: "true",
			grave: []diag.Code{"dmarc.record.missing.no_mail"}},
		{name: "receives and sends nothing", edits: edits{"spf": lone, "dkim": "", "ptr": ""},
			headline: "Domain is ready to receive mail, and sends none", state: diag.Valid, ready: "true"},
		{name: "two SPF records", edits: edits{
			"spf": `example.com. TXT "v=spf1 mx -all"` + "\n" + `example.com. TXT "v=spf1 ip4:192.0.2.25 -all"`,
		}, headline: "Fix first: more than one SPF record", state: diag.Bad, grave: []diag.Code{"spf.record.multiple"}},
		{name: "a sending address without a name", edits: edits{"ptr": ""},
			headline: "Next step: sending address has no name in reverse DNS", state: diag.Warned, ready: "true",
			grave: []diag.Code{"check.ptr.missing"}},
		{name: "a name that leads elsewhere", edits: edits{"ptr": "25.2.0.192.in-addr.arpa. PTR mx2.example.com."},
			headline: "", state: diag.Warned, ready: "true", grave: []diag.Code{"check.ptr.unconfirmed"}},
		{name: "a resolver that strips DNSSEC is no fault of the domain", edits: edits{"signed": "no"},
			headline: "Set up well as far as seen; some parts are not known", state: diag.Valid},
		{name: "SERVFAIL for one record", more: servfail("_dmarc.example.com"),
			headline: "Fix first: DMARC record could not be looked up", state: diag.Unknown,
			grave: []diag.Code{"dmarc.record.unknown"}},
		{name: "SERVFAIL for several records is one finding",
			more:     servfail("_dmarc.example.com", "_mta-sts.example.com", "_smtp._tls.example.com"),
			headline: "Fix first: DNS lookups failed for several parts", state: diag.Unknown,
			grave: []diag.Code{"check.lookups.failed"}},
		{name: "SERVFAIL for all", more: servfail("example.com", "*.example.com"),
			headline: "Fix first: DNS does not answer for the domain", state: diag.Unknown,
			grave: []diag.Code{"check.domain.unavailable"}},
		{name: "parked, and the resolver strips DNSSEC", edits: edits{
			"mx": "example.com. MX 0 .", "host": "", "ptr": "", "spf": lone, "sts": "", "tlsrpt": "", "policy": "",
			"dkim": "", "dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`, "signed": "no",
		}, headline: "Set up well as far as seen; some parts are not known", state: diag.Valid},
		{name: "SERVFAIL for MX hosts is told once for each", more: servfail("mx1.example.com", "mx2.example.com"),
			headline: "Fix first: addresses of an MX host could not be looked up", state: diag.Unknown,
			grave: []diag.Code{"mx.host.unknown", "mx.host.unknown"}},
		{name: "a policy cannot cover MX hosts that are none", edits: edits{"mx": "example.com. MX 10 192.0.2.25."},
			headline: "Fix first: no MX host has a public address", state: diag.Bad,
			grave: []diag.Code{"mx.hosts.unreachable"}},
		{name: "signatures that have expired are one fault", edits: edits{"signed": "no"}, more: func(w *diagtest.World) {
			w.ServeZones()
			w.Sign(".", diagtest.Signing{})
			w.Sign("example.com.", diagtest.Signing{Inception: w.Now().AddDate(0, -3, 0), Expiration: w.Now().AddDate(0, -1, 0)})
		}, headline: "Fix DNSSEC first: signature expired", state: diag.Bad, grave: []diag.Code{"dnssec.signature.expired"}},
		{name: "an alias as MX host", edits: edits{
			"host": "mx1.example.com. CNAME mx.example.net.\nmx.example.net. A 192.0.2.25\nmx2.example.com. A 198.51.100.25",
			"ptr":  "25.2.0.192.in-addr.arpa. PTR mx.example.net.", "sts": "", "policy": "",
		}, headline: "Next step: MX record points to a CNAME", state: diag.Warned,
			grave: []diag.Code{"mx.host.alias", "mtasts.record.missing", "dane.host.missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.edits.world(t)
			if tt.more != nil {
				tt.more(w)
			}
			r := run(t, w, example)
			if tt.headline != "" {
				assert.Equal(t, tt.headline, r.Headline)
			}
			assert.Equal(t, tt.state, r.State)
			if tt.state == diag.Bad {
				tt.ready = "false"
			}
			assert.Equal(t, tt.ready, readiness(r))
			assert.Equal(t, append([]diag.Code{}, tt.grave...), grave(r))
			consistent(t, r)
		})
	}
}

// readiness is the field ready in words.
func readiness(r *Report) string {
	if r.Ready == nil {
		return ""
	}
	return fmt.Sprint(*r.Ready)
}

// consistent checks what holds for every reply.
func consistent(t *testing.T, r *Report) {
	t.Helper()
	assert.LessOrEqual(t, len([]rune(r.Headline)), rule.MaxHeadline)
	assert.NotEmpty(t, r.Sub)
	seen := map[string]bool{}
	worst := diag.Severity(-1)
	for i, f := range r.Findings {
		assert.False(t, seen[string(f.Code)+f.Detail+f.Target], "%s appears twice", f.Code)
		seen[string(f.Code)+f.Detail+f.Target] = true
		assert.NotEmpty(t, f.Target)
		assert.NotEmpty(t, f.Advice, f.Code)
		if i > 0 {
			assert.GreaterOrEqual(t, r.Findings[i-1].Severity, f.Severity, "the worst first")
		}
		worst = max(worst, f.Severity)
	}
	if r.Score != nil {
		limit := max(diag.Info, worst).Cap()
		if r.State != diag.Bad && worst >= diag.Error { // which is ignorance
			limit = diag.Warning.Cap()
		}
		assert.LessOrEqual(t, *r.Score, limit)
		assert.Equal(t, rule.BandOf(*r.Score), r.Band)
	} else {
		assert.Equal(t, diag.Undetermined, r.Band)
	}
	advised := map[string]bool{}
	for _, one := range r.Recommendations {
		assert.False(t, advised[one.Detail], "advised twice: %s", one.Detail)
		advised[one.Detail] = true
	}
	if readiness(r) == "true" {
		assert.Less(t, worst, diag.Error)
		assert.False(t, r.Partial)
	}
	for _, q := range r.Requirements {
		if q.Met == nil {
			assert.NotEmpty(t, q.Unknown)
		} else {
			assert.Equal(t, *q.Met, len(q.Missing) == 0)
		}
	}
	known := map[diag.Code]bool{}
	for _, rule := range r.Rules() {
		known[rule.Code] = true
	}
	for _, f := range r.Findings {
		assert.True(t, known[f.Code], "%s is not described", f.Code)
	}
}

// A domain that declares that it has no mail needs no action.
func TestNothingToDo(t *testing.T) {
	r := run(t, edits{
		"mx": "example.com. MX 0 .", "host": "", "ptr": "", "spf": `example.com. TXT "v=spf1 -all"`, "sts": "", "tlsrpt": "",
		"policy": "", "dkim": "", "dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`,
	}.world(t), example)
	require.Equal(t, "Domain is set up well for having no mail", r.Headline)
	require.Empty(t, r.Recommendations)
}

// A name below the zone need not have the records that DNSSEC is tried with.
func TestNamesBelowTheZone(t *testing.T) {
	r := run(t, edits{"more": "sub.example.com. MX 10 mx1.example.com."}.world(t), Request{Domain: diag.MustDomain("sub.example.com")})
	require.Equal(t, diag.Valid, r.Pillars.Integrity.DNSSEC.State)
	require.NotContains(t, diagtest.Codes(r.Verdict), diag.Code("dnssec.answer.nodata"))
}

func TestNonexistent(t *testing.T) {
	r := run(t, diagtest.NewWorld(t), Request{Domain: diag.MustDomain("gone.example")})
	require.Equal(t, []diag.Code{"check.domain.nxdomain"}, diagtest.Codes(r.Verdict))
	require.Equal(t, "Domain does not exist", r.Headline)
	require.Equal(t, "false", readiness(r))
	require.Nil(t, r.Score)
	require.Empty(t, r.Pillars.Sending.SPF.Findings)
	require.Nil(t, r.Pillars.Sending.SPF.Result)
	require.Equal(t, diag.Missing, r.Pillars.Sending.DKIM[0].State)
	require.Len(t, r.Pillars.Sending.DKIM, 1)
	consistent(t, r)
}

func TestSelectors(t *testing.T) {
	w := edits{"more": `s2._domainkey.example.com. TXT "v=DKIM1; p="`}.world(t)
	req := example
	req.DKIMSelectors = []diag.Selector{diag.MustSelector("default"), diag.MustSelector("s2"), diag.MustSelector("gone")}
	r := run(t, w, req)
	var states []string
	for _, p := range r.Pillars.Sending.DKIM {
		states = append(states, p.Selector+" "+string(p.State))
	}
	require.Equal(t, []string{"default valid", "s2 invalid", "gone missing"}, states)
	require.Equal(t, []diag.Code{"dkim.record.missing", "dkim.key.revoked"}, sorted(grave(r)))
	require.Equal(t, "false", readiness(r))
	consistent(t, r)
}

func sorted(list []diag.Code) []diag.Code {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b diag.Code) int { return len(b) - len(a) })
	return list
}

// A reply is short unless the reports of the parts are requested; both agree.
func TestDetail(t *testing.T) {
	world := edits{}.world(t)
	full := run(t, world, example)
	short := run(t, world, Request{Domain: example.Domain})
	text, err := json.Marshal(short)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"result"`)
	require.Less(t, len(text), 25<<10)
	require.Equal(t, full.Headline, short.Headline)
	require.Equal(t, full.Requirements, short.Requirements)
	require.Equal(t, full.Pillars.Receiving.MX.Hosts, short.Pillars.Receiving.MX.Hosts)
	require.NotNil(t, full.Pillars.Sending.SPF.Result)
}
