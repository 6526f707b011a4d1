package deliverability

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sending(ip string) Request {
	r := example
	r.IP = diag.MustIP(ip)
	return r
}

func asked(selectors ...string) Request {
	r := example
	for _, s := range selectors {
		r.DKIMSelectors = append(r.DKIMSelectors, diag.MustSelector(s))
	}
	return r
}

// mute is a domain that neither sends nor receives mail.
var mute = edits{
	"mx": "example.com. MX 0 .", "host": "", "ptr": "25.113.0.203.in-addr.arpa. PTR mx1.example.net.\nmx1.example.net. A 203.0.113.25",
	"tlsrpt": "", "dkim": "", "spf": `example.com. TXT "v=spf1 -all"`, "dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`,
}

// Each world states what the report puts first, the score, and what is unknown.
func TestWorlds(t *testing.T) {
	none := `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`
	elsewhere := `x2026._domainkey.example.com. TXT ` + key2048
	for _, tt := range []struct {
		name     string
		edits    edits
		more     func(*diagtest.World)
		req      Request
		headline string
		score    string // from to
		state    diag.State
		partial  bool
		advice   string // component of the advice
		grave    []diag.Code
	}{
		{name: "good", headline: "Mail of the domain is set up to be accepted", score: "100", state: diag.Valid},
		{name: "good, with its address", req: sending("203.0.113.25"), score: "100", state: diag.Valid,
			headline: "Mail of the domain is set up to be accepted"},
		{name: "p=none", edits: edits{"dmarc": none}, headline: "Next step: DMARC policy is none", score: "89",
			state: diag.Warned, advice: "dmarc", grave: []diag.Code{"dmarc.policy.none"}},
		{name: "listed: before any record", edits: edits{"more": listed("25.113.0.203", "zen.spamhaus.org"), "spf": "", "dmarc": ""},
			headline: "Fix reputation first: listed on the most widely used blocklist", score: "31", state: diag.Bad, advice: "reputation",
			grave: []diag.Code{"dnsbl.listed.decisive", "spf.record.missing", "dmarc.record.missing"}},
		{name: "listed on an obscure list: after the records", edits: edits{
			"more": listed("25.113.0.203", "rbl.schulte.org"), "dmarc": none,
		}, headline: "Next step: DMARC policy is none", score: "89", state: diag.Warned, advice: "dmarc",
			grave: []diag.Code{"dmarc.policy.none", "dnsbl.listed.obscure"}},
		{name: "lists refuse this service", edits: edits{"refuse": "127.255.255.254"}, score: "89", state: diag.Valid, partial: true,
			headline: "Set up well as far as measured; reputation is not known"},
		{name: "lists refuse, and p=none", edits: edits{"refuse": "127.255.255.254", "dmarc": none}, score: "89", state: diag.Warned,
			partial: true, headline: "Next step: DMARC policy is none", advice: "dmarc", grave: []diag.Code{"dmarc.policy.none"}},
		{name: "no SPF", edits: edits{"spf": ""}, headline: "Fix first: no SPF record", score: "69", state: diag.Bad, advice: "spf",
			grave: []diag.Code{"spf.record.missing"}},
		{name: "everybody may send, DMARC none", edits: edits{"spf": `example.com. TXT "v=spf1 +all"`, "dmarc": none},
			headline: "Fix first: SPF record lets every host pass (+all)", score: "39", state: diag.Bad, advice: "spf",
			grave: []diag.Code{"spf.all.pass", "dmarc.policy.none"}},
		{name: "permerror comes before forgery", edits: edits{"spf": `example.com. TXT "v=spf1 mx include: -all"`, "dmarc": ""},
			headline: "Fix first: SPF record has a term without its value", score: "39", state: diag.Bad, advice: "spf",
			grave: []diag.Code{"spf.syntax.value.missing", "dmarc.record.missing"}},
		{name: "a fault is as grave here as in its part", edits: edits{
			"tlsrpt": `_smtp._tls.example.com. TXT "v=TLSRPTv1"`, "more": "default._bimi.example.com. TXT \"v=BIMI 1; l=x\"",
		}, headline: "Fix first: BIMI record does not begin with v=BIMI1;", score: "39", state: diag.Bad, advice: "bimi",
			grave: []diag.Code{"bimi.record.version", "tlsrpt.record.version"}},
		{name: "key asked for and missing", req: asked("2026a"), headline: "Fix first: no DKIM key at this selector", score: "69",
			state: diag.Bad, advice: "dkim", grave: []diag.Code{"dkim.record.missing"}},
		{name: "one of two keys asked for is missing", req: asked("default", "2026a"), score: "69", state: diag.Bad, advice: "dkim",
			headline: "Fix first: no DKIM key at this selector", grave: []diag.Code{"dkim.record.missing"}},
		{name: "no key found", edits: edits{"dkim": elsewhere}, score: "89", state: diag.Valid,
			headline: "Set up well as far as measured; DKIM selector is not known"},
		{name: "neither key nor reputation", edits: edits{"dkim": elsewhere, "refuse": "127.255.255.254"}, score: "89", partial: true,
			headline: "Set up well as far as measured; some components are not known", state: diag.Valid},
		{name: "a short key", edits: edits{"dkim": `default._domainkey.example.com. TXT ` + key1024}, score: "89", state: diag.Warned,
			headline: "Next step: DKIM key is shorter than 2048 bits (RSA)", advice: "dkim", grave: []diag.Code{"dkim.key.size.short"}},
		{name: "a revoked key", edits: edits{"dkim": `default._domainkey.example.com. TXT "v=DKIM1; p="`}, score: "69",
			headline: "Fix first: DKIM key has been revoked", state: diag.Bad, advice: "dkim", grave: []diag.Code{"dkim.key.revoked"}},
		{name: "the address does not pass SPF", edits: edits{"more": "9.113.0.203.in-addr.arpa. PTR out.example.com.\nout.example.com. A 203.0.113.9"},
			req: sending("203.0.113.9"), headline: "Next step: sending address does not pass SPF", score: "89",
			state: diag.Warned, advice: "spf", grave: []diag.Code{"score.spf.address"}},
		{name: "the address has no name", edits: edits{"ptr": ""}, req: sending("203.0.113.25"), score: "89", state: diag.Warned,
			headline: "Next step for reputation: sending address has no name in reverse DNS", advice: "reputation",
			grave: []diag.Code{"check.ptr.missing"}},
		{name: "SPF unknown", more: servfail("example.com"), headline: "", score: "none", state: diag.Unknown, partial: true, advice: "spf"},
		{name: "only DMARC unknown", more: servfail("_dmarc.example.com"), score: "none", state: diag.Unknown, partial: true,
			headline: "Fix first: DMARC record could not be looked up", advice: "dmarc", grave: []diag.Code{"dmarc.record.unknown"}},
		{name: "all unknown", more: servfail("example.com", "*.example.com"), score: "none", state: diag.Unknown, partial: true,
			headline: "Fix first: DNS does not answer for the domain", advice: "spf", grave: []diag.Code{"check.domain.unavailable"}},
		{name: "BIMI with p=none", edits: edits{
			"dmarc": none, "more": `default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a="`,
		}, headline: "Fix BIMI first: DMARC policy is none, so receivers show no logo", score: "69", state: diag.Bad, advice: "bimi"},
		{name: "no TLS reports", edits: edits{"tlsrpt": ""}, headline: "Next step for TLS-RPT: no TLSRPT record", score: "89",
			state: diag.Warned, advice: "tls_rpt", grave: []diag.Code{"tlsrpt.record.missing"}},
		{name: "sends no mail", edits: edits{
			"mx": "example.com. MX 0 .", "host": "", "ptr": "", "tlsrpt": "", "dkim": "", "spf": `example.com. TXT "v=spf1 -all"`,
			"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`,
		}, headline: "Domain sends no mail, and forgeries can be rejected", score: "100", state: diag.Valid},
		{name: "sends no mail, and its mail server is listed", edits: edits{
			"dkim": "", "spf": `example.com. TXT "v=spf1 -all"`, "more": listed("25.113.0.203", "zen.spamhaus.org"),
		}, headline: "Domain sends no mail, and forgeries can be rejected", score: "100", state: diag.Valid},
		{name: "says that it sends no mail, and is said to send", edits: mute, req: sending("203.0.113.25"), state: diag.Bad, score: "69",
			headline: "Fix first: SPF record says that the domain sends no mail", advice: "spf"},
		{name: "neither SPF nor DKIM", edits: edits{"dkim": ""}, req: sending("203.0.113.9"), state: diag.Bad, score: "63",
			headline: "Fix first: sending address is authenticated by neither SPF nor DKIM", advice: "spf",
			grave: []diag.Code{"score.spf.unauthenticated", "check.dkim.none", "check.ptr.missing"}},
		{name: "a private address", req: sending("10.1.2.3"), state: diag.Valid, score: "89", partial: true,
			headline: "Next step for reputation: not a public address", advice: "reputation", grave: []diag.Code{"dnsbl.address.special"}},
		{name: "mail server cannot be looked up", edits: edits{"spf": `example.com. TXT "v=spf1 ip4:203.0.113.25 -all"`},
			more: servfail("mx1.example.com"), state: diag.Valid, score: "89", partial: true, advice: "reputation",
			headline: "Next step for reputation: mail servers could not be looked up", grave: []diag.Code{"score.address.unknown"}},
		{name: "the name of an address is unknown", more: servfail("25.113.0.203.in-addr.arpa"), state: diag.Valid, score: "89", partial: true,
			headline: "Set up well as far as measured; some components are not known"},
		{name: "no address is known", edits: edits{
			"mx": "example.com. MX 0 .", "host": "", "ptr": "", "tlsrpt": "", "spf": `example.com. TXT "v=spf1 ip4:203.0.113.128/25 -all"`,
			"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=reject"`,
		}, headline: "Next step: sending domain receives no mail", score: "89", state: diag.Warned, advice: "name",
			grave: []diag.Code{"name.sender.unreachable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := tt.req
			if req.Domain.IsZero() {
				req = example
			}
			r := score(t, tt.edits, tt.more, req)
			if tt.headline != "" {
				assert.Equal(t, tt.headline, r.Headline)
			}
			assert.Equal(t, tt.state, r.State)
			assert.Equal(t, tt.score, diagtest.Score(r.Verdict))
			assert.Equal(t, tt.partial, r.Partial)
			if tt.advice == "" {
				assert.Zero(t, r.Advice)
			} else if assert.NotZero(t, r.Advice) {
				assert.Equal(t, tt.advice, r.Advice.Cause.Component)
				assert.Equal(t, tt.advice, r.Advice.Action.Component)
			}
			if tt.grave != nil {
				assert.Equal(t, tt.grave, grave(r))
			}
			consistent(t, r)
		})
	}
}

// consistent checks what holds for every reply.
func consistent(t *testing.T, r *Report) {
	t.Helper()
	assert.LessOrEqual(t, len([]rune(r.Headline)), rule.MaxHeadline)
	assert.NotEmpty(t, r.Sub)
	seen, advised, known := map[string]bool{}, map[string]bool{}, map[diag.Code]bool{}
	for _, rule := range r.Rules() {
		known[rule.Code] = true
	}
	for i, f := range r.Findings {
		assert.True(t, known[f.Code], "%s is not described", f.Code)
		assert.False(t, seen[string(f.Code)+f.Detail+f.Target], "%s appears twice", f.Code)
		seen[string(f.Code)+f.Detail+f.Target] = true
		assert.NotEmpty(t, f.Target)
		if i > 0 {
			assert.GreaterOrEqual(t, r.Findings[i-1].Severity, f.Severity, "the worst first")
		}
	}
	for _, one := range r.Recommendations {
		assert.False(t, advised[one.Detail], "advised twice: %s", one.Detail)
		advised[one.Detail] = true
	}
	points, most := 0, 0
	for _, c := range []struct {
		score              *int
		weight, points, of int
		measured           bool
	}{
		{r.Components.SPF.Score, r.Components.SPF.Weight, r.Components.SPF.Points, r.Components.SPF.MaxPoints, r.Components.SPF.Measured},
		{r.Components.DKIM.Score, r.Components.DKIM.Weight, r.Components.DKIM.Points, r.Components.DKIM.MaxPoints, r.Components.DKIM.Measured},
		{r.Components.DMARC.Score, r.Components.DMARC.Weight, r.Components.DMARC.Points, r.Components.DMARC.MaxPoints, r.Components.DMARC.Measured},
		{r.Components.BIMI.Score, r.Components.BIMI.Weight, r.Components.BIMI.Points, r.Components.BIMI.MaxPoints, r.Components.BIMI.Measured},
		{r.Components.Reputation.Score, r.Components.Reputation.Weight, r.Components.Reputation.Points, r.Components.Reputation.MaxPoints, r.Components.Reputation.Measured},
		{r.Components.TLSRPT.Score, r.Components.TLSRPT.Weight, r.Components.TLSRPT.Points, r.Components.TLSRPT.MaxPoints, r.Components.TLSRPT.Measured},
	} {
		assert.LessOrEqual(t, c.points, c.of)
		assert.Equal(t, c.score != nil, c.of == c.weight)
		if !c.measured {
			assert.Nil(t, c.score)
			assert.Zero(t, c.of)
		}
		points, most = points+c.points, most+c.of
	}
	if r.Score != nil {
		assert.Equal(t, []int{points, most}, []int{r.Breakdown.Earned, r.Breakdown.Max})
		assert.LessOrEqual(t, *r.Score, 100*points/most)
	}
}

// Actions are listed in an order in which they can be taken, each once, and with a value only if no other action must
// precede it.
func TestActions(t *testing.T) {
	none := `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`
	parked := edits{"mx": "example.com. MX 0 .", "host": "", "ptr": "", "tlsrpt": "", "dkim": "", "spf": "", "dmarc": ""}
	weak := edits{"dkim": "s1._domainkey.example.com. TXT " + key1024 + "\ns2._domainkey.example.com. TXT " + key1024}
	for _, tt := range []struct {
		name   string
		edits  edits
		want   []diag.Code // above info
		values string
		sub    string // its end
	}{
		{"no DKIM key at all, and p=none", edits{"dkim": "", "dmarc": none}, []diag.Code{"check.dkim.none", "dmarc.policy.none"}, "",
			"After that, 1 warning remains."},
		{"nothing at all", edits{"spf": "", "dkim": "", "dmarc": "", "tlsrpt": ""},
			[]diag.Code{"spf.record.missing", "check.dkim.none", "dmarc.record.missing", "tlsrpt.record.missing"},
			"v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com|v=TLSRPTv1; rua=mailto:tls-reports@example.com",
			"After that, 2 errors and 1 warning remain."},
		{"no use for mail", parked, []diag.Code{"spf.record.missing.no_mail", "dmarc.record.missing.no_mail"},
			"v=spf1 -all|v=DMARC1; p=reject", "After that, 1 warning remains."},
		{"sends no mail, and p=none", edits{"mx": mute["mx"], "host": "", "ptr": "", "tlsrpt": "", "dkim": "", "spf": mute["spf"],
			"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.net"`, "more": "example.net. MX 1 mx.example.net.\n" +
				`example.com._report._dmarc.example.net. TXT "v=DMARC1"` + "\nmx.example.net. A 203.0.113.1"},
			[]diag.Code{"dmarc.policy.none"}, "", "then publish p=reject."},
		{"one fault of two keys", weak, []diag.Code{"dkim.key.size.short"}, "", "a week after the last use."},
	} {
		r := score(t, tt.edits, nil, example)
		var codes []diag.Code
		var values []string
		for _, one := range r.Recommendations {
			if one.Priority != diag.Low {
				codes = append(codes, one.Code)
			}
			if one.SuggestedValue != "" {
				values = append(values, one.SuggestedValue)
			}
		}
		assert.Equal(t, tt.want, codes, tt.name)
		assert.Equal(t, tt.values, strings.Join(values, "|"), tt.name)
		assert.True(t, strings.HasSuffix(r.Sub, tt.sub), "%s: %s", tt.name, r.Sub)
		consistent(t, r)
	}
	assert.Equal(t, []diag.Code{"dkim.key.size.short", "dkim.key.size.short"}, grave(score(t, weak, nil, example)), "both keys are told")
}

