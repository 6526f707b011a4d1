package dmarc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/stretchr/testify/require"
)

// The first fact states the policy that receivers apply, whatever the record requests.
func TestPolicyFact(t *testing.T) {
	for record, want := range map[string]string{
		"v=DMARC1; p=reject":                          "p=reject",
		"v=DMARC1; p=none":                            "p=none, no protection",
		"v=DMARC1; p=reject; t=y":                     "p=reject, only tested, applied: quarantine",
		"v=DMARC1; p=quarantine; pct=20":              "p=quarantine for 20% of the mail",
		"v=DMARC1; p=rejct; rua=mailto:a@example.com": "not valid, receivers assume none",
	} {
		r, err := Validate(ValidateRequest{Record: record})
		require.NoError(t, err)
		v := r.View()
		require.Equal(t, "policy", v.Facts[1].Label)
		require.Equal(t, want, v.Facts[1].Value, record)
	}
}

// Without a record there are no facts about one, and nothing panics.
func TestViewWithoutRecord(t *testing.T) {
	w := diagtest.NewWorld(t)
	r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: diag.MustDomain("gone.example")})
	require.NoError(t, err)
	require.Empty(t, r.View().Facts)
	require.Equal(t, r.Headline, r.View().Brief)
	require.NotPanics(t, func() { new(LookupReport).View(); new(GenerateReport).View(); new(Analysis).View() })
}

// The headline counts the steps that are listed: what others have to do first, then the records in their order.
func TestViewOfGeneratedCountsItsSteps(t *testing.T) {
	domain := diag.MustDomain("example.com")
	for _, tt := range []struct {
		req   GenerateRequest
		n     int
		first string
	}{
		{GenerateRequest{Policy: policy.Reject, Domain: domain}, 5, "Add an address for aggregate reports"},
		{GenerateRequest{Policy: policy.Reject, Domain: domain, AggregateReports: []string{"d@example.com"}}, 4, "Publish p=none"},
		{GenerateRequest{Policy: policy.Quarantine, Domain: domain, AggregateReports: []string{"d@example.net"}}, 4, "Have the owner"},
		{GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: []string{"d@example.com"}}, 1, "Publish p=none"},
	} {
		r, err := Generate(tt.req)
		require.NoError(t, err)
		v := r.View()
		require.Len(t, v.Steps, tt.n)
		require.Contains(t, v.Steps[0].Text, tt.first)
		require.Equal(t, r.Record, v.Steps[tt.n-1].Value)
		require.Equal(t, tt.n > 1, strings.Contains(v.Headline, fmt.Sprintf("in %d steps", tt.n)))
		for _, s := range r.Rollout[:len(r.Rollout)-1] {
			require.Contains(t, s.Goal, "Continue if ")
		}
	}
}
