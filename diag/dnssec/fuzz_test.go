package dnssec

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// tampered are the questions of which the answers are tampered with, and the question that is asked.
var tampered = []struct{ name, asked string }{
	{"www.zone.test. A", "www.zone.test. A"},
	{"www.zone.test. TXT", "www.zone.test. TXT"},
	{"nope.zone.test. A", "nope.zone.test. A"},
	{"alias.zone.test. A", "alias.zone.test. A"},
	{"zone.test. DS", "www.zone.test. A"},
	{"zone.test. DNSKEY", "www.zone.test. A"},
	{". DNSKEY", "www.zone.test. A"},
	{"plain.test. DS", "www.plain.test. A"},
	{"x.wild.zone.test. TXT", "x.wild.zone.test. TXT"},
	{"hashed.zone.test. A", "hashed.zone.test. A"},
}

// FuzzTampering changes bytes of an answer. If the result is secure, it equals the zone's data; and no signed zone
// becomes insecure. The rcode may change where the denial says that the name does not exist, although the server
// answered NOERROR (RFC 9824).
func FuzzTampering(f *testing.F) {
	for i := range tampered {
		f.Add(uint8(i), uint16(3), byte(3), uint16(40), byte(1), false)
		f.Add(uint8(i), uint16(60), byte(0xff), uint16(90), byte(2), true)
	}
	farm := newFarm(f)
	farm.add("alias.zone.test. 300 CNAME www.zone.test.", "plain.test. 300 NS ns.example.",
		`*.wild.zone.test. 300 TXT "x"`)
	farm.edit("x.wild.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
		m.Answer, m.Ns = rrs([]string{`x.wild.zone.test. 300 TXT "x"`}), farm.signed("zone.test.",
			"*.wild.zone.test. 300 NSEC www.zone.test. TXT RRSIG NSEC")
		m.Answer = append(m.Answer, farm.sign("zone.test.", m.Answer, func(s *dns.RRSIG) { s.Labels = 3 }))
	})
	farm.edit("hashed.zone.test.", dns.TypeA, func(m *dns.Msg) {
		m.Rcode, m.Ns = dns.RcodeNameError, slices.Concat(farm.hashed("zone.test.", "zone.test.", 0, 0, dns.TypeSOA),
			farm.covering("zone.test.", "hashed.zone.test.", 0, 0), farm.covering("zone.test.", "*.zone.test.", 0, 0))
	})
	honest := map[string]*Result{}
	for _, q := range tampered {
		farm.edit(strings.Fields(q.name)[0], dns.StringToType[strings.Fields(q.name)[1]], func(*dns.Msg) {})
		honest[q.asked] = farm.ask(q.asked)
	}
	f.Fuzz(func(t *testing.T, which uint8, at1 uint16, by1 byte, at2 uint16, by2 byte, swap bool) {
		farm.t = t
		q := tampered[int(which)%len(tampered)]
		name, rrtype, _ := strings.Cut(q.name, " ")
		key := at(name, dns.StringToType[rrtype])
		good := farm.edited[key]
		defer func() { farm.edited[key] = good }()
		bad := tamper(good, at1, by1, at2, by2)
		if bad == nil {
			return
		}
		if swap {
			bad.Answer, bad.Ns = bad.Ns, bad.Answer
		}
		farm.edited[key] = bad
		want, got := honest[q.asked], farm.ask(q.asked)
		if got.Status == diag.Secure {
			require.Equal(t, diag.Secure, want.Status)
			require.True(t, want.Rcode == got.Rcode || strings.Contains(good.String(), " NXNAME"), "%s", bad)
			require.Equal(t, sortedTexts(want.Records), sortedTexts(got.Records))
		}
		if got.Status == diag.Insecure {
			require.Equal(t, diag.Insecure, want.Status, "%v", got.Failure)
		}
	})
}

func (f *farm) ask(q string) *Result {
	name, rrtype, _ := strings.Cut(q, " ")
	return f.validate(name, dns.StringToType[rrtype])
}

// tamper changes two bytes of a message on the wire; the result is nil if it cannot be read then.
func tamper(m *dns.Msg, at1 uint16, by1 byte, at2 uint16, by2 byte) *dns.Msg {
	wire, err := m.Pack()
	if err != nil {
		return nil
	}
	wire[int(at1)%len(wire)] ^= by1
	wire[int(at2)%len(wire)] ^= by2
	bad := new(dns.Msg)
	if bad.Unpack(wire) != nil || bad.Truncated {
		return nil
	}
	return bad
}

// sortedTexts returns the texts of records without their TTLs, which are not signed as received.
func sortedTexts(records []dns.RR) []string {
	list := []string{}
	for _, rr := range records {
		rr = dns.Copy(rr)
		rr.Header().Ttl, rr.Header().Name = 0, dns.CanonicalName(rr.Header().Name)
		list = append(list, strings.ToLower(rr.String()))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