func ExampleScore() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	edits{"more": listed("25.113.0.203", "zen.spamhaus.org")}.build(world)
	r, err := Score(context.Background(), world.Env(), Request{Email: "news@example.com", IP: diag.MustIP("203.0.113.25")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*r.Score, r.Headline)
	fmt.Println(r.Advice.Cause.Component, r.Advice.Cause.Code)
	// Output:
	// 39 Fix reputation first: listed on the most widely used blocklist
	// reputation dnsbl.listed.decisive
}

// The reception of reports was not examined, and no text claims that it was.
func TestReception(t *testing.T) {
	r := score(t, nil, nil, example).Components.TLSRPT
	require.Equal(t, diag.Excellent, r.Band)
	require.Contains(t, r.Sub, "the reception of reports was not")
}

// Contradictions between SPF and DKIM, and unknowns, are not praised.
func TestContradictions(t *testing.T) {
	mute := edits{"spf": `example.com. TXT "v=spf1 -all"`}
	r := score(t, mute, nil, example)
	require.Equal(t, []any{diag.Warned, "Next step: SPF lets nobody send, but there is a DKIM key", "spf"},
		[]any{r.State, r.Headline, r.Advice.Cause.Component})
	require.NotContains(t, r.Components.SPF.Headline, "correctly")
	r = score(t, edits{"dkim": ""}, nil, example)
	require.Equal(t, []any{diag.Missing, 0, true}, []any{r.Components.DKIM.State, *r.Components.DKIM.Score, r.Components.DKIM.Measured})
	require.Equal(t, diag.Bad, r.State)
	r = score(t, edits{"dmarc": ""}, servfail("example.com"), example)
	require.Nil(t, r.Score, "no score without knowledge")
}

