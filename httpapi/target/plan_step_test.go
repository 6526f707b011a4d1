package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A step replaces records of its kind, keeps the others, and is computed only if its effect is known.
func TestPlanStep(t *testing.T) {
	const zone = `example.com. 7200 SOA ns.example.com. h.example.com. 1 1 1 1 300
example.com. 86400 TXT "v=spf1 mx ?all"
example.com. 86400 TXT "google-site-verification=x"
example.com. 86400 TXT "ip4:192.0.2.9 -all"
example.com. 600 MX 10 mx.example.com.
example.com. 600 MX 20 mx2.example.com.
mx.example.com. A 192.0.2.1
_dmarc.example.com. 600 CNAME _dmarc.example.net.
_dmarc.example.net. 600 TXT "v=DMARC1; p=none"
_smtp._tls.example.com. 60 TXT "v=TLSRPTv1"
_smtp._tls.example.com. 60 TXT "v=TLSRPTv1; rua=mailto:x"`
	step := func(name, kind, value string) view.Step {
		return view.Step{Code: "spf.x", Name: name, Type: kind, Value: value, Text: "Do it.", Who: view.Zone}
	}
	long := "v=DKIM1; p=" + strings.Repeat("A", 300)
	for _, tt := range []struct {
		name    string
		step    view.Step
		zone    string // the lines
		update  string
		reason  string
		visible int64
	}{
		{"SPF beside others", step("example.com.", "TXT", "v=spf1 mx ~all"),
			"; removes example.com. TXT \"v=spf1 mx ?all\"\n; removes example.com. TXT \"ip4:192.0.2.9 -all\"\n" +
				"example.com. 3600 IN TXT \"google-site-verification=x\"\nexample.com. 3600 IN TXT \"v=spf1 mx ~all\"\n",
			"update delete example.com. TXT \"v=spf1 mx ?all\"\nupdate delete example.com. TXT \"ip4:192.0.2.9 -all\"\n" +
				"update add example.com. 3600 IN TXT \"v=spf1 mx ~all\"\nsend\n", "", 86400},
		{"another text", step("example.com.", "TXT", "verification=y"),
			"example.com. 3600 IN TXT \"v=spf1 mx ?all\"\nexample.com. 3600 IN TXT \"google-site-verification=x\"\n" +
				"example.com. 3600 IN TXT \"ip4:192.0.2.9 -all\"\nexample.com. 3600 IN TXT \"verification=y\"\n",
			"update add example.com. 3600 IN TXT \"verification=y\"\nsend\n", "", 86400},
		{"null MX", step("example.com.", "MX", "0 ."),
			"; removes example.com. MX 10 mx.example.com.\n; removes example.com. MX 20 mx2.example.com.\n" +
				"example.com. 3600 IN MX 0 .\n",
			"update delete example.com. MX 10 mx.example.com.\nupdate delete example.com. MX 20 mx2.example.com.\n" +
				"update add example.com. 3600 IN MX 0 .\nsend\n", "", 600},
		{"an alias goes", step("_dmarc.example.com.", "TXT", "v=DMARC1; p=none"),
			"; removes _dmarc.example.com. CNAME _dmarc.example.net.\n" +
				"_dmarc.example.com. 3600 IN TXT \"v=DMARC1; p=none\"\n",
			"update delete _dmarc.example.com. CNAME _dmarc.example.net.\n" +
				"update add _dmarc.example.com. 3600 IN TXT \"v=DMARC1; p=none\"\nsend\n", "", 600},
		{"one purpose, and one record stays", step("_smtp._tls.example.com.", "TXT", "v=TLSRPTv1; rua=mailto:x"),
			"; removes _smtp._tls.example.com. TXT \"v=TLSRPTv1\"\n" +
				"_smtp._tls.example.com. 3600 IN TXT \"v=TLSRPTv1; rua=mailto:x\"\n",
			"update delete _smtp._tls.example.com. TXT \"v=TLSRPTv1\"\n" +
				"update add _smtp._tls.example.com. 3600 IN TXT \"v=TLSRPTv1; rua=mailto:x\"\nsend\n", "", 60},
		{"a long text, where nothing is", step("s._domainkey.example.com.", "TXT", long),
			"s._domainkey.example.com. 3600 IN TXT \"" + long[:255] + "\" \"" + long[255:] + "\"\n",
			"update add s._domainkey.example.com. 3600 IN TXT \"" + long[:255] + "\" \"" + long[255:] + "\"\nsend\n", "", 300},
		{"lines of a zone", step("", "", "_25._tcp.mx.example.com. IN TLSA 3 1 1 AB\n"+
			"_25._tcp.mx.example.com. 60 IN TLSA 3 1 1 cd\n"),
			"_25._tcp.mx.example.com. 3600 IN TLSA 3 1 1 AB\n_25._tcp.mx.example.com. 3600 IN TLSA 3 1 1 cd\n",
			"update add _25._tcp.mx.example.com. 3600 IN TLSA 3 1 1 AB\n" +
				"update add _25._tcp.mx.example.com. 3600 IN TLSA 3 1 1 cd\nsend\n", "", 300},
		{"to be filled in", step("_smtp._tls.example.com.", "TXT", "v=TLSRPTv1; rua=mailto:YOUR-MAILBOX@example.com"),
			"; removes _smtp._tls.example.com. TXT \"v=TLSRPTv1\"\n" +
				"; removes _smtp._tls.example.com. TXT \"v=TLSRPTv1; rua=mailto:x\"\n" +
				"; _smtp._tls.example.com. 3600 IN TXT \"v=TLSRPTv1; rua=mailto:YOUR-MAILBOX@example.com\"\n",
			"; update delete _smtp._tls.example.com. TXT \"v=TLSRPTv1\"\n" +
				"; update delete _smtp._tls.example.com. TXT \"v=TLSRPTv1; rua=mailto:x\"\n" +
				"; update add _smtp._tls.example.com. 3600 IN TXT \"v=TLSRPTv1; rua=mailto:YOUR-MAILBOX@example.com\"\n" +
				"; send\n",
			"fill in YOUR-MAILBOX first", 60},
		{"words", view.Step{Code: "tls.x", Text: "Do it.", Who: view.WebServer}, "", "", "at the web server", 0},
		{"words of nobody", view.Step{Code: "x.y", Text: "Do it."}, "", "", "by the operator of what it is about", 0},
		{"a policy", step("https://mta-sts.example.com/.well-known/mta-sts.txt", "", "version: STSv1\nmode: testing\n"),
			"", "", "in the zone; only its owner knows which records are right", 0},
		{"no data of the type", step("example.com.", "MX", "mx.example.com"), "", "",
			"the value is no record of the DNS", 0},
		{"nobody answers", step("_dmarc.silent.example.", "TXT", "v=DMARC1; p=none"),
			"; _dmarc.silent.example. 3600 IN TXT \"v=DMARC1; p=none\"\n",
			"; update add _dmarc.silent.example. 3600 IN TXT \"v=DMARC1; p=none\"\n; send\n",
			"what _dmarc.silent.example. TXT holds now is not known", 0},
		{"after one by hand", view.Step{
			Code: "a.b", Text: "Do it.", After: "by.hand", Name: "_mta-sts.example.com.", Type: "TXT", Value: "v=STSv1; id=1"},
			"; _mta-sts.example.com. 3600 IN TXT \"v=STSv1; id=1\"\n",
			"; update add _mta-sts.example.com. 3600 IN TXT \"v=STSv1; id=1\"\n; send\n",
			"only after step 7, on which the effect depends", 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(zone)
			world.Silence("*.silent.example")
			env := world.Env().Cached()
			m := &planner{env: env, world: env.DNS(), whole: &Whole{Target: Target{Kind: Domain, Text: "example.com"}},
				sets: map[string]*Change{}, open: map[diag.Code]int{"by.hand": 7}}
			s := PlanStep{Number: 1, Step: tt.step}
			m.do(t.Context(), &s)
			assert.Equal(t, tt.reason, s.ByHand)
			assert.Equal(t, tt.reason == "", s.Result != nil)
			assert.Equal(t, tt.visible, s.Visible)
			p := &Plan{Domain: "example.com", Steps: []PlanStep{s}}
			for format, want := range map[PlanFormat]string{PlanZone: tt.zone, PlanNSUpdate: tt.update} {
				text, err := p.Format(format)
				require.NoError(t, err)
				assert.Contains(t, string(text), "; Do it.\n"+want, format)
				_, err = overlay.Parse(string(text), "", "")
				assert.True(t, err == nil || format != PlanZone, err)
			}
			if s.Result == nil {
				return
			}
			for _, c := range s.Changes { // and the DNS then returns this
				q := dnsmsg.Question(c.Name, dns.StringToType[c.Type], false)
				reply, err := m.resolver(m.sets).Exchange(t.Context(), q)
				require.NoError(t, err)
				assert.Len(t, reply.Answer, len(c.Lines))
			}
		})
	}
}

