package domaincheck

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/stretchr/testify/require"
)

// What is the same for several receivers is said once; parts that are not known are no faults.
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
