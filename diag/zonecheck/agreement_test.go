package zonecheck_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/zonecheck"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const sharedZone = `
example.com.      3600 SOA ns1.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600
example.com.      3600 NS  ns1.example.com.
example.com.      3600 NS  ns2.example.com.
ns1.example.com.  3600 A   192.0.2.53
ns2.example.com.  3600 A   198.51.100.53
example.com.      3600 A   203.0.113.80
example.com.      3600 MX  10 mx.example.com.
mx.example.com.   3600 A   203.0.113.25
example.com.      3600 TXT "v=spf1 mx -all"
www.example.com.  3600 A   203.0.113.80
`

// sharedQuestions are those whose answers both diagnostics see.
var sharedQuestions = []struct {
	name   string
	rrtype uint16
}{
	{"example.com", dns.TypeSOA}, {"example.com", dns.TypeNS}, {"example.com", dns.TypeMX},
	{"example.com", dns.TypeAAAA}, {"www.example.com", dns.TypeA},
}

// anySigning draws a way to sign a zone, with up to two faults.
func anySigning(r *rand.Rand, now time.Time) diagtest.Signing {
	type algorithm struct {
		number uint8
		bits   int
	}
	pick := []algorithm{{8, 512}, {8, 768}, {8, 1024}, {8, 2048}, {13, 0}, {15, 0}, {16, 0}}[r.IntN(7)]
	s := diagtest.Signing{Algorithm: pick.number, Bits: pick.bits, OneKey: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		s.NSEC3 = &diagtest.NSEC3{Iterations: []uint16{0, 10, 120, 150, 151}[r.IntN(5)], OptOut: r.IntN(4) == 0}
	}
	if r.IntN(3) == 0 {
		s.Inception = now.AddDate(0, 0, -30)
		s.Expiration = now.Add(time.Duration(r.IntN(100)-10) * time.Hour)
	}
	faults := []diagtest.SigningFault{diagtest.SigExpired, diagtest.SigNotYetValid, diagtest.SigCorrupt,
		diagtest.SigUnknownKey, diagtest.SigWrongSigner, diagtest.SigMissing, diagtest.DenialMissing}
	types := []uint16{0, dns.TypeSOA, dns.TypeNS, dns.TypeMX, dns.TypeA, dns.TypeDNSKEY, dns.TypeNSEC}
	for range r.IntN(3) {
		s.Broken = append(s.Broken, diagtest.Broken{
			Fault: faults[r.IntN(len(faults))], Type: types[r.IntN(len(types))], Beside: r.IntN(2) == 0,
		})
	}
	return s
}

// Validation and the audit never disagree about a signature, or a proof, that both have seen.
func TestAgreement(t *testing.T) {
	worlds := 80
	if testing.Short() {
		worlds = 20
	}
	agreed := map[string]int{}
	for seed := range uint64(worlds) {
		synctest.Test(t, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(sharedZone)
			s := anySigning(rand.New(rand.NewPCG(seed, 0)), w.Now())
			w.Sign("example.com", s)
			w.ServeZones()
			compareVerdicts(t, w.Env(), fmt.Sprintf("seed %d, %+v", seed, s), agreed)
		})
	}
	t.Log(agreed)
	require.Greater(t, agreed["right"], 0)
	require.Greater(t, agreed["wrong"], 0)
}

// Where the DS record is right and the wrong key signs the DNSKEY set, both report that, and neither suggests
// another DS record: it would fail with the next rollover of the zone signing key.
func TestKeysSignedWithZoneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(sharedZone)
		w.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{
			{Fault: diagtest.SigZoneKey, Name: "example.com", Type: dns.TypeDNSKEY},
		}})
		w.ServeZones()
		audit, err := zonecheck.Check(t.Context(), w.Env(), zonecheck.Request{Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
		chain, err := dnssec.Check(t.Context(), w.Env(), dnssec.Request{Domain: diag.MustName("example.com")})
		require.NoError(t, err)
		require.Equal(t, diag.Code("zone.dnssec.dnskey.signer"), audit.Findings[0].Code)
		require.Equal(t, []diag.Code{"dnssec.dnskey.signer"}, diagtest.CodesOf(chain.Findings))
		require.Equal(t, chain.Findings[0].Title, audit.Headline)
		require.Equal(t, chain.Findings[0].Title, chain.Headline)
		require.Equal(t, dnssec.SignKeys, audit.Findings[0].Advice)
		for _, r := range slices.Concat(audit.Recommendations, chain.Recommendations) {
			require.Empty(t, r.SuggestedValue, r.Code)
		}
	})
}

// compareVerdicts runs both, and compares their verdicts on each record set.
func compareVerdicts(t *testing.T, env *diag.Env, world string, agreed map[string]int) {
	noted := map[string]bool{}
	for _, text := range zonecheck.Notices(t, env, diag.MustDomain("example.com")) {
		noted[strings.TrimSuffix(text, ".")] = true
	}
	said, reached := map[string]bool{}, true
	for _, q := range sharedQuestions {
		r, err := dnssec.Check(t.Context(), env, dnssec.Request{
			Domain: diag.MustName(q.name), Type: resolve.Type(q.rrtype),
		})
		require.NoError(t, err)
		require.NotEqual(t, diag.Indeterminate, r.Status, "%s: %+v", world, r.FirstFailure)
		reached = reached && keysHold(r)
		if r.FirstFailure.Zone == "example.com" && ofSignature(r.FirstFailure.Message) {
			said[r.FirstFailure.Message] = true
		}
		for _, z := range r.Chain {
			for _, s := range z.Signatures {
				if within(s.Owner) && s.TypeCovered != "DS" && s.Error != "" && s.Code != "dnssec.signature.unsupported" {
					said[s.Error] = true
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(said)) {
		if strings.Contains(text, "key") && strings.Contains(text, "among those of the zone that may sign") && !noted[text] {
			continue // beside a valid signature, a key that is not there yet is no fault (RFC 6781 section 4.1.4)
		}
		require.True(t, noted[text], "%s\nvalidation says %q; the audit %q", world, text, slices.Sorted(maps.Keys(noted)))
		agreed["wrong"]++
	}
	for _, text := range slices.Sorted(maps.Keys(noted)) {
		if reached && concerns(text) {
			require.True(t, said[text], "%s\nthe audit says %q; validation %q", world, text, slices.Sorted(maps.Keys(said)))
		}
	}
	if len(said) == 0 {
		agreed["right"]++
	}
}

// keysHold reports whether the chain of trust reaches the keys of the zone.
func keysHold(r *dnssec.Report) bool {
	return slices.ContainsFunc(r.Chain, func(z dnssec.Zone) bool {
		return z.Zone == "example.com" && z.Status == diag.Secure
	})
}

func within(owner string) bool {
	return owner == "example.com" || strings.HasSuffix(owner, ".example.com")
}

func ofSignature(text string) bool {
	return strings.HasPrefix(text, "The signature over ") || strings.HasPrefix(text, "There is no signature over ")
}

// concerns reports whether a fault, which is no matter of time, is one of those sets that both have seen.
func concerns(text string) bool {
	if !ofSignature(text) || strings.Contains(text, " expires on ") {
		return false
	}
	for _, q := range sharedQuestions {
		if strings.Contains(text, fmt.Sprintf(" over %s %s ", dns.Type(q.rrtype), q.name)) {
			return true
		}
	}
	return strings.Contains(text, " over DNSKEY ")
}
