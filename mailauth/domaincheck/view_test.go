package domaincheck

import (
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/stretchr/testify/require"
)

// What is the same for several receivers is stated once; unknown parts are not faults.
func TestView(t *testing.T) {
	r := &Report{Domain: diag.MustDomain("example.com"), Requirements: []Requirement{
		{Code: "google_bulk", Missing: []string{"DMARC"}}, {Code: "yahoo_bulk", Missing: []string{"DMARC"}},
		{Code: "microsoft_bulk", Met: new(true)}}}
	r.Verdict = diag.Verdict{State: diag.Warned, Headline: "Next step: DMARC policy is none",
		Findings:        []diag.Finding{{Code: "dmarc.policy.none", Severity: diag.Warning}},
		Recommendations: []diag.Recommendation{{Code: "dmarc.policy.none", SuggestedValue: "v=DMARC1; p=none"}}}
	r.Pillars.Sending.DKIM = []*compose.DKIMPart{nil, {Selector: "s1"}}
	r.Pillars.Sending.DKIM[1].State = diag.Unknown
	v := r.View()
	require.Equal(t, []view.Fact{{Label: "ready", Value: "not known"}, {Label: "sends mail", Value: "not known"},
		{Label: "bulk mail", Value: "not met for Google and Yahoo: DMARC"},
		{Label: "bulk mail", Value: "met for Microsoft, as far as can be seen"}}, v.Facts)
	require.Equal(t, "DMARC policy is none", v.Brief)
	require.Equal(t, "_dmarc.example.com.", v.Steps[0].Name)
	require.Len(t, v.Drawing.Rows, 1)
	require.Equal(t, view.Unknown, v.Drawing.Rows[0].Mark)
}

// A step names the record at fault, with the currently published text, at any level of detail.
func TestStepsNameRecords(t *testing.T) {
	for _, tt := range []struct {
		code    diag.Code
		edits   edits
		name    string
		kind    string
		current int
	}{
		{"spf.record.multiple", edits{"spf": "example.com. TXT \"v=spf1 mx -all\"\nexample.com. TXT \"v=spf1 a -all\""}, "example.com.", "TXT", 2},
		{"dmarc.record.missing", edits{"dmarc": ""}, "_dmarc.example.com.", "TXT", 0},
		{"dkim.key.revoked", edits{"dkim": `default._domainkey.example.com. TXT "v=DKIM1; p="`}, "default._domainkey.example.com.", "TXT", 1},
		{"mtasts.record.id.invalid", edits{"sts": `_mta-sts.example.com. TXT "v=STSv1; id=a-b"`}, "_mta-sts.example.com.", "TXT", 1},
		{"mx.hosts.unreachable", edits{"mx": "example.com. MX 10 gone.example.com."}, "example.com.", "MX", 1},
	} {
		r := run(t, tt.edits.world(t), example)
		i := slices.IndexFunc(r.Steps, func(s view.Step) bool { return s.Code == tt.code })
		require.GreaterOrEqual(t, i, 0, "%s: %v", tt.code, r.Steps)
		s := r.Steps[i]
		require.Equal(t, []any{tt.name, tt.kind, tt.current}, []any{s.Name, s.Type, len(s.Current)}, tt.code)
	}
}