// Which addresses are assumed to send mail.
func TestAddresses(t *testing.T) {
	six := edits{"mx": "", "host": ""}
	for i := range 6 {
		six["more"] += fmt.Sprintf("example.com. MX %d mx%d.example.com.\nmx%d.example.com. A 203.0.113.%d\n", i, i, i, 30+i)
	}
	for _, tt := range []struct {
		name    string
		edits   edits
		req     Request
		want    []string
		assumed bool
	}{
		{"given", nil, sending("203.0.113.99"), []string{"203.0.113.99"}, false},
		{"mail servers", nil, example, []string{"203.0.113.25"}, true},
		{"at most five", six, example, []string{"203.0.113.30", "203.0.113.31", "203.0.113.32", "203.0.113.33", "203.0.113.34"}, true},
		{"the domain itself", edits{"mx": "", "more": "example.com. A 203.0.113.7"}, example, []string{"203.0.113.7"}, true},
		{"private addresses say nothing", edits{"host": "mx1.example.com. A 10.0.0.1"}, example, nil, true},
	} {
		r := score(t, tt.edits, nil, tt.req).Components.Reputation
		var got []string
		for _, a := range r.Result.Addresses {
			got = append(got, a.Address.String())
		}
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, tt.assumed, r.Result.Assumed, tt.name)
		told := slices.ContainsFunc(r.Findings, func(f diag.Finding) bool { return f.Code == "score.address.assumed" })
		require.Equal(t, tt.assumed && len(got) > 0, told, tt.name)
	}
}

