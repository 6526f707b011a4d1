//go:build !race

package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// signedZone is a domain with mail and web that is well but for how it is signed.
const signedZone = `
signed.example. 3600 IN SOA ns1.signed.example. hostmaster.signed.example. 2026110101 7200 3600 1209600 300
signed.example. 3600 IN NS ns1.signed.example.
signed.example. 3600 IN NS ns2.signed.example.
ns1.signed.example. 3600 IN A 192.0.2.53
ns2.signed.example. 3600 IN A 198.51.100.53
signed.example. 3600 IN A 192.0.2.80
signed.example. 3600 IN MX 10 mx1.signed.example.
mx1.signed.example. 3600 IN A 192.0.2.25
signed.example. 3600 IN TXT "v=spf1 mx -all"
_dmarc.signed.example. 3600 IN TXT "v=DMARC1\; p=reject\; rua=mailto:dmarc@signed.example"
_25._tcp.mx1.signed.example. 3600 IN TLSA 3 1 1 ` + "0000000000000000000000000000000000000000000000000000000000000000" + "\n"

// signedCases returns generated worlds: each way to sign a zone wrongly, whole and for the keys alone, with the
// operations that examine signatures.
func signedCases() (list []drillCase) {
	for _, fault := range []diagtest.SigningFault{
		"", diagtest.SigExpired, diagtest.SigNotYetValid, diagtest.SigCorrupt, diagtest.SigUnknownKey, diagtest.SigWrongSigner,
		diagtest.SigZoneKey, diagtest.SigMissing, diagtest.DenialMissing, diagtest.DSMismatch, diagtest.DSUnknown,
	} {
		for _, rrtype := range []uint16{0, dns.TypeDNSKEY} {
			build := func(t testing.TB) *diagtest.World {
				w := diagtest.NewWorld(t)
				w.SetTime(scenarioStart)
				w.Zone(signedZone)
				w.ServeZones()
				signing := diagtest.Signing{}
				if fault != "" {
					signing.Broken = []diagtest.Broken{{Fault: fault, Type: rrtype}}
				}
				w.Sign("signed.example.", signing)
				return w
			}
			for _, name := range []string{"dnssec/check", "domain/dns-check", "dane/lookup", "mail/domain-check"} {
				ep := endpointNamed(name)
				list = append(list, drillCase{
					name:  fmt.Sprintf("signed with %q for %d by %s", fault, rrtype, name),
					other: build, ep: ep, request: requestAbout(ep, "signed.example"),
				})
			}
		}
	}
	return list
}

// TestDrillSigned checks replies about signed zones like all others, and that suggested DS records are of keys that
// stay: one of a key that signs the zone and not the keys breaks the domain with the next rollover.
func TestDrillSigned(t *testing.T) {
	asked, suggested := 0, 0
	forEach(t, signedCases(), func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			n, faults := r.silence(maxSilenced / 2)
			reply := r.ask()
			faults = append(faults, reply.contradictions()...)
			values := 0
			for _, value := range reply.suggested() {
				if _, text, ok := strings.Cut(value, " DS "); ok {
					values++
					if !r.keyStays(text) {
						faults = append(faults, fmt.Sprintf("suggests the DS %q, of no key that signs the keys", value))
					}
				}
			}
			found.Lock()
			asked, suggested = asked+n, suggested+values
			found.Unlock()
			for _, f := range faults {
				t.Error(f)
			}
		})
	})
	require.NotZero(t, asked)
	t.Logf("silenced questions: %d, DS records suggested: %d", asked, suggested)
}

// keyStays reports whether a DS record is that of a secure entry point of the zone.
func (r *drillRun) keyStays(text string) bool {
	rr, err := dns.NewRR("signed.example. 3600 IN DS " + text)
	require.NoError(r.t, err)
	ds := rr.(*dns.DS)
	for _, key := range r.world.DNSKEY("signed.example.") {
		if made := key.ToDS(ds.DigestType); made != nil && strings.EqualFold(made.Digest, ds.Digest) {
			return key.Flags&dns.SEP != 0
		}
	}
	return false
}
