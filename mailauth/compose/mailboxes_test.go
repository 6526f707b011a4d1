package compose

import (
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// The mailbox provider is reported if, and only if, its mail is certainly not covered.
func TestMailboxes(t *testing.T) {
	const services = `_spf.google.com. TXT "v=spf1 ip4:192.0.2.0/24 -all"
spf.protection.outlook.com. TXT "v=spf1 ip4:198.51.100.0/24 -all"
_spf.example.com. TXT "v=spf1 ip4:198.51.100.0/24 -all"
`
	const google = `google._domainkey.example.com. TXT ` + keyText + "\n"
	microsoft := []string{"example-com.mail.protection.outlook.com"}
	var seen diagtest.Seen
	for _, tt := range []struct {
		name, spf, zone string
		hosts           []string
		asked           []diag.Selector
		servfail        string
		want            bool
	}{
		{name: "Microsoft 365, and all of Google", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft, want: true},
		{name: "and an own host", spf: "v=spf1 a ip4:203.0.113.7 include:_spf.google.com ~all", hosts: microsoft, want: true},
		{name: "and a new host of the service", spf: "v=spf1 include:_spf.google.com -all", hosts: []string{"example-com.x-v1.mx.microsoft"},
			want: true},
		{name: "all of Google", spf: "v=spf1 include:_spf.google.com -all", hosts: []string{"aspmx.l.google.com", "alt1.aspmx.l.google.com"}},
		{name: "SPF lists both", spf: "v=spf1 include:_spf.google.com include:spf.protection.outlook.com -all", hosts: microsoft},
		{name: "a key of Microsoft 365", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft,
			zone: `selector1._domainkey.example.com. TXT ` + keyText},
		{name: "an alias of Microsoft 365 without a key", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft,
			zone: "selector2._domainkey.example.com. CNAME x.onmicrosoft.com."},
		{name: "a gateway", spf: "v=spf1 include:_spf.google.com -all", hosts: []string{"mxa-00000000.gslb.pphosted.com"}},
		{name: "an own mail server", spf: "v=spf1 include:_spf.google.com -all", hosts: []string{"mx.example.com"}},
		{name: "two services", spf: "v=spf1 include:_spf.google.com -all", hosts: append(microsoft, "aspmx.l.google.com")},
		{name: "no mail is received", spf: "v=spf1 include:_spf.google.com -all"},
		{name: "no mail is sent", spf: "v=spf1 -all", hosts: microsoft},
		{name: "everybody may send", spf: "v=spf1 +all", hosts: microsoft},
		{name: "mx", spf: "v=spf1 mx include:_spf.google.com -all", hosts: microsoft, zone: "example.com. MX 10 mx.example.com."},
		{name: "macro", spf: "v=spf1 exists:%{i}.example.com include:_spf.google.com -all", hosts: microsoft},
		{name: "large network", spf: "v=spf1 ip4:198.51.0.0/16 include:_spf.google.com -all", hosts: microsoft},
		{name: "own include", spf: "v=spf1 include:_spf.example.com -all", hosts: microsoft},
		{name: "redirect", spf: "v=spf1 redirect=_spf.example.com", hosts: microsoft},
		{name: "broken record", spf: "v=spf1 include:_spf.google.com moo -all", hosts: microsoft},
		{name: "no record", hosts: microsoft},
		{name: "selectors of the caller", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft,
			asked: []diag.Selector{diag.MustSelector("google")}},
		{name: "selector not answered", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft,
			servfail: "selector1._domainkey.example.com"},
		{name: "wildcard key", spf: "v=spf1 include:_spf.google.com -all", hosts: microsoft, zone: "*._domainkey.example.com. TXT " + keyText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(services + google + "example.com. A 203.0.113.5\n" + tt.zone)
			if tt.spf != "" {
				w.Zone(`example.com. TXT "` + tt.spf + `"`)
			}
			if tt.servfail != "" {
				w.Break(tt.servfail, dns.RcodeServerFailure)
			}
			run := Start(t.Context(), w.Env())
			d := AskDomain(run, domain, diag.IP{}, tt.asked)
			run.Wait()
			d.Conclude()
			d.CheckMailboxes(tt.hosts)
			i := slices.IndexFunc(d.SPF.Findings, func(f diag.Finding) bool { return f.Code == "check.spf.mailboxes" })
			require.Equal(t, tt.want, i >= 0, "%+v", d.SPF.Findings)
			if tt.want {
				require.Contains(t, d.SPF.Findings[i].Advice, "include:spf.protection.outlook.com")
			}
		})
	}
	for _, e := range []*mailboxEvidence{{listed: true}, {service: provider.ByMX("x.mx.microsoft")}} {
		seen.Add(mailboxRules.Judge(e, senderTexts))
	}
	diagtest.CoverRules(t, mailboxRules, seen)
	for _, s := range provider.Services() {
		for _, name := range s.Selectors {
			require.Contains(t, dkim.CommonSelectors(), diag.MustSelector(name), "it is tried")
		}
	}
}
