package domaincheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Behavior of the mail servers, in addition to the records.
func TestMailServers(t *testing.T) {
	req := example
	req.IncludeSMTP = true
	testing := strings.Replace(policyText, "enforce", "testing", 1)
	smtp := func(s diagtest.SMTP) func(*diagtest.World) {
		return func(w *diagtest.World) { s.Host = "mx1.example.com"; w.SMTP(s) }
	}
	closed := map[string]string{"RCPT": "550 5.7.1 relay denied"}
	for _, tt := range []struct {
		name     string
		edits    edits
		server   diagtest.SMTP
		headline string
		state    diag.State
		grave    []diag.Code
	}{
		{"good", nil, diagtest.SMTP{}, "Next step for DANE: no TLSA records for the mail servers", diag.Warned, []diag.Code{"dane.tlsa.missing"}},
		{"untrusted certificate under an enforced policy", nil, diagtest.SMTP{Cert: diagtest.CertUnknownAuthority},
			"Fix MTA-STS first: certificate of a mail server is not trusted", diag.Bad, []diag.Code{"mtasts.mx.certificate.untrusted", "dane.tlsa.missing"}},
		{"wrong name under an enforced policy", nil, diagtest.SMTP{Cert: diagtest.CertWrongName},
			"MTA-STS: certificate does not cover the name of a mail server", diag.Bad, []diag.Code{"mtasts.mx.certificate.name", "dane.tlsa.missing"}},
		{"no STARTTLS under an enforced policy", nil, diagtest.SMTP{NoStartTLS: true},
			"MTA-STS: mail server offers no STARTTLS, which the policy enforces", diag.Bad, []diag.Code{"mtasts.mx.starttls", "dane.tlsa.missing"}},
		{"untrusted certificate under a policy that is tested", edits{"policy": testing}, diagtest.SMTP{Cert: diagtest.CertUnknownAuthority},
			"", diag.Warned, []diag.Code{"mtasts.policy.mode.testing", "dane.tlsa.missing", "smtp.certificate.incomplete"}},
	} {
		t.Run(tt.name, func(t *T) {
			tt.server.Replies = closed
			e := edits{"tlsa": "", "signed": "root"}
			for k, v := range tt.edits {
				e[k] = v
			}
			w := e.world(t, smtp(tt.server))
			w.SMTP(diagtest.SMTP{Host: "mx2.example.com", Replies: closed})
			r := run(t, w, req)
			if tt.headline != "" {
				assert.Equal(t, tt.headline, r.Headline)
			}
			assert.Equal(t, tt.state, r.State)
			assert.Equal(t, append([]diag.Code{}, tt.grave...), grave(r))
			consistent(t, r)
			for _, one := range r.Recommendations {
				if one.Code == "mtasts.policy.mode.testing" {
					assert.True(t, strings.HasPrefix(one.Detail, "Fix SMTP first."), one.Detail)
					assert.Empty(t, one.SuggestedValue)
				}
			}
		})
	}
}

// T is the type of tests, where a variable has its package's name.
type T = testing.T

