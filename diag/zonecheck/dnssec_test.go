package zonecheck

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// sealed is the good zone, signed in a way.
func sealed(how diagtest.Signing, records ...string) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone + strings.Join(records, "\n") + "\n")
		s.Sign("example.com", how)
	}
}

// spoilt is the good zone, signed with a fault in the signatures of one type.
func spoilt(fault diagtest.SigningFault, qtype uint16) func(*stage) {
	return sealed(diagtest.Signing{Broken: []diagtest.Broken{{Fault: fault, Name: "example.com", Type: qtype}}})
}

// extraKey is a DNSKEY record that signs nothing.
func extraKey(algorithm uint8, size int) string {
	modulus := strings.Repeat("\xff", size)
	key := base64.StdEncoding.EncodeToString([]byte("\x03\x01\x00\x01" + modulus))
	return fmt.Sprintf("example.com. 3600 DNSKEY 256 3 %d %s", algorithm, key)
}

// askingForDS is the good zone, signed with one key, with CDS and CDNSKEY records made from its own.
func askingForDS(make func(ds *dns.DS, key *dns.DNSKEY) []string) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.Sign("example.com", diagtest.Signing{OneKey: true})
		ds := s.DS("example.com")[0]
		for _, key := range s.DNSKEY("example.com") {
			if key.KeyTag() == ds.KeyTag {
				s.Zone(strings.Join(make(ds, key), "\n"))
			}
		}
	}
}

func cds(ds *dns.DS) string {
	return fmt.Sprintf("example.com. 3600 CDS %d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest)
}

func cdnskey(k *dns.DNSKEY) string {
	return fmt.Sprintf("example.com. 3600 CDNSKEY %d 3 %d %s", k.Flags, k.Algorithm, k.PublicKey)
}

const someDigest = "aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899"

// keyScenes are about keys and DS records.
func keyScenes() []scene {
	return []scene{
		{"signed", sealed(diagtest.Signing{}), ""},
		{"signed with RSA", sealed(diagtest.Signing{Algorithm: dns.RSASHA256}), ""},
		{"signed with Ed25519 and one key", sealed(diagtest.Signing{Algorithm: dns.ED25519, OneKey: true}), ""},
		{"signed with NSEC3", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{}}), ""},
		{"signed with a wildcard", sealed(diagtest.Signing{}, "*.example.com. 3600 A 203.0.113.81"), "wildcard"},
		{"signed with NSEC3 and a wildcard", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{}},
			"*.example.com. 3600 A 203.0.113.81"), "wildcard"},
		{"signed with an empty name", sealed(diagtest.Signing{},
			`_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`), ""},

		{"DS but no keys", plus("example.com. 3600 DS 1 13 2 " + someDigest), "dnssec.unsigned"},
		{"wrong DS", sealed(diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSMismatch}}}),
			"dnssec.ds.mismatch"},
		{"keys signed by the other key", spoilt(diagtest.SigZoneKey, dns.TypeDNSKEY), "dnssec.dnskey.signer"},
		{"DS with an unknown algorithm", sealed(diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSUnknown}}}),
			"dnssec.ds.algorithm"},
		{"DS with SHA-1", sealed(diagtest.Signing{Digest: dns.SHA1}), "dnssec.ds.digest"},
		{"DS with an unknown digest", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{})
			s.Zone(fmt.Sprintf("example.com. 3600 DS %d 13 200 aabb", s.DS("example.com")[0].KeyTag))
		}, "dnssec.ds.digest dnssec.ds.algorithm"},
		{"standby DS", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{})
			s.Zone(s.DS("example.com")[0].String() + "\nexample.com. 3600 DS 1 13 2 " + someDigest)
		}, "dnssec.ds.standby"},
		{"island", sealed(diagtest.Signing{Island: true}), "dnssec.island"},
		{"SHA-1 key", sealed(diagtest.Signing{}, extraKey(dns.RSASHA1, 256)),
			"dnssec.algorithm.weak dnssec.algorithm.unused"},
		{"small key", sealed(diagtest.Signing{}, extraKey(dns.RSASHA256, 128)),
			"dnssec.key.size dnssec.algorithm.unused"},
		{"one server unsigned", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{})
			s.ns1.Configure(diagtest.ServerConfig{Cookies: true, Unsigned: true})
		}, "dnssec.servers.unsigned"},
		{"other keys", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{Algorithm: dns.RSASHA256})
			s.Server("ns2.example.com", "", goodZone+extraKey(dns.RSASHA256, 256)).Configure(good)
		}, "dnssec.servers.differ"},
	}
}

