package aggregate

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// Handling that differs from the policy is reported, with the receiver's reason if it gives one.
func TestHandling(t *testing.T) {
	const nobody, news = "198.51.100.9 40 %s fail fail example.com", "198.51.100.9 40 %s fail fail news.example.com"
	for _, tt := range []struct {
		name, policy, row, did, reason, want string
	}{
		{"rejected as asked", `<p>reject</p>`, nobody, "reject", "", ""},
		{"quarantined as asked", `<p>quarantine</p>`, nobody, "quarantine", "", ""},
		{"no policy", `<p>none</p>`, nobody, "none", "", ""},
		{"no policy that is known", ``, nobody, "none", "", ""},
		{"delivered despite reject", `<p>reject</p>`, nobody, "none", "", "(p=reject) to mail that failed DMARC: it delivered 40 messages"},
		{"delivered despite quarantine", `<p>quarantine</p>`, nobody, "none", "", "it delivered 40 messages"},
		{"quarantined despite reject", `<p>reject</p>`, nobody, "quarantine", "", "it only quarantined 40 messages"},
		{"rejected despite none", `<p>none</p>`, nobody, "reject", "", "it quarantined or rejected 40 messages"},
		{"rejected despite quarantine", `<p>quarantine</p>`, nobody, "reject", "", "it quarantined or rejected 40 messages"},
		{"a local policy", `<p>reject</p>`, nobody, "none", "local_policy", "to 40 messages that failed DMARC, and gives as reason: its local policy (local_policy) (40)."},
		{"a list", `<p>reject</p>`, nobody, "none", "mailing_list", "mailing list (mailing_list) (40)."},
		{"a forwarder", `<p>reject</p>`, nobody, "none", "trusted_forwarder", "trusted forwarder (trusted_forwarder) (40)."},
		{"a reason of its own", `<p>reject</p>`, nobody, "none", "mood", "and gives as reason: mood (40)."},
		{"part of the mail", `<p>reject</p><pct>50</pct>`, nobody, "none", "", ""},
		{"part of the mail, with the reason", `<p>reject</p><pct>50</pct>`, nobody, "none", "sampled_out", ""},
		{"all of the mail, with the reason", `<p>reject</p><pct>100</pct>`, nobody, "none", "sampled_out", "spared by pct (sampled_out) (40)."},
		{"a test of reject", `<p>reject</p><testing>y</testing>`, nobody, "quarantine", "", ""},
		{"a test of reject, not known", `<p>reject</p><testing>y</testing>`, nobody, "reject", "", ""},
		{"a test of reject, delivered", `<p>reject</p><testing>y</testing>`, nobody, "none", "", "it delivered 40 messages"},
		{"a test of quarantine", `<p>quarantine</p><testing>y</testing>`, nobody, "none", "policy_test_mode", ""},
		{"a subdomain without protection", `<p>reject</p><sp>none</sp>`, news, "none", "", ""},
		{"a subdomain", `<p>reject</p>`, news, "none", "", "it delivered 40 messages"},
		{"a subdomain that may not exist", `<p>reject</p><np>none</np>`, news, "none", "", ""},
		{"of somebody else", `<p>reject</p>`, "198.51.100.9 40 %s fail fail example.net", "none", "", ""},
		{"a value of its own", `<p>reject</p>`, nobody, "discarded", "", ""},
	} {
		var results []string
		if tt.reason != "" {
			results = []string{"reason " + tt.reason}
		}
		row := rowXML(strings.Replace(tt.row, "%s", tt.did, 1), append(results, "spf example.net softfail")...)
		var got string
		for _, f := range analyze(t, feedbackXML(tt.policy, own, row)).Findings {
			if f.Code == "dmarc.report.policy.unapplied" || f.Code == "dmarc.report.policy.overridden" {
				got += f.Detail
				require.Equal(t, diag.Info, f.Severity)
				require.Contains(t, f.Detail, "receiver.example did not apply the published policy", tt.name)
			}
		}
		require.Equal(t, tt.want == "", got == "", "%s: %s", tt.name, got)
		require.Contains(t, got, tt.want, tt.name)
	}
}

// Each receiver is named with its own messages, even if the policy follows the records.
func TestHandlingOfSeveral(t *testing.T) {
	failed := strings.Replace(spoofer, ">400<", ">7<", 1)
	a := dayXML("a.example", 0, `<domain>example.com</domain><p>reject</p>`, own, spoofer)
	b := dayXML("b.example", 0, `<domain>example.com</domain><p>reject</p>`, own, failed)
	c := dayXML("c.example", 0, `<domain>example.com</domain><p>none</p>`, own, failed)
	policy, rest, _ := strings.Cut(c[strings.Index(c, "<policy_published>"):], "</policy_published>")
	behind := c[:strings.Index(c, "<policy_published>")] + strings.Replace(rest, "</feedback>", policy+"</policy_published></feedback>", 1)
	for _, f := range analyze(t, a+b+behind).Findings {
		if f.Code == "dmarc.report.policy.unapplied" {
			require.Equal(t, "a.example did not apply the published policy (p=reject) to mail that failed DMARC: it delivered "+
				"400 messages, and gives no reason. b.example did not apply the published policy (p=reject) to mail that failed "+
				"DMARC: it delivered 7 messages, and gives no reason.", f.Detail)
			return
		}
	}
	t.Fatal("not told")
}
