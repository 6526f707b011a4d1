//go:build !race || nightly

package zonecheck

// The race detector makes these many times slower, and other tests race all that runs concurrently in them.

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

// Any unanswered query at any server leads to no finding, praise or suggestion.
func TestSilence(t *testing.T) {
	few := []string{"signed with NSEC3", "wrong DS", "keys signed by the other key", "island", "not authoritative", "upward referral"}
	if !diagtest.Whole() {
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