// signatureScenes are about signatures and proofs.
func signatureScenes() []scene {
	day := 24 * time.Hour
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return []scene{
		{"no signatures", spoilt(diagtest.SigMissing, dns.TypeMX), "dnssec.signature.missing"},
		{"expired", spoilt(diagtest.SigExpired, dns.TypeSOA), "dnssec.signature.expired"},
		{"expired everywhere", sealed(diagtest.Signing{Inception: now.Add(-30 * day), Expiration: now.Add(-day)}),
			"dnssec.signature.expired"},
		{"not yet valid", spoilt(diagtest.SigNotYetValid, dns.TypeMX), "dnssec.signature.future"},
		{"wrong signer", spoilt(diagtest.SigWrongSigner, dns.TypeMX), "dnssec.signature.signer"},
		{"unknown key", spoilt(diagtest.SigUnknownKey, dns.TypeMX), "dnssec.signature.key"},
		{"corrupt", spoilt(diagtest.SigCorrupt, dns.TypeMX), "dnssec.signature.invalid"},
		{"corrupt over the keys", spoilt(diagtest.SigCorrupt, dns.TypeDNSKEY), "dnssec.signature.invalid"},
		{"corrupt at www", sealed(diagtest.Signing{Broken: []diagtest.Broken{
			{Fault: diagtest.SigCorrupt, Name: "www.example.com"}}}), "dnssec.signature.invalid"},
		{"wrong labels", func(s *stage) {
			sealed(diagtest.Signing{})(s)
			s.meddle(at1(dns.TypeMX, func(_, m *dns.Msg) {
				for _, rr := range m.Answer {
					if sig, ok := rr.(*dns.RRSIG); ok {
						sig.Labels = 3
					}
				}
			}))
		}, "dnssec.signature.labels"},
		{"expiring", sealed(diagtest.Signing{Inception: now.Add(-28 * day), Expiration: now.Add(2 * day)}),
			"dnssec.signature.expiring"},
		{"expiring tonight", sealed(diagtest.Signing{Inception: now.Add(-29 * day), Expiration: now.Add(day)}),
			"dnssec.signature.urgent"},
		{"longer TTL than signed", func(s *stage) {
			sealed(diagtest.Signing{})(s)
			s.meddle(at1(dns.TypeMX, func(_, m *dns.Msg) {
				for _, rr := range m.Answer {
					rr.Header().Ttl = 86400
				}
			}))
		}, "dnssec.signature.ttl"},
		{"an invalid signature beside a valid one", func(s *stage) {
			sealed(diagtest.Signing{})(s)
			s.meddle(at1(dns.TypeMX, func(_, m *dns.Msg) {
				for _, rr := range m.Answer {
					if sig, ok := rr.(*dns.RRSIG); ok {
						stray := *sig
						stray.Expiration++
						m.Answer = append(m.Answer, &stray)
						return
					}
				}
			}))
		}, "dnssec.signature.stray"},
		{"short-lived", sealed(diagtest.Signing{Inception: now.Add(-day), Expiration: now.Add(day)}), ""},
		{"long-lived", sealed(diagtest.Signing{Inception: now.Add(-day), Expiration: now.Add(400 * day)}),
			"dnssec.signature.long"},
		{"no proofs", sealed(diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}}), "dnssec.denial"},
		{"no proofs for a wildcard", sealed(diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}},
			"*.example.com. 3600 A 203.0.113.81"), "dnssec.denial wildcard"},
		{"proofs for other names", func(s *stage) {
			sealed(diagtest.Signing{})(s)
			s.meddle(at1(dns.TypeA, func(q, m *dns.Msg) {
				if strings.HasPrefix(q.Question[0].Name, survey.AbsentLabel) {
					m.Ns = m.Ns[:len(m.Ns)-4] // the two NSEC records, each with its signature
				}
			}))
		}, "dnssec.denial"},
		{"iterations", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{Iterations: 5}}), "dnssec.nsec3.iterations"},
		{"too many iterations", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{Iterations: 151}}),
			"dnssec.nsec3.excessive"},
		{"more iterations than BIND takes", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{Iterations: 51}}),
			"dnssec.nsec3.excessive"},
		{"salt", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{Salt: "abcd"}}), ""},
		{"opt-out", sealed(diagtest.Signing{NSEC3: &diagtest.NSEC3{OptOut: true}}), ""},

		{"CDS", askingForDS(func(ds *dns.DS, k *dns.DNSKEY) []string { return []string{cds(ds), cdnskey(k)} }),
			""},
		{"CDS alone", askingForDS(func(ds *dns.DS, _ *dns.DNSKEY) []string { return []string{cds(ds)} }),
			""},
		{"CDS in an unsigned zone", plus("example.com. 3600 CDS 1 13 2 " + someDigest),
			"dnssec.cds.unsigned dnssec.cds.pending"},
		{"CDS to delete", askingForDS(func(*dns.DS, *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDS 0 0 0 00"}
		}),
			"dnssec.cds.delete"},
		{"CDNSKEY to delete", askingForDS(func(*dns.DS, *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDNSKEY 0 3 0 AA=="}
		}), "dnssec.cds.delete"},
		{"both to delete", askingForDS(func(*dns.DS, *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDS 0 0 0 00", "example.com. 3600 CDNSKEY 0 3 0 AA=="}
		}), "dnssec.cds.delete"},
		{"CDS to delete beside one of a key", askingForDS(func(ds *dns.DS, _ *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDS 0 0 0 00", cds(ds)}
		}), "dnssec.cds.delete.malformed"},
		{"CDS to delete beside a CDNSKEY of a key", askingForDS(func(_ *dns.DS, k *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDS 0 0 0 00", cdnskey(k)}
		}), "dnssec.cds.delete.malformed"},
		{"CDS to delete one key", askingForDS(func(ds *dns.DS, _ *dns.DNSKEY) []string {
			return []string{fmt.Sprintf("example.com. 3600 CDS %d 0 2 %s", ds.KeyTag, ds.Digest)}
		}), "dnssec.cds.delete.malformed"},
		{"CDS to delete in an unsigned zone", plus("example.com. 3600 CDS 0 0 0 00"), "dnssec.cds.unsigned"},
		{"CDS and CDNSKEY of different keys", askingForDS(func(ds *dns.DS, k *dns.DNSKEY) []string {
			other := *k
			other.Flags = 256
			return []string{cds(ds), cdnskey(&other)}
		}), "dnssec.cds.differ"},
		{"CDS of no key", askingForDS(func(*dns.DS, *dns.DNSKEY) []string {
			return []string{"example.com. 3600 CDS 1 13 2 " + someDigest}
		}), "dnssec.cds.mismatch dnssec.cds.pending"},
		{"CDS signed by another key", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{})
			s.Zone(cds(s.DS("example.com")[0]))
		}, "dnssec.cds.signature"},
		{"CDS to fix a wrong DS", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSMismatch}}})
			s.Zone(cds(s.DS("example.com")[0]))
		}, "dnssec.ds.mismatch dnssec.cds.pending"},
		{"CDS without signature", func(s *stage) {
			broken := diagtest.Broken{Fault: diagtest.SigMissing, Type: dns.TypeCDS}
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{broken}})
			s.Zone(cds(s.DS("example.com")[0]))
		}, "dnssec.signature.missing dnssec.cds.signature"},
		{"CDS of a second key", askingForDS(func(ds *dns.DS, _ *dns.DNSKEY) []string {
			return []string{cds(ds), "example.com. 3600 CDS 1 13 2 " + someDigest}
		}), "dnssec.cds.pending"},
	}
}

