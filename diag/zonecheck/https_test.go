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

// httpsScenes are about HTTPS records, of the domain if they begin with @ and of www otherwise.
func httpsScenes() (list []scene) {
	const cdn = "cdn.example.net. A 203.0.113.99\n"
	addressless := drop("example.com.      3600 A")
	for _, tt := range []struct{ name, records, want string }{
		{"itself", "@ HTTPS 1 . alpn=h2,h3 mandatory=alpn", ""},
		{"itself, with hints", "@ HTTPS 1 . alpn=h2 ipv4hint=203.0.113.80\nwww HTTPS 1 . ipv4hint=203.0.113.80", ""},
		{"www", "@ HTTPS 0 www.example.com.\nwww HTTPS 1 . alpn=h2", ""},
		{"www, without a record of its own", "@ HTTPS 0 www.example.com.", ""},
		{"elsewhere", "@ HTTPS 1 cdn.example.net. alpn=h2 ipv4hint=203.0.113.99\n" + cdn, ""},
		{"elsewhere by an alias", "@ HTTPS 0 cdn.example.net.\ncdn.example.net. CNAME c1.example.net.\n" +
			"c1.example.net. A 203.0.113.99", ""},
		{"elsewhere in two steps", "@ HTTPS 0 svc.example.net.\nsvc.example.net. HTTPS 1 cdn.example.net.\n" + cdn, ""},
		{"a port and a backup", "@ HTTPS 1 . port=8443\n@ HTTPS 2 cdn.example.net.\n" + cdn, ""},
		{"one hint of several addresses elsewhere",
			"@ HTTPS 1 cdn.example.net. ipv4hint=203.0.113.98,203.0.113.99\n" + cdn, ""},

		{"parameters in alias mode", "@ HTTPS 0 www.example.com. alpn=h2", "https"},
		{"no protocol", "@ HTTPS 1 . no-default-alpn", "https"},
		{"no protocol at www", "www HTTPS 1 . no-default-alpn", "https"},
		{"both modes", "@ HTTPS 0 www.example.com.\n@ HTTPS 1 . alpn=h2", "https"},
		{"missing what is mandatory", "@ HTTPS 1 . mandatory=port", "https"},
		{"mandatory is mandatory", "@ HTTPS 1 . mandatory=alpn,mandatory alpn=h2", "https"},
		{"mandatory twice", "@ HTTPS 1 . mandatory=alpn,alpn alpn=h2", "https"},

		{"no service", "@ HTTPS 0 .", "https.none"},
		{"no service at www", "www HTTPS 0 .", "https.none"},
		{"the domain itself", "@ HTTPS 0 example.com.", "https.loop"},
		{"domain and www", "@ HTTPS 0 www.example.com.\nwww HTTPS 0 example.com.", "https.loop"},
		{"domain and two others", "@ HTTPS 0 a.example.com.\na HTTPS 0 b.example.com.\nb HTTPS 0 example.com.",
			"https.loop"},
		{"loop elsewhere", "@ HTTPS 0 a.example.net.\na.example.net. HTTPS 0 b.example.net.\n" +
			"b.example.net. HTTPS 0 a.example.net.", "https.loop"},
		{"alias of the domain", "@ HTTPS 0 shop.example.com.\nshop CNAME example.com.", "https.loop"},

		{"gone", "@ HTTPS 1 cdn.example.net.", "https.target"},
		{"gone in the zone", "@ HTTPS 1 cdn.example.com.", "https.target"},
		{"gone in alias mode", "@ HTTPS 0 cdn.example.net.", "https.target"},
		{"gone at www", "www HTTPS 1 cdn.example.net.", "https.target"},
		{"without an address", "@ HTTPS 1 cdn.example.net.\ncdn.example.net. TXT x", "https.target"},
		{"an address", "@ HTTPS 1 203.0.113.80.", "https.target"},
		{"without its dot", "@ HTTPS 1 cdn.example.net.example.com.", "target.dot"},
		{"alias without its dot", "@ HTTPS 0 cdn.example.net.example.com.", "target.dot"},

		{"wrong hint", "@ HTTPS 1 . alpn=h2 ipv4hint=203.0.113.81", "https.hint"},
		{"wrong hint beside the right one", "@ HTTPS 1 . alpn=h2 ipv4hint=203.0.113.80,203.0.113.81", "https.hint"},
		{"private hint", "@ HTTPS 1 . ipv4hint=10.0.0.5", "https.hint"},
		{"hint of a kind that there is not", "@ HTTPS 1 . ipv6hint=2001:db8:80::1", "https.hint"},
		{"wrong hint at www", "www HTTPS 1 . ipv4hint=203.0.113.81", "https.hint"},
		{"wrong hint elsewhere", "@ HTTPS 1 cdn.example.net. ipv4hint=203.0.113.98\n" + cdn, "https.hint"},
		{"private hint elsewhere", "@ HTTPS 1 cdn.example.net. ipv4hint=10.0.0.5,203.0.113.99\n" + cdn, "https.hint"},
	} {
		list = append(list, scene{tt.name, plus(httpsZone(tt.records)), tt.want})
	}
	return append(list,
		scene{"no service at a domain without an address", zoned(addressless + "example.com. HTTPS 0 .\n"), ""},
		scene{"service at a domain without an address", zoned(addressless + "example.com. HTTPS 1 .\n"),
			"https.target"},
		scene{"addresses in turn", func(s *stage) {
			s.serve(goodZone + "example.com. HTTPS 1 . ipv4hint=203.0.113.82\n")
			s.meddle(func(ip netip.Addr, q, m *dns.Msg) []*dns.Msg {
				apex := q.Question[0].Qtype == dns.TypeA && q.Question[0].Name == "example.com."
				if apex && ip == netip.MustParseAddr("192.0.2.53") {
					m.Answer = []dns.RR{rr("example.com. 3600 A 203.0.113.81")}
				}
				return []*dns.Msg{m}
			})
		}, "records.address.differ"},
		scene{"addresses near the client", func(s *stage) {
			s.serve(goodZone + "example.com. HTTPS 1 . ipv4hint=203.0.113.82\n")
			s.meddle(func(_ netip.Addr, q, m *dns.Msg) []*dns.Msg {
				for _, o := range options(q) {
					if subnet, ok := o.(*dns.EDNS0_SUBNET); ok {
						subnet.SourceScope = 24
						m.IsEdns0().Option = append(m.IsEdns0().Option, subnet)
					}
				}
				return []*dns.Msg{m}
			})
		}, ""},
		scene{"private address and hint", zoned(swap("203.0.113.80", "10.0.0.80") +
			"example.com. HTTPS 1 . ipv4hint=10.0.0.80\n"), "records.private"})
}