// variants are alternatives for each part, keyed by the subject of the good domain's lines.
var variants = map[string][]string{
	"mx":     {"", "example.com. MX 0 .", "example.com. MX 10 gone.example.com.", "example.com. MX 10 mx1.example.com.\nexample.com. MX 0 ."},
	"host":   {"", "mx1.example.com. A 10.0.0.1\nmx2.example.com. A 198.51.100.25", "mx1.example.com. CNAME mx2.example.com.\nmx2.example.com. A 198.51.100.25"},
	"ptr":    {"", "25.2.0.192.in-addr.arpa. PTR other.example.com."},
	"spf":    {"", `example.com. TXT "v=spf1 -all"`, `example.com. TXT "v=spf1 ip4:192.0.2.25 +all"`, `example.com. TXT "v=spf1 ip4:192.0.2.25"`, `example.com. TXT "v=spf1 ip4:192.0.2.25 ?all"`, `example.com. TXT "v=spf1 ip4:192.0.2.25, -all"`, "example.com. TXT \"v=spf1 ip4:192.0.2.25 -all\"\nexample.com. TXT \"v=spf1 mx -all\""},
	"dkim":   {"", `default._domainkey.example.com. TXT "v=DKIM1; p="`, `default._domainkey.example.com. TXT ` + key1024, `default._domainkey.example.com. CNAME gone.example.net.`, `x._domainkey.example.com. TXT ` + key2048, `*._domainkey.example.com. TXT ` + key2048},
	"dmarc":  {"", `_dmarc.example.com. TXT "v=DMARC1; p=none"`, `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`, `_dmarc.example.com. TXT "v=DMARC1 p=reject; rua=mailto:a@example.com"`, `_dmarc.example.com. TXT "v=DMARC1; p=quarantine; pct=20; t=y; rua=mailto:a@example.com"`, `example.com. TXT "v=DMARC1; p=reject"`},
	"sts":    {"", `_mta-sts.example.com. TXT "v=STSv1; id=a-b"`, `_mta-sts.example.com. TXT "v=STSv2; id=1"`},
	"tlsrpt": {"", `_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=tls@example.com"`, `_smtp._tls.example.com. TXT "v=TLSRPTv1;"`},
	"policy": {"", "version: STSv1\nmode: testing\nmx: mx1.example.com\nmax_age: 86400\n", "version: STSv1\nmode: enforce\nmx: gone.example.com\nmax_age: 604800\n", "<html>"},
	"more":   {`default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/l.svg"`, `s1._domainkey.example.com. TXT "v=DKIM1; p="`, `*.example.com. TXT "v=spf1 -all"`},
	"signed": {"no"},
}

var broken = []string{"_dmarc.example.com", "_mta-sts.example.com", "_smtp._tls.example.com", "*._domainkey.example.com",
	"mx1.example.com", "*.example.com", "25.2.0.192.in-addr.arpa", "default._bimi.example.com"}

// harmless checks what the reply suggests to publish.
func harmless(t *testing.T, e edits, r *Report) {
	t.Helper()
	kinds := map[string]string{}
	for _, one := range r.Recommendations {
		value := one.SuggestedValue
		if value == "" {
			continue
		}
		kind, _, _ := strings.Cut(strings.ToLower(value), " ")
		kind = strings.Trim(kind, ";")
		if kind != "v=dkim1" {
			require.Empty(t, kinds[kind], "two values for one record: %q and %q", kinds[kind], value)
		}
		kinds[kind] = value
		switch kind {
		case "v=spf1":
			v, err := spf.Validate(spf.ValidateRequest{Record: value})
			require.NoError(t, err)
			noError(t, value, v.Findings)
			if strings.Contains(e.zone(), `v=spf1 ip4:192.0.2.25`) {
				require.Contains(t, value, "ip4:192.0.2.25", "a sender is lost")
			}
		case "v=dmarc1":
			v, err := dmarc.Validate(dmarc.ValidateRequest{Record: value, Domain: r.Domain})
			require.NoError(t, err)
			noError(t, value, v.Findings)
			if v.Policy != "none" {
				require.False(t, r.Pillars.Sending.SPF.Fails(), "enforcement while SPF fails: %s", value)
			}
		case "v=dkim1":
			v, err := dkim.Validate(dkim.ValidateRequest{Record: value})
			require.NoError(t, err)
			noError(t, value, v.Findings)
		case "version:":
			require.NotContains(t, value, "gone.example.com", "a policy with a host that does not exist")
		}
	}
}

func noError(t *testing.T, value string, findings []diag.Finding) {
	t.Helper()
	for _, f := range findings {
		require.Less(t, f.Severity, diag.Error, fmt.Sprintf("%s: %s", value, f.Code))
	}
}
