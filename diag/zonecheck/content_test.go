package zonecheck

import (
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// soaScenes are about the SOA record and the contents of the zone.
func soaScenes() []scene {
	soa := "ns1.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600"
	with := func(text string) func(*stage) { return zoned(swap(soa, text)) }
	other := func(old, replacement string) func(*stage) {
		if !strings.Contains(goodZone, old) {
			panic("the zone does not have " + old)
		}
		return second(strings.Replace(goodZone, old, replacement, 1))
	}
	return []scene{
		{"no SOA", meddled1(dns.TypeSOA, func(_, m *dns.Msg) { m.Answer = nil }), "soa.missing"},
		{"two SOA", meddled1(dns.TypeSOA, func(_, m *dns.Msg) {
			m.Answer = append(m.Answer, rr("example.com. 3600 SOA "+strings.Replace(soa, "0101 ", "0100 ", 1)))
		}), "soa.multiple"},
		{"old serial", other("2026010101", "2026010100"), "soa.serial.differs"},
		{"other mname", other("SOA ns1", "SOA ns2"), ""},
		{"other rname", other("hostmaster", "admin"), ""},
		{"other times", other("14400", "28800"), ""},
		{"bare mname", with("ns1. hostmaster.example.com. 2026010101 14400 3600 1209600 3600"),
			"soa.mname.invalid"},
		{"mname is an alias", zoned(swap("SOA ns1", "SOA primary") + "primary.example.com. CNAME ns1.example.com.\n"),
			"soa.mname.alias"},
		{"hidden primary", with("hidden.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600"),
			""},
		{"rname with @", with(`ns1.example.com. hostmaster\@example.com. 2026010101 14400 3600 1209600 3600`),
			"soa.rname.at"},
		{"rname without a domain", with("ns1.example.com. hostmaster. 2026010101 14400 3600 1209600 3600"),
			"soa.rname.invalid"},
		{"serial 0", with("ns1.example.com. hostmaster.example.com. 0 14400 3600 1209600 3600"), ""},
		{"refresh 10 minutes", with("ns1.example.com. hostmaster.example.com. 1 600 300 1209600 3600"),
			"soa.refresh.short"},
		{"refresh an hour", with("ns1.example.com. hostmaster.example.com. 1 3600 3600 1209600 3600"), ""},
		{"retry at once", with("ns1.example.com. hostmaster.example.com. 1 14400 0 1209600 3600"), "soa.retry.short"},
		{"retry in 3 minutes", with("ns1.example.com. hostmaster.example.com. 1 14400 180 1209600 3600"), ""},
		{"refresh and retry at once", with("ns1.example.com. hostmaster.example.com. 1 0 0 1209600 3600"),
			"soa.refresh.short soa.retry.short"},
		{"expires at no time", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 0 3600"),
			"soa.expire.short soa.expire.refresh"},
		{"retry after refresh", with("ns1.example.com. hostmaster.example.com. 1 14400 28800 1209600 3600"),
			"soa.retry.long"},
		{"expires in a day", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 86400 3600"), "soa.expire.short"},
		{"expires at once", with("ns1.example.com. hostmaster.example.com. 1 1209600 3600 1209600 3600"),
			"soa.expire.refresh"},
		{"minimum a week", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 1209600 604800"),
			"soa.minimum.high"},
		{"minimum 10 seconds", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 1209600 10"),
			""},

		{"alias at the apex", zoned(drop("example.com.      3600 A", "MX", "TXT") +
			"example.com. 3600 CNAME www.example.com.\n"),
			"apex.alias"},
		{"NS differ", other("example.com.      3600 NS  ns2.example.com.\n", "example.com. 3600 NS ns2.example.com.\n"+
			"example.com. 3600 NS ns3.example.net.\n"), "delegation.missing_at_parent ns.lame answers.differ"},
		{"TXT differ", other("v=spf1 mx", "v=spf1 a mx"), "answers.differ"},
		{"addresses differ", other("A    203.0.113.80", "A    203.0.113.81"), "records.address.differ"},
		{"addresses of www differ", other("www.example.com.  3600 A    203.0.113.80", "www.example.com. 3600 A 203.0.113.81"),
			"records.address.differ"},
		{"no www at one server", other("www.example.com.  3600 A    203.0.113.80", ""), "records.address.differ"},
		{"private address", zoned(swap("203.0.113.80", "10.0.0.80")), "records.private"},
		{"MX cut off", meddledAll(dns.TypeMX, func(_, m *dns.Msg) { m.Truncated, m.Answer = true, nil }), "answers.truncated"},
		{"MX fails", meddledAll(dns.TypeMX, func(_, m *dns.Msg) { m.Rcode, m.Answer = dns.RcodeServerFailure, nil }),
			"answers.servfail"},
		{"no MX", zoned(drop("MX")), ""},
		{"null MX", zoned(swap("MX 10 mx.example.com.", "MX 0 .")), ""},
		{"null MX and another", plus("example.com. 3600 MX 0 ."), "mx.null_beside"},
		{"MX is an address", plus("example.com. 3600 MX 20 203.0.113.25."), "mx.literal"},
		{"MX has an underscore", plus("example.com. 3600 MX 20 mx_2.example.com.\nmx_2.example.com. A 203.0.113.26"),
			"mx.name"},
		{"MX is an alias", plus("example.com. 3600 MX 20 mx2.example.com.\nmx2.example.com. CNAME mx.example.com."),
			"mx.alias"},
		{"MX without an address", plus("example.com. 3600 MX 20 mx2.example.com."), "mx.address"},
		{"MX differ", other("MX 10", "MX 20"), "answers.differ"},
		{"no SPF", zoned(drop("TXT")), ""},
		{"two SPF", plus(`example.com. 3600 TXT "v=spf1 -all"`), "spf.multiple"},

		{"alias in a circle", zoned(drop("www.") + "www.example.com. CNAME a.example.com.\n" +
			"a.example.com. CNAME www.example.com.\n"), "alias.loop"},
		{"long chain", zoned(drop("www.") + chain(10)), "alias.long"},
		{"endless chain", zoned(drop("www.") + chain(30)), "alias.long"},
		{"dangling alias", zoned(drop("www.") + "www.example.com. CNAME gone.example.net.\n"), "alias.dangling"},
		{"new ZONEMD", plus("example.com. 3600 ZONEMD 2026010101 1 1 " + strings.Repeat("ab", 48)), ""},
		{"old ZONEMD", plus("example.com. 3600 ZONEMD 2025010101 1 1 " + strings.Repeat("ab", 48)), "zonemd"},
	}
}

// chain makes a chain of aliases from www.
func chain(n int) string {
	var b strings.Builder
	from := "www"
	for i := range n {
		fmt.Fprintf(&b, "%s.example.com. CNAME c%d.example.com.\n", from, i)
		from = fmt.Sprintf("c%d", i)
	}
	return b.String() + from + ".example.com. A 203.0.113.80\n"
}