// The mail servers of a service say little about mail of its customers, and the report states that.
func TestService(t *testing.T) {
	r := score(t, edits{"mx": "example.com. MX 1 smtp.google.com.\nsmtp.google.com. A 203.0.113.60"}, nil, example)
	i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == "score.address.assumed" })
	require.Contains(t, r.Findings[i].Detail, "asked about 1 address of the hosts that receive mail of the domain. They belong to Google Workspace")
}

func TestEmail(t *testing.T) {
	for email, want := range map[string]string{
		"a@example.com": "", "a.b+c@example.com": "", `"a b"@example.com`: "", "jürgen@example.com": "",
		"example.com": "field domain", "@example.com": "field domain", "a@": "no domain name", "a@192.0.2.1": "no domain name",
		"a@exa mple.com": "no domain name", "a b@example.com": "is not allowed before", "A <a@example.com>": "address alone",
		"a@b@example.com": "is not allowed before", " a@example.com": "white space", "a@example.com\n": "white space",
	} {
		req := Request{Email: email}
		d, err := req.subject()
		if want == "" {
			require.NoError(t, err, email)
			require.Equal(t, "example.com", d.String())
			continue
		}
		require.ErrorContains(t, err, want, email)
		input := &diag.InputError{}
		require.ErrorAs(t, err, &input)
		require.Equal(t, "email", input.Field)
	}
	_, err := Score(t.Context(), nil, Request{})
	require.ErrorContains(t, err, "domain")
	_, err = Score(t.Context(), nil, Request{Email: "a@example.com", Domain: example.Domain})
	require.ErrorContains(t, err, "one of them")
}

