package zonecheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofServers are the rules that servers break by what they leave unanswered.
var ofServers = []string{"zone.delegation.lame", "zone.delegation.unreachable", "zone.ns.lame", "zone.ns.unreachable",
	"zone.ns.aaaa.failing", "zone.answers.servfail"}

func (s *stage) audit(t *testing.T) *Report {
	r, err := Check(t.Context(), s.env, request)
	require.NoError(t, err)
	return r
}

func compare(t *testing.T, question string, before, after *Report) {
	had := diagtest.Codes(before.Verdict)
	for _, f := range after.Findings {
		ignorance := slices.ContainsFunc(rules().Describe(), func(r rule.Description) bool {
			return r.Code == f.Code && r.State == diag.Unknown
		})
		assert.True(t, f.Severity < diag.Warning || ignorance || slices.Contains(had, f.Code) ||
			slices.Contains(ofServers, string(f.Code)), "%s: %s: %s", question, f.Code, f.Detail)
	}
	for _, c := range after.Passed {
		assert.Contains(t, before.Passed, c, question)
	}
	for _, r := range after.Recommendations {
		assert.True(t, r.SuggestedValue == "" || slices.ContainsFunc(before.Recommendations, func(b diag.Recommendation) bool {
			return b.SuggestedValue == r.SuggestedValue
		}), "%s: %s suggests %s", question, r.Code, strings.TrimSpace(r.SuggestedValue))
	}
	if after.Score != nil && before.Score != nil {
		assert.LessOrEqual(t, *after.Score, max(89, *before.Score), question)
	}
}

// A missing answer is not a fault of the domain.
func TestIgnoranceIsNoError(t *testing.T) {
	for _, r := range rules().Describe() {
		if r.State == diag.Unknown && r.Severity > diag.Warning {
			t.Errorf("%s is of severity %s", r.Code, r.Severity)
		}
	}
}

// Facts are checks of status info, and no findings.
func TestFacts(t *testing.T) {
	for _, tt := range []struct {
		setup func(*stage)
		want  diag.Code
	}{
		{configured(func(c *diagtest.ServerConfig) { c.Version = "named 9.18" }), "zone.ns.version"},
		{configured(func(c *diagtest.ServerConfig) { c.NSID = "ams1" }), "zone.ns.nsid"},
		{zoned(drop("MX")), "zone.mx.missing"},
		{zoned(swap("MX 10 mx.example.com.", "MX 0 .")), "zone.mx.null"},
		{zoned(drop("TXT")), "zone.spf.missing"},
		{sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{Salt: "aabb", OptOut: true}}), "zone.dnssec.nsec3.salt"},
	} {
		r := play(t, tt.setup)
		i := slices.IndexFunc(r.Checks, func(c RuleResult) bool { return c.Code == tt.want })
		require.GreaterOrEqual(t, i, 0, tt.want)
		require.Equal(t, Informed, r.Checks[i].Status)
		require.NotEmpty(t, r.Checks[i].Message)
		require.NotContains(t, diagtest.Codes(r.Verdict), tt.want)
		require.Equal(t, 100, *r.Score, tt.want)
	}
}
