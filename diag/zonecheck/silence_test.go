package zonecheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofServers are the rules that servers break by what they leave unanswered.
var ofServers = []string{"zone.delegation.lame", "zone.delegation.unreachable", "zone.ns.lame", "zone.ns.unreachable"}

// Whatever question goes unanswered, whoever is asked: nothing is found, praised or suggested for it.
func TestSilence(t *testing.T) {
	few := []string{"signed with NSEC3", "wrong DS", "keys signed by the other key", "island", "not authoritative", "upward referral"}
	if testing.Short() {
		few = few[2:]
	}
	for _, tt := range slices.Concat(keyScenes(), serverScenes()) {
		if !slices.Contains(few, tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stage{World: diagtest.NewWorld(t)}
				s.env = s.World.Env()
				tt.setup(s)
				before := s.audit(t)
				asked := map[string]diagtest.Query{}
				for _, q := range s.Queries() {
					asked[fmt.Sprint(q.Name, q.Type)] = q
				}
				for _, q := range asked {
					for _, fault := range []diagtest.Fault{{Rcode: dns.RcodeServerFailure}, {Silent: true}} {
						s.FaultEverywhere(q.Name, q.Type, fault)
						compare(t, fmt.Sprint(q.Name, " ", dns.Type(q.Type), " ", fault.Silent), before, s.audit(t))
						s.FaultEverywhere(q.Name, q.Type, diagtest.Fault{})
					}
				}
			})
		})
	}
}

func (s *stage) audit(t *testing.T) *Report {
	r, err := Check(t.Context(), s.env, request)
	require.NoError(t, err)
	return r
}

func compare(t *testing.T, question string, before, after *Report) {
	had := diagtest.Codes(before.Verdict)
	for _, f := range after.Findings {
		ignorance := slices.ContainsFunc(rules().Describe(), func(r diag.RuleInfo) bool {
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

// What nobody said is no fault of the domain.
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
		require.Equal(t, informed, r.Checks[i].Status)
		require.NotEmpty(t, r.Checks[i].Message)
		require.NotContains(t, diagtest.Codes(r.Verdict), tt.want)
		require.Equal(t, 100, *r.Score, tt.want)
	}
}