// httpsZone writes records with their names in full.
func httpsZone(records string) string {
	lines := strings.Split(records, "\n")
	for i, line := range lines {
		owner, rest, _ := strings.Cut(line, " ")
		switch {
		case owner == "@":
			lines[i] = "example.com. " + rest
		case owner != "" && !strings.HasSuffix(owner, "."):
			lines[i] = owner + ".example.com. " + rest
		}
	}
	return strings.Join(lines, "\n")
}

// Each fault is advised about for itself.
func TestHTTPSAdvice(t *testing.T) {
	for _, tt := range []struct {
		records string
		code    diag.Code
		advice  string
	}{
		{"@ HTTPS 0 www.example.com. alpn=h2", "zone.https", "Remove the parameters"},
		{"@ HTTPS 1 . no-default-alpn", "zone.https", "Add the parameter alpn"},
		{"@ HTTPS 1 . mandatory=port", "zone.https", "Add the parameter port"},
		{"@ HTTPS 0 www.example.com.\n@ HTTPS 1 . alpn=h2", "zone.https", "Remove the HTTPS record in alias mode"},
		{"@ HTTPS 0 .", "zone.https.none", "Remove the record"},
	} {
		r := play(t, plus(httpsZone(tt.records)))
		require.Equal(t, []diag.Code{tt.code}, diagtest.Codes(r.Verdict), tt.records)
		require.Contains(t, r.Recommendations[0].Detail, tt.advice)
	}
}

// A lookup that brought nothing is no fault of the record, and what it would tell is not praised.
func TestServiceUnknown(t *testing.T) {
	r := play(t, func(s *stage) {
		s.serve(goodZone + "example.com. HTTPS 0 cdn.example.net.\n")
		s.Break("cdn.example.net", dns.RcodeServerFailure)
	})
	require.Empty(t, codes(r))
	require.True(t, r.Partial)
	for _, c := range r.Passed {
		require.NotContains(t, c.Code, "zone.https.")
	}
}