// A proposed DS record is that of a key with which every server signs the DNSKEY set, and none is proposed that
// would break the zone.
func TestProposedDS(t *testing.T) {
	island := diagtest.Signing{Island: true}
	broken := func(b diagtest.Broken, how diagtest.Signing) diagtest.Signing {
		how.Broken = append(how.Broken, b)
		return how
	}
	corrupt := diagtest.Broken{Fault: diagtest.SigCorrupt, Name: "example.com", Type: dns.TypeDNSKEY}
	tests := []struct {
		name  string
		code  diag.Code
		how   diagtest.Signing
		extra func(*stage)
		want  bool
	}{
		{"island", "zone.dnssec.island", island, nil, true},
		{"island of one key", "zone.dnssec.island", diagtest.Signing{Island: true, OneKey: true}, nil, true},
		{"wrong DS", "zone.dnssec.ds.mismatch", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSMismatch}}}, nil, true},
		{"island with corrupt signatures over the keys", "zone.dnssec.island", broken(corrupt, island), nil, false},
		{"wrong DS and corrupt signatures over the keys", "zone.dnssec.ds.mismatch",
			broken(corrupt, diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSMismatch}}}), nil, false},
		{"island with a corrupt signature", "zone.dnssec.island",
			broken(diagtest.Broken{Fault: diagtest.SigCorrupt, Name: "example.com", Type: dns.TypeMX}, island), nil, false},
		{"island with expired signatures", "zone.dnssec.island",
			broken(diagtest.Broken{Fault: diagtest.SigExpired, Name: "www.example.com"}, island), nil, false},
		{"island, one server unsigned", "zone.dnssec.island", island, func(s *stage) {
			s.ns1.Configure(diagtest.ServerConfig{Cookies: true, Unsigned: true})
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var right string
			r := play(t, func(s *stage) {
				sealed(tt.how)(s)
				if tt.extra != nil {
					tt.extra(s)
				}
				for _, k := range s.DNSKEY("example.com") {
					if k.Flags == 257 {
						ds := dnssec.NewDS(k)
						right = fmt.Sprintf("example.com. IN DS %d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest)
					}
				}
			})
			i := slices.IndexFunc(r.Recommendations, func(x diag.Recommendation) bool { return x.Code == tt.code })
			require.GreaterOrEqual(t, i, 0, codes(r))
			if !tt.want {
				right = ""
			}
			require.Equal(t, right, r.Recommendations[i].SuggestedValue)
		})
	}
}
