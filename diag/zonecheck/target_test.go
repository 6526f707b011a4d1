package zonecheck

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// mailAt is the good zone with other MX records, and more records.
func mailAt(records string) func(*stage) { return zoned(drop("MX") + records + "\n") }

// alias is the good zone with www as an alias, and more records.
func alias(target string, records ...string) func(*stage) {
	return zoned(drop("www.") + "www.example.com. CNAME " + target + "\n" + strings.Join(records, "\n"))
}

// targetScenes are about what records point to.
func targetScenes() []scene {
	provider := "mx.mail.example.net. A 203.0.113.26"
	return []scene{
		{"MX without its dot", mailAt("example.com. MX 10 mx.mail.example.net.example.com."), "target.dot"},
		{"MX without its dot, of a host that exists",
			mailAt("example.com. MX 10 mx.mail.example.net.example.com.\n" + provider), "target.dot"},
		{"MX without its dot, of a domain", mailAt("example.com. MX 10 example.net.example.com."), "target.dot"},
		{"MX with the zone twice", mailAt("example.com. MX 10 mx.example.com.example.com."), "target.dot"},
		{"MX without its dot, and a wildcard", mailAt("example.com. MX 10 mx.mail.example.net.example.com.\n" +
			"*.example.com. A 203.0.113.80"), "target.dot wildcard"},
		{"MX of a name that looks so and exists", mailAt("example.com. MX 10 mx.mail.example.net.example.com.\n" +
			"mx.mail.example.net.example.com. A 203.0.113.26"), ""},
		{"MX of a host in a country", mailAt("example.com. MX 10 mail.de.example.com.\nmail.de.example.com. A 203.0.113.26"),
			""},
		{"MX of a host in a country that is gone", mailAt("example.com. MX 10 mail.de.example.com."), "mx.address"},
		{"MX without its dot, of a short domain that exists",
			mailAt("example.com. MX 10 mail.de.example.com.\nmail.de. A 203.0.113.26"), "target.dot"},
		{"MX of a host elsewhere that is gone", mailAt("example.com. MX 10 mx.example.org."), "mx.address"},
		{"MX of a host in the zone that is gone", mailAt("example.com. MX 10 mx2.example.com."), "mx.address"},
		{"MX of a host deep in the zone that is gone", mailAt("example.com. MX 10 a.b.c.example.com."), "mx.address"},
		{"NS without its dot", later("example.com. 3600 NS ns3.example.net.example.com."), "target.dot"},
		{"NS without its dot, of a server of the delegation", func(s *stage) {
			s.serve(goodZone)
			above := parentZone + referral + "example.com. 3600 NS ns3.example.net."
			s.Server("ns1.nic.com", "", above)
			s.Server("ns2.nic.com", "", above)
			s.Server("ns3.example.net", "", goodZone+"example.com. 3600 NS ns3.example.net.example.com.").Configure(good)
			s.Zone("example.com. 3600 NS ns3.example.net.example.com.")
		}, "target.dot"},
		{"CNAME without its dot", alias("shops.provider.example.net.example.com."), "target.dot"},
		{"CNAME without its dot, of a host under a suffix of a company", alias("shop.github.io.example.com."), "target.dot"},
		{"CNAME without its dot, of the zone", alias("example.com.example.com."), "target.dot"},
		{"CNAME without its dot, of a key",
			plus("default._domainkey.example.com. CNAME k1._domainkey.example.net.example.com."), "target.dot"},
		{"CNAME of a key elsewhere", plus("default._domainkey.example.com. CNAME k1._domainkey.example.net.\n" +
			"k1._domainkey.example.net. TXT \"v=DKIM1; p=\""), ""},
		{"SRV without its dot", plus("_imaps._tcp.example.com. SRV 0 0 993 imap.example.net.example.com."), "target.dot"},
		{"SRV of no service", plus("_imaps._tcp.example.com. SRV 0 0 0 ."), ""},
		{"DNAME without its dot", func(s *stage) {
			s.serve(goodZone)
			s.meddle(func(_ netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if q.Question[0].Name == "www.example.com." {
					m.Answer, m.Rcode = []dns.RR{rr("example.com. DNAME example.net.example.com.")}, dns.RcodeYXDomain
				}
				return []*dns.Msg{m}
			})
		}, "target.dot"},
		{"CNAME in two steps without its dot",
			alias("a.example.com.", "a.example.com. CNAME b.example.net.example.com."), "target.dot"},
		{"MNAME without its dot", zoned(swap("SOA ns1.example.com.", "SOA ns1.example.com.example.com.")), "soa.dot"},
		{"MNAME elsewhere without its dot", zoned(swap("SOA ns1.example.com.", "SOA ns1.example.net.example.com.")),
			"soa.dot"},
		{"RNAME without its dot", zoned(swap("hostmaster.example.com.", "hostmaster.example.com.example.com.")), "soa.dot"},

		{"CNAME of an address", alias("203.0.113.80."), "alias.literal"},
		{"CNAME of an address without its dot", alias("203.0.113.80.example.com."), "alias.literal"},
		{"CNAME of an IPv6 address", alias("2001:db8:80::1."), "alias.literal"},
		{"CNAME of an address in brackets", alias("[2001:db8:80::1]."), "alias.literal"},
		{"CNAME of an address and a port", alias("203.0.113.80:8080."), "alias.literal"},
		{"CNAME of a network", alias("203.0.113.0/24."), "alias.literal"},
		{"CNAME of a URL", alias("https://www.example.net."), "alias.literal"},
		{"CNAME of a URL with a path", alias("https://www.example.net/shop."), "alias.literal"},
		{"CNAME of a URL without its dot", alias("https://www.example.net.example.com."), "alias.literal"},
		{"CNAME of a host and a port", alias("www.example.net:8443."), "alias.literal"},
		{"CNAME of half an address", alias("203.0.113."), "alias.literal"},
		{"CNAME of a name that looks like an address", alias("203.0.113.80.example.com.",
			"203.0.113.80.example.com. A 203.0.113.80"), ""},
		{"CNAME of a name in the zone that is gone", alias("shop.example.com."), "alias.dangling"},
		{"CNAME of a name in no top-level domain", alias("shop.internal."), "alias.dangling"},
		{"CNAME of a host", alias("shop.example.net.", "shop.example.net. A 203.0.113.80"), ""},

		{"MX is an address without its dot", mailAt("example.com. MX 10 203.0.113.25.example.com."), "mx.literal"},
		{"MX is a URL", mailAt("example.com. MX 10 https://mx.example.net."), "mx.name"},
		{"server is an address without its dot", later("example.com. 3600 NS 192.0.2.53.example.com."),
			"ns.literal"},

		{"MX at a loopback address", zoned(swap("203.0.113.25", "127.0.0.1")), "mx.blocked"},
		{"MX at a private address", zoned(swap("203.0.113.25", "10.0.0.5")), "mx.blocked"},
		{"MX at no address", zoned(swap("203.0.113.25", "0.0.0.0")), "mx.blocked"},
		{"MX at a unique local address", zoned(drop("203.0.113.25") + "mx.example.com. AAAA fd00::25\n"), "mx.blocked"},
		{"MX at a public and a private address", plus("mx.example.com. A 10.0.0.5"), "mx.address.special"},
		{"MX at a public address, and another at a private one", plus("example.com. MX 20 mx2.example.com.\n" +
			"mx2.example.com. A 192.168.0.5"), "mx.blocked"},
	}
}