func TestNonexistent(t *testing.T) {
	r := score(t, nil, nil, Request{Domain: diag.MustDomain("gone.example")})
	require.Equal(t, []diag.Code{"score.domain.nxdomain"}, diagtest.Codes(r.Verdict))
	require.Nil(t, r.Score)
	require.Equal(t, diag.Missing, r.Components.DKIM.State)
	require.Nil(t, r.Components.Reputation.Result)
	require.Equal(t, "domain", r.Advice.Cause.Component)
	consistent(t, r)
}

func TestRules(t *testing.T) {
	var own, address, reputation diagtest.Seen
	for _, tt := range []struct {
		edits edits
		more  func(*diagtest.World)
		req   Request
	}{
		{req: example}, {req: sending("203.0.113.25")}, {req: sending("203.0.113.9")}, {req: Request{Domain: diag.MustDomain("gone.example")}},
		{edits: edits{"host": ""}, req: example}, {edits: edits{"ptr": "25.113.0.203.in-addr.arpa. PTR a.example.com."}, req: example},
		{more: servfail("example.com"), req: example},
		{more: servfail("25.113.0.203.in-addr.arpa"), req: example},
		{edits: edits{"dkim": ""}, req: sending("203.0.113.9")},
		{edits: mute, req: example}, {edits: mute, req: sending("203.0.113.9")},
	} {
		w := diagtest.NewWorld(t)
		tt.edits.build(w)
		if tt.more != nil {
			tt.more(w)
		}
		s := &scoring{Request: tt.req, domain: tt.req.Domain}
		s.gather(t.Context(), w.Env())
		s.conclude()
		own.Add(rules.Judge(s, texts))
		address.Add(addressRules.Judge(s, addressTexts))
		if s.reputation.Result != nil {
			reputation.Add(reputationRules.Judge(s.reputation.Result, reputationTexts))
		}
	}
	diagtest.CoverRules(t, rules, own)
	diagtest.CheckTexts(t, texts, rules.Describe(), own)
	diagtest.CoverRules(t, addressRules, address)
	diagtest.CheckTexts(t, addressTexts, addressRules.Describe(), address)
	diagtest.CoverRules(t, reputationRules, reputation)
	diagtest.CheckTexts(t, reputationTexts, reputationRules.Describe(), reputation)
}

