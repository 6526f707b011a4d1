package zonecheck

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// omitting is the good zone, signed so that the NSEC or NSEC3 record of a name leaves types out.
func omitting(name string, nsec3 *diagtest.NSEC3, types ...uint16) func(*stage) {
	return sealed(diagtest.Signing{NSEC3: nsec3, Omit: map[string][]uint16{name: types}})
}

// denialScenes are about proofs that are held against what there is.
func denialScenes() []scene {
	hashed := &diagtest.NSEC3{}
	return []scene{
		{"A of www", omitting("www.example.com", nil, dns.TypeA), "dnssec.denial.existing"},
		{"A of www, hashed", omitting("www.example.com", hashed, dns.TypeA), "dnssec.denial.existing"},
		{"MX at the apex", omitting("example.com", nil, dns.TypeMX), "dnssec.denial.existing"},
		{"MX at the apex, hashed", omitting("example.com", hashed, dns.TypeMX), "dnssec.denial.existing"},
		{"keys", omitting("example.com", nil, dns.TypeDNSKEY), "dnssec.denial.existing"},
		{"nothing that there is", omitting("www.example.com", nil, dns.TypeMX), ""},
		{"A of a wildcard", sealed(diagtest.Signing{Omit: map[string][]uint16{"*.example.com": {dns.TypeA}}},
			"*.example.com. 3600 A 203.0.113.81"), "dnssec.denial.existing wildcard"},
		{"of a server that has an older version", func(s *stage) {
			s.serve(goodZone)
			s.Sign("example.com", diagtest.Signing{})
			s.Server("ns2.example.com", "", swap("2026010101", "2026010100")+
				"www.example.com. 3600 AAAA 2001:db8::80\n").Configure(good)
		}, "soa.serial.differs"},
		{"no DS record, proved", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{})
		}, ""},
		{"no DS record, proved with NSEC3", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{NSEC3: &diagtest.NSEC3{}})
		}, ""},
		{"no DS record, opt-out", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{NSEC3: &diagtest.NSEC3{OptOut: true}})
		}, ""},
		{"no DS record, and no proof", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}})
		}, "dnssec.parent.proof"},
		{"no DS record, and no proof of a parent zone that nobody validates", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{Island: true, Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}})
		}, ""},
		{"a parent zone that denies the delegation", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{Omit: map[string][]uint16{"example.com": {dns.TypeNS}}})
		}, "dnssec.parent.proof"},
		{"a parent zone that denies the delegation, hashed", func(s *stage) {
			s.serve(goodZone)
			s.Sign("com", diagtest.Signing{NSEC3: &diagtest.NSEC3{}, Omit: map[string][]uint16{"example.com": {dns.TypeNS}}})
		}, "dnssec.parent.proof"},
		{"a mail server", omitting("mx.example.com", nil, dns.TypeA), "dnssec.denial.existing"},
	}
}

// The record, the type and the servers are named.
func TestDeniedRecords(t *testing.T) {
	r := play(t, omitting("www.example.com", nil, dns.TypeA))
	require.Equal(t, "The NSEC record of www.example.com does not list A, although ns1.example.com (192.0.2.53) "+
		"returns A records of www.example.com.", r.Findings[0].Detail)
	require.Equal(t, "www.example.com", r.Findings[0].Target)
}

// Whether the parent zone is signed is not known if its DS records cannot be looked up: then nothing is said of its proof.
func TestParentSecurityUnknown(t *testing.T) {
	r := play(t, func(s *stage) {
		s.serve(goodZone)
		s.Sign("com", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}})
		s.FaultEverywhere("com.", dns.TypeDS, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	})
	require.Empty(t, diagtest.Codes(r.Verdict))
	require.Contains(t, r.Open(), diag.Code("zone.dnssec.parent.proof"))
	require.True(t, r.Partial)
	require.LessOrEqual(t, *r.Score, 89)
	require.Contains(t, r.Examined, diag.ScopePart{Part: "the DS records of the parent zone itself", State: diag.NotAnswered})
}