// A step that makes something worse warns, is in a comment, and is not built upon.
func TestPlanWorse(t *testing.T) {
	grave := diag.Finding{Code: "spf.a", Severity: diag.Error, Title: "A"}
	other := diag.Finding{Code: "spf.b", Severity: diag.Error, Title: "B"}
	slight := diag.Finding{Code: "mx.c", Severity: diag.Warning, Title: "C"}
	at := func(score int, list ...diag.Finding) Standing { return Standing{Score: &score, parts: list} }
	for _, tt := range []struct {
		name          string
		before, after Standing
		want          []string
	}{
		{"better", at(10, grave), at(20), nil},
		{"a warning", at(10), at(10, slight), nil},
		{"one in the place of another", at(10, grave), at(20, other), nil},
		{"another one", at(10, grave), at(20, grave, other), []string{"error: B"}},
		{"not of the same part", at(10, slight), at(20, grave), []string{"error: A"}},
		{"a lower score", at(20), at(10), []string{"the score falls from 20 to 10"}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, worse(tt.before, tt.after)) })
	}
	record, err := dns.NewRR(`example.com. 3600 IN TXT "x"`)
	require.NoError(t, err)
	s := PlanStep{Number: 1, Step: view.Step{Code: "spf.a", Text: "Do it."}, Worse: []string{"error: B"}, Changes: []Change{{
		Name: "example.com.", Type: "TXT", Lines: []string{"example.com. 3600 IN TXT \"x\""}, records: []dns.RR{record},
		Added: []string{"example.com. 3600 IN TXT \"x\""}}}}
	p := &Plan{Domain: "example.com", Steps: []PlanStep{s}}
	for _, format := range []PlanFormat{PlanZone, PlanNSUpdate} {
		text, err := p.Format(format)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			assert.Regexp(t, `^(;|\$ORIGIN|\n)`, line)
		}
	}
	var screen strings.Builder
	require.NoError(t, p.Text(&screen, render.Options{}))
	assert.Contains(t, screen.String(), "MAKES IT WORSE, do not publish it: error: B")
	text, err := p.Format(PlanJSON)
	require.NoError(t, err)
	assert.True(t, json.Valid(text))
	assert.Contains(t, string(text), `"worse": [`)
}
