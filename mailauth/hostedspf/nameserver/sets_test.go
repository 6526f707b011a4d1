package nameserver

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
)

// RFC 7208 section 7.3: addresses are written in dotted decimal or as nibbles with dots, from the left.
func TestSetAnswers(t *testing.T) {
	z := testZone()
	s := z.build([]published{{"_abcdefgh.h.spf.example.net.", "", 60, []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/25"), netip.MustParsePrefix("2001:db8::/33"),
	}}}, 7)
	const inside, outside = "2.0.0.1.0.d.b.8.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1",
		"2.0.0.1.0.d.b.8.8.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1"
	for _, test := range []struct {
		name, client string
		qtype        uint16
		listed       bool
	}{
		{"inside", "192.0.2.1", dns.TypeA, true},
		{"first", "192.0.2.0", dns.TypeA, true},
		{"last", "192.0.2.127", dns.TypeA, true},
		{"behind the last", "192.0.2.128", dns.TypeA, false},
		{"another type", "192.0.2.1", dns.TypeAAAA, false},
		{"text", "192.0.2.1", dns.TypeTXT, false},
		{"IPv6", inside, dns.TypeA, true},
		{"IPv6 in upper case", "2.0.0.1.0.D.B.8.0.C.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1", dns.TypeA, true},
		{"IPv6 outside", outside, dns.TypeA, false},
		{"on the way to an address", "2.1", dns.TypeA, false},
		{"the end of an address of IPv6", "0.0.0.1", dns.TypeA, false},
		{"backwards", "1.2.0.192", dns.TypeA, false},
		{"a zero too many", "192.0.02.1", dns.TypeA, false},
		{"no nibble", "g" + inside[1:], dns.TypeA, false},
		{"two digits in a label", "20.0.1" + inside[5:], dns.TypeA, false},
		{"no address", "mail", dns.TypeA, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := new(dns.Msg).SetQuestion(test.client+"._abcdefgh.h.spf.example.net.", test.qtype)
			m := onWire(t, s.answer(onWire(t, q), true))
			assert.Equal(t, dns.RcodeSuccess, m.Rcode, "a name below may exist")
			assert.True(t, m.Authoritative)
			if test.listed {
				assert.Equal(t, []string{q.Question[0].Name + " 60 IN A 127.0.0.2"}, brief(m.Answer))
			} else {
				assert.Empty(t, m.Answer)
				assert.Equal(t, []string{negative}, brief(m.Ns))
			}
		})
	}
	m := s.answer(new(dns.Msg).SetQuestion("1.h.spf.example.net.", dns.TypeA), true)
	assert.Equal(t, dns.RcodeNameError, m.Rcode, "beside the set")
}
