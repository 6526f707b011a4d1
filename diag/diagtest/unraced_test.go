//go:build !race || nightly

package diagtest_test

// The race detector makes these many times slower, and other tests race all that runs concurrently in them.

import (
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// Whatever a signed zone holds and is asked, the answer of the world is proved if the world vouches
// for it.
func TestWhatTheWorldVouchesForIsProved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world, err := diagtest.New(diagtest.Config{Zone: drawZone(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer world.Close()
		var nsec3 *diagtest.NSEC3
		if rapid.Bool().Draw(t, "hashed") {
			nsec3 = &diagtest.NSEC3{OptOut: rapid.Bool().Draw(t, "opt-out")}
		}
		world.Sign("example.com", diagtest.Signing{NSEC3: nsec3, Algorithm: dns.ED25519})
		v := &validator{resolver: world, anchors: world.Anchors(), now: world.Now()}
		for range 5 {
			name := drawName(t, "question", false)
			qtype := rapid.SampledFrom([]uint16{dns.TypeA, dns.TypeTXT, dns.TypeDS}).Draw(t, "type")
			m, err := world.Exchange(t.Context(), dnsmsg.Question(name, qtype, true))
			if err != nil {
				t.Fatal(err)
			}
			if !m.AuthenticatedData {
				continue // below an insecure delegation
			}
			if err := v.validate(t.Context(), name, qtype); err != nil {
				t.Fatalf("%s %s: %v\n%v", name, dns.TypeToString[qtype], err, m)
			}
		}
	})
}

func TestSignedZonesValidate(t *testing.T) {
	algorithms := []uint8{dns.RSASHA256, dns.ECDSAP256SHA256, dns.ED25519}
	if testing.Short() {
		algorithms = algorithms[1:]
	}
	denials := map[string]*diagtest.NSEC3{
		"NSEC": nil, "NSEC3": {}, "NSEC3 with salt": {Salt: "c0ffee", Iterations: 3}, "opt-out": {OptOut: true},
	}
	for _, algorithm := range algorithms {
		for name, nsec3 := range denials {
			for _, oneKey := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/one key %t", dns.AlgorithmToString[algorithm], name, oneKey), func(t *testing.T) {
					world := diagtest.NewWorld(t)
					world.Zone(signedZone)
					world.Sign("example.com", diagtest.Signing{Algorithm: algorithm, NSEC3: nsec3, OneKey: oneKey})
					checkQuestions(t, world, world)
				})
			}
		}
	}
}
