package zonecheck

import (
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/miekg/dns"
)

// answerScenes are about how servers answer, and over what.
func answerScenes() []scene {
	refuse := func(rcode int) func(q, m *dns.Msg) {
		return func(_, m *dns.Msg) { m.Rcode, m.Answer, m.Ns = rcode, nil, nil }
	}
	return []scene{
		{"AAAA denied", meddled1(dns.TypeAAAA, refuse(dns.RcodeNameError)), "ns.aaaa.nxdomain"},
		{"AAAA fails", meddled1(dns.TypeAAAA, refuse(dns.RcodeServerFailure)), "ns.aaaa.failing"},
		{"AAAA dropped", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Fault("example.com", dns.TypeAAAA, diagtest.Fault{Silent: true})
		}, "ns.aaaa.dropped"},
		{"case changed", configured(func(c *diagtest.ServerConfig) { c.LowerCase = true }), "ns.case.changed"},
		{"case matters", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if q.Question[0].Name != strings.ToLower(q.Question[0].Name) {
				refuse(dns.RcodeNameError)(q, m)
			}
		}), "ns.case.sensitive"},
		{"open resolver", configured(func(c *diagtest.ServerConfig) { c.Recursive = true }), "ns.recursion"},
		{"claims recursion", configured(func(c *diagtest.ServerConfig) { c.RecursionFlag = true }), ""},
		{"open transfer", configured(func(c *diagtest.ServerConfig) { c.Transfer = true }), "axfr.open"},
		{"version", configured(func(c *diagtest.ServerConfig) { c.Version = "named 9.18" }), ""},
		{"NSID", configured(func(c *diagtest.ServerConfig) { c.NSID = "ams1" }), ""},
		{"no cookies", configured(func(c *diagtest.ServerConfig) { c.Cookies = false }), ""},
		{"foreign cookie", meddled1(dns.TypeSOA, func(_, m *dns.Msg) {
			for _, o := range options(m) {
				if c, ok := o.(*dns.EDNS0_COOKIE); ok {
					c.Cookie = strings.Repeat("0", 32)
				}
			}
		}), "ns.cookies.wrong"},
		{"client subnet", meddled1(dns.TypeA, func(q, m *dns.Msg) {
			for _, o := range options(q) {
				if subnet, ok := o.(*dns.EDNS0_SUBNET); ok {
					subnet.SourceScope = 24
					m.IsEdns0().Option = append(m.IsEdns0().Option, subnet)
				}
			}
		}), ""},
		{"client subnet refused", meddled1(dns.TypeA, func(q, m *dns.Msg) {
			if len(options(q)) > 0 {
				refuse(dns.RcodeFormatError)(q, m)
			}
		}), ""},
		{"records of others", meddled1(dns.TypeNS, func(_, m *dns.Msg) {
			m.Extra = append(m.Extra, rr("www.bank.example. 3600 A 192.0.2.66"))
		}), ""},
		{"address of a server elsewhere", func(s *stage) {
			s.serve(goodZone + "example.com. 3600 NS ns3.example.net.\n")
			s.meddle(at1(dns.TypeNS, func(_, m *dns.Msg) {
				m.Extra = append(m.Extra, rr("ns3.example.net. 3600 A 203.0.113.53"))
			}))
		}, ""},
		{"empty name denied", func(s *stage) {
			s.serve(goodZone + "_smtp._tls.example.com. TXT \"v=TLSRPTv1; rua=mailto:tls@example.com\"\n")
			s.meddle(func(_ netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if q.Question[0].Name == "_tls.example.com." {
					m.Rcode = dns.RcodeNameError
				}
				return []*dns.Msg{m}
			})
		}, "names.within"},
		{"empty name", plus(`_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`), ""},
		{"wildcard", plus("*.example.com. 3600 A 203.0.113.81"), "wildcard"},

		{"TCP alone", configured(func(c *diagtest.ServerConfig) { c.NoUDP = true }), "transport.udp"},
		{"UDP alone", configured(func(c *diagtest.ServerConfig) { c.NoTCP = true }), "transport.tcp"},
		{"TCP hangs", func(s *stage) { s.serve(goodZone); s.Behave("192.0.2.53:53", diagtest.Hangs) }, "transport.tcp"},
		{"cuts off", configured(func(c *diagtest.ServerConfig) { c.Truncate = true }), "transport.truncation"},
		{"no IPv6 here", func(s *stage) { s.serve(goodZone); s.unroute() }, "transport.unexamined"},
		{"no time", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Fault("*.", 0, diagtest.Fault{Delay: 1200 * time.Millisecond})
			s.ns1.Fault("example.com", 0, diagtest.Fault{Delay: 1200 * time.Millisecond})
		}, "ns.slow transport.unfinished"},
		{"no TLS", func(s *stage) {
			s.serve(goodZone)
			s.Behave("ns1.example.com:853", diagtest.Refuses)
			s.Behave("ns2.example.com:853", diagtest.Hangs)
		}, ""},

		{"EDNS ignored", configured(func(c *diagtest.ServerConfig) { c.EDNS = diagtest.EDNSIgnored }), "edns.unsupported"},
		{"EDNS refused", configured(func(c *diagtest.ServerConfig) { c.EDNS = diagtest.EDNSRefused }), "edns.unsupported"},
		{"EDNS dropped", configured(func(c *diagtest.ServerConfig) { c.EDNS = diagtest.EDNSDropped }), "edns.dropped"},
		{"options refused", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if len(options(q)) > 1 {
				refuse(dns.RcodeFormatError)(q, m)
			}
		}), "edns.known_options"},
		{"any version", configured(func(c *diagtest.ServerConfig) { c.AnyVersion = true }), "edns.version"},
		{"option refused", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if o := options(q); len(o) == 1 && o[0].Option() == survey.UnassignedOption {
				refuse(dns.RcodeFormatError)(q, m)
			}
		}), "edns.option"},
		{"option echoed", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if o := options(q); len(o) == 1 {
				m.IsEdns0().Option = o
			}
		}), "edns.option"},
		{"flags echoed", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if opt := q.IsEdns0(); opt != nil {
				m.IsEdns0().SetZ(opt.Z())
			}
		}), "edns.flags"},
		{"flags refused", meddled1(dns.TypeSOA, func(q, m *dns.Msg) {
			if opt := q.IsEdns0(); opt != nil && opt.Z() != 0 {
				refuse(dns.RcodeFormatError)(q, m)
			}
		}), "edns.flags"},
		{"cut off without EDNS", meddled1(dns.TypeDNSKEY, func(q, m *dns.Msg) {
			if opt := q.IsEdns0(); opt != nil && opt.UDPSize() == dns.MinMsgSize {
				m.Truncated, m.Extra = true, nil
			}
		}), "edns.truncated"},
	}
}

// options returns the options of EDNS in a message.
func options(m *dns.Msg) []dns.EDNS0 {
	if opt := m.IsEdns0(); opt != nil {
		return opt.Option
	}
	return nil
}