// If no server answers at all, there is no result, and the caller is not charged.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("example.com")
		w.Silence("*.example.com")
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		_, err := Score(ctx, w.Env(), example)
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})
}

// A mail server whose addresses are partly known may have others, which are not praised.
func TestAddressesInPart(t *testing.T) {
	e := edits{"spf": `example.com. TXT "v=spf1 ip4:203.0.113.25 -all"`}
	whole := score(t, e, nil, example).Components.Reputation
	r := score(t, e, func(w *diagtest.World) {
		w.FaultEverywhere("mx1.example.com.", dns.TypeAAAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}, example)
	require.True(t, r.Partial)
	part := r.Components.Reputation
	require.Contains(t, fmt.Sprint(part.Result.verdict.Findings), "More may be in use: a lookup failed (the resolver answered SERVFAIL).")
	praises := func(v diag.Verdict) bool {
		return slices.ContainsFunc(v.Passed, func(c diag.Check) bool { return strings.HasPrefix(string(c.Code), "dnsbl.") })
	}
	require.True(t, praises(whole.Result.verdict))
	require.False(t, praises(part.Result.verdict))
}

// Silent blocklists cost no more than the component.
func TestSilentLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(edits{}.zone())
		for _, tld := range []string{"org", "net", "info", "de", "ch", "uk", "me", "hu", "no", "nz", "se", "pl", "com.br", "biz"} {
			w.Silence("*." + tld)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		r, err := Score(ctx, w.Env(), example)
		require.NoError(t, err)
		require.NoError(t, ctx.Err())
		require.Equal(t, diag.Unknown, r.Components.Reputation.State)
		require.True(t, r.Partial)
		require.Equal(t, diag.Valid, r.Components.SPF.State)
	})
}

// A reply is short unless the reports of the components are requested; both agree.
func TestDetail(t *testing.T) {
	full := score(t, nil, nil, example)
	short := score(t, nil, nil, Request{Domain: example.Domain})
	text, err := json.Marshal(short)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"result"`)
	require.Less(t, len(text), 25<<10)
	require.Equal(t, full.Verdict, short.Verdict)
	require.NotNil(t, full.Components.DKIM.Result)
}