// The suggestion is the whole set, and works; the advice is about the fault itself.
func TestTargetAdvice(t *testing.T) {
	const dotless = "example.com. MX 10 mx.mail.example.net.example.com."
	for _, tt := range []struct {
		name     string
		setup    func(*stage)
		code     diag.Code
		advice   string // part of it
		suggests string
	}{
		{"dot, of a host that works", mailAt(dotless + "\nmx.mail.example.net. A 203.0.113.26"), "zone.target.dot",
			`Write "mx.mail.example.net." with a final dot in the zone file: `, "example.com. IN MX 10 mx.mail.example.net."},
		{"dot, beside another MX record", mailAt(dotless + "\nmx.mail.example.net. A 203.0.113.26\n" +
			"example.com. MX 20 mx.example.com."), "zone.target.dot", "final dot",
			"example.com. IN MX 10 mx.mail.example.net.\nexample.com. IN MX 20 mx.example.com."},
		{"dot, beside an MX record that is wrong", mailAt(dotless + "\nmx.mail.example.net. A 203.0.113.26\n" +
			"example.com. MX 20 gone.example.com."), "zone.target.dot", "final dot", ""},
		{"dot, of a host that may not exist", mailAt(dotless), "zone.target.dot", "if that is meant", ""},
		{"dot, of a host with a private address", mailAt(dotless + "\nmx.mail.example.net. A 10.0.0.5"), "zone.target.dot",
			"final dot", ""},
		{"dot, of an alias", alias("shop.example.net.example.com.", "shop.example.net. A 203.0.113.80"), "zone.target.dot",
			"final dot", "www.example.com. IN CNAME shop.example.net."},
		{"address", alias("203.0.113.80."), "zone.alias.literal", "A or AAAA record", "www.example.com. IN A 203.0.113.80"},
		{"IPv6 address", alias("2001:db8:80::1."), "zone.alias.literal", "AAAA", "www.example.com. IN AAAA 2001:db8:80::1"},
		{"private address", alias("10.0.0.5."), "zone.alias.literal", "A or AAAA record", ""},
		{"URL", alias("https://www.example.net."), "zone.alias.literal", "redirect", ""},
		{"dangling in the zone", alias("shop.example.com."), "zone.alias.dangling", "Create the name", ""},
		{"dangling in no top-level domain", alias("shop.internal."), "zone.alias.dangling", "top-level domain", ""},
		{"dangling without a domain", alias("shop."), "zone.alias.dangling", "without the final dot", ""},
		{"MX without a domain", mailAt("example.com. MX 10 mx."), "zone.mx.address", "with its domain", ""},
		{"dangling elsewhere", alias("shop.example.net."), "zone.alias.dangling", "anyone who registers", ""},
		{"MX is a URL", mailAt("example.com. MX 10 https://mx.example.net."), "zone.mx.name", "without a scheme", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, tt.setup)
			require.Contains(t, diagtest.Codes(r.Verdict), tt.code)
			for _, rec := range r.Recommendations {
				if rec.Code == tt.code {
					require.Contains(t, rec.Detail, tt.advice)
					require.Equal(t, tt.suggests, rec.SuggestedValue)
				}
			}
		})
	}
}
