package dnssec

import (
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unsignedChild lets servers of a zone without signatures, to which test. delegates, answer for their names.
func unsignedChild(f *farm) {
	soa := rrs([]string{"plain.test. 300 SOA ns.plain.test. hostmaster.plain.test. 1 7200 900 1209600 300"})
	f.add("plain.test. 300 NS ns.plain.test.", "test. 300 NS ns.test.")
	say := func(name string, rrtype uint16, answer, authority []dns.RR) {
		f.edit(name, rrtype, func(m *dns.Msg) { m.Answer, m.Ns = answer, authority })
	}
	say("plain.test.", dns.TypeSOA, soa, nil)
	say("www.plain.test.", dns.TypeSOA, nil, soa)
	say("www.plain.test.", dns.TypeA, rrs([]string{"www.plain.test. 300 A 192.0.2.4"}), nil)
	say("www.plain.test.", dns.TypeTXT, nil, soa)
}

// signedChild lets servers of a zone with signatures and without DS record answer.
func signedChild(f *farm) {
	f.zone("plain.test.", f.key("plain.test.", dns.ECDSAP256SHA256, 256, 257))
	f.remove("plain.test.", dns.TypeDS)
	f.add("plain.test. 300 SOA ns.plain.test. hostmaster.plain.test. 1 7200 900 1209600 300",
		"www.plain.test. 300 A 192.0.2.4", "test. 300 NS ns.test.")
}

// A proof that the parent zone does not give is asked of its operator, whatever the zone below is like.
func TestOwedProof(t *testing.T) {
	proof := func(lines ...string) func(*farm) {
		return func(f *farm) {
			f.edit("plain.test.", dns.TypeDS, func(m *dns.Msg) {
				m.Answer, m.Ns = nil, nil
				for _, line := range lines {
					m.Ns = append(m.Ns, f.signed("test.", line)...)
				}
			})
		}
	}
	const does = "The parent zone test (name servers: ns.example and ns.test) does not prove that there is no DS record " +
		"for plain.test: "
	tests := []struct {
		name   string
		proof  func(*farm)
		reason string
	}{
		{"none", proof(), "its answer has no NSEC or NSEC3 record"},
		{"a gap in the place of the delegation", proof("a.test. 300 NSEC zone.test. A RRSIG NSEC"),
			"its NSEC or NSEC3 records say that the name does not exist"},
		{"a name in the place of the delegation", proof("plain.test. 300 NSEC zone.test. A RRSIG NSEC"),
			"its NSEC or NSEC3 records say that there is no delegation"},
		{"of another name", proof("x.test. 300 NSEC zz.test. A RRSIG NSEC"),
			"the NSEC or NSEC3 records of its answer are about other names"},
		{"expired", func(f *farm) {
			f.edit("plain.test.", dns.TypeDS, func(m *dns.Msg) {
				set := rrs([]string{"plain.test. 300 NSEC zone.test. NS RRSIG NSEC"})
				m.Answer, m.Ns = nil, append(slices.Clone(set), f.sign("test.", set, period(-time.Hour, -time.Second)))
			})
		}, "the signature over NSEC plain.test by the key "},
	}
	for _, tt := range tests {
		for kind, child := range map[string]func(*farm){"unsigned": unsignedChild, "signed": signedChild} {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT} {
				t.Run(tt.name+"/"+kind+"/"+dns.Type(qtype).String(), func(t *testing.T) {
					f := newFarm(t)
					child(f)
					tt.proof(f)
					r := f.validate("www.plain.test.", qtype)
					require.Equal(t, diag.Bogus, r.Status)
					assert.Equal(t, codeDelegation, r.Failure.Code)
					assert.Equal(t, "test", r.Failure.Zone)
					assert.Contains(t, r.Failure.Message, does+tt.reason)
					found := rules.Judge(r, texts).Findings
					assert.Equal(t, "Ask the operator of the parent zone test to repair its proof: its name servers must return "+
						"signed NSEC or NSEC3 records that show the delegation of plain.test and no DS record. Until then "+
						"validating resolvers reject plain.test.", found[0].Advice)
				})
			}
		}
	}
}

// Servers that prove half of it are distinguished from zones with a gap.
func TestHalfProvenWildcard(t *testing.T) {
	f := newFarm(t)
	f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Ns = emptyWildcard(f)[:2] })
	r := f.validate("x.w.zone.test.", dns.TypeA)
	require.Contains(t, r.Failure.Message, "the wildcard *.w.zone.test exists, because there are names below it")
	require.Contains(t, rules.Judge(r, texts).Findings[0].Advice, "sign the zone with NSEC3")
}

// Records that are unsigned in the zone itself are its own fault.
func TestNothingOwed(t *testing.T) {
	f := newFarm(t)
	f.edit("www.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
	f.edit("www.zone.test.", dns.TypeDS, drop(dns.TypeNSEC))
	r := f.validate("www.zone.test.", dns.TypeA)
	require.Equal(t, codeSigMissing, r.Failure.Code)
	require.Empty(t, r.Failure.advice)
}

// Why the absence of a name is not proven depends on how the zone is signed.
func TestUnprovenAbsence(t *testing.T) {
	absent := func(proof func(f *farm) []dns.RR) func(*farm) {
		return func(f *farm) {
			f.edit("nope.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Rcode, m.Ns = dns.RcodeNameError, proof(f) })
		}
	}
	tests := []struct {
		why string
		do  func(*farm)
	}{
		{"proven", absent(func(f *farm) []dns.RR { return f.denial("zone.test.", at("nope.zone.test.", 0).owner) })},
		{"not proven, because of opt-out (RFC 5155 section 6)", absent(func(f *farm) []dns.RR {
			return slices.Concat(f.hashed("zone.test.", "zone.test.", 0, 1, dns.TypeSOA),
				f.covering("zone.test.", "nope.zone.test.", 0, 1), f.covering("zone.test.", "*.zone.test.", 0, 0))
		})},
		{"not proven, because its NSEC3 records have too many iterations", absent(func(f *farm) []dns.RR {
			return f.hashed("zone.test.", "zone.test.", 500, 0, dns.TypeSOA)
		})},
		{"not proven, because no DS record vouches for the keys of the zone", func(f *farm) {
			absent(func(f *farm) []dns.RR { return f.denial("zone.test.", at("nope.zone.test.", 0).owner) })(f)
			f.remove("zone.test.", dns.TypeDS)
		}},
		{"not proven, because the zone is not signed", func(f *farm) {
			f.remove("zone.test.", dns.TypeDS)
			f.remove("zone.test.", dns.TypeDNSKEY)
			absent(func(*farm) []dns.RR { return nil })(f)
		}},
	}
	for _, tt := range tests {
		f := newFarm(t)
		tt.do(f)
		r := f.validate("nope.zone.test.", dns.TypeA)
		findings := rules.Judge(r, texts).Findings
		i := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Code == "dnssec.answer.nxdomain" })
		require.GreaterOrEqual(t, i, 0, tt.why)
		require.Equal(t, "The answer for A nope.zone.test is NXDOMAIN, which is "+tt.why+".", findings[i].Detail)
	}
}
