package zonecheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// signedBy is the good zone, signed by each server for itself. The parent zone has DS records of the keys in ds.
func signedBy(ds string, first, second diagtest.Signing) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		first.Keys.DS, second.Keys.DS = strings.Fields(ds), strings.Fields(ds)
		s.Sign("example.com", first)
		s.ns1.Sign("example.com", first)
		s.ns2.Sign("example.com", second)
	}
}

// by is how a provider signs that publishes some keys and signs with some, listed by their names.
func by(published, signing string, changes ...func(*diagtest.Signing)) diagtest.Signing {
	how := diagtest.Signing{Keys: &diagtest.Keys{Published: strings.Fields(published), Signing: strings.Fields(signing)}}
	for _, change := range changes {
		change(&how)
	}
	return how
}

func algorithm(number uint8) func(*diagtest.Signing) {
	return func(how *diagtest.Signing) { how.Algorithm = number }
}

func hashedNames(how *diagtest.Signing) { how.NSEC3 = &diagtest.NSEC3{} }

// signerScenes are about zones that several providers sign, and about keys that not all servers have.
func signerScenes() []scene {
	return []scene{
		{"model 1", signedBy("ksk", by("ksk zsk-1 zsk-2", "ksk zsk-1"), by("ksk zsk-1 zsk-2", "ksk zsk-2")), ""},
		{"model 2", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1 zsk-2", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), ""},
		{"model 2, NSEC and NSEC3", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1 zsk-2", "ksk-1 zsk-1", hashedNames),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), ""},
		{"model 2, one with a standby key", signedBy("ksk-1 ksk-2", by("ksk-1 ksk-3 zsk-1 zsk-2", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), ""},
		{"model 2, one rolling the key that signs the keys", signedBy("ksk-1 ksk-2",
			by("ksk-1 ksk-3 zsk-1 zsk-2", "ksk-1 ksk-3 zsk-1"), by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), ""},
		{"model 2, a DS record in advance", signedBy("ksk-1 ksk-2 ksk-3", by("ksk-1 zsk-1 zsk-2", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), "dnssec.ds.standby"},
		{"signed twice, one key everywhere", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-1 zsk-2")), ""},
		{"no key of the other", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1", "ksk-1 zsk-1"),
			by("ksk-2 zsk-2", "ksk-2 zsk-2")), "dnssec.servers.keys"},
		{"one without the key of the other", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), "dnssec.servers.keys"},
		{"a key used before all have it", signedBy("ksk", by("ksk zsk-1", "ksk zsk-1"), by("ksk zsk-1 zsk-2", "ksk zsk-2")),
			"dnssec.servers.keys"},
		{"without its own key", signedBy("ksk", by("ksk zsk-2", "ksk zsk-1"), by("ksk zsk-1 zsk-2", "ksk zsk-2")),
			"dnssec.servers.keys"},
		{"a DS record of one provider alone", signedBy("ksk-1", by("ksk-1 zsk-1 zsk-2", "ksk-1 zsk-1"),
			by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), "dnssec.servers.ds"},
		{"a DS record of a key that does not sign", signedBy("ksk-1", by("ksk-1 ksk-2 zsk-1 zsk-2", "ksk-1 zsk-1"),
			by("ksk-1 ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2")), "dnssec.servers.ds"},
		{"different algorithms", signedBy("ksk-1 ksk-2", by("ksk-1 zsk-1", "ksk-1 zsk-1"),
			by("ksk-2 zsk-2", "ksk-2 zsk-2", algorithm(dns.ED25519))),
			"dnssec.ds.standby dnssec.servers.keys dnssec.servers.ds dnssec.servers.algorithms"},
		{"a key in advance at one server", signedBy("ksk", by("ksk zsk-1", "ksk zsk-1"), by("ksk zsk-1 zsk-2", "ksk zsk-1")),
			"dnssec.servers.differ"},
	}
}

// A fault between providers names the server and the key that it lacks, and the DS records to publish are those of
// all.
func TestSigners(t *testing.T) {
	apart := func(ds string) func(*stage) {
		return signedBy(ds, by("ksk-1 zsk-1", "ksk-1 zsk-1"), by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2"))
	}
	right := func(ds string) func(*stage) {
		return signedBy(ds, by("ksk-1 zsk-1 zsk-2", "ksk-1 zsk-1"), by("ksk-2 zsk-1 zsk-2", "ksk-2 zsk-2"))
	}
	tests := []struct {
		name, detail string
		setup        func(*stage)
		code         diag.Code
		target       string
		suggested    []uint16 // tags of DS records
	}{
		{"missing key", "At ns1.example.com there is no DNSKEY record for key 42452 (ECDSAP256SHA256), with which the " +
			"answers of ns2.example.com are signed.", apart("ksk-1 ksk-2"), "zone.dnssec.servers.keys",
			"ns1.example.com 192.0.2.53, ns1.example.com 2001:db8:1::53", nil},
		{"missing DS record", "At ns2.example.com the DNSKEY records are signed with key 51498 (ECDSAP256SHA256), for " +
			"which the parent zone com has no DS record.", right("ksk-1"), "zone.dnssec.servers.ds",
			"ns2.example.com 198.51.100.53, ns2.example.com 2001:db8:2::53", []uint16{32734, 51498}},
		{"no DS record", "example.com is signed, and the parent zone com has no DS record for it.", right(""),
			"zone.dnssec.island", "", []uint16{32734, 51498}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, tt.setup)
			i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == tt.code })
			require.GreaterOrEqual(t, i, 0, codes(r))
			require.Equal(t, tt.detail, r.Findings[i].Detail)
			require.Equal(t, tt.target, r.Findings[i].Target)
			i = slices.IndexFunc(r.Recommendations, func(x diag.Recommendation) bool { return x.Code == tt.code })
			var tags []uint16
			for line := range strings.Lines(r.Recommendations[i].SuggestedValue) {
				tags = append(tags, rr(line).(*dns.DS).KeyTag)
			}
			require.Equal(t, tt.suggested, tags)
		})
	}
}
