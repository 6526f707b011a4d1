package zonecheck

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A broken world, and the codes of what is found, without "zone." in front.
type scene struct {
	name  string
	setup func(*stage)
	want  string
}

// zoned is a world whose servers have a zone.
func zoned(zone string) func(*stage) { return func(s *stage) { s.serve(zone) } }

// plus is the good zone with more records.
func plus(records string) func(*stage) { return zoned(goodZone + records + "\n") }

// later is the good zone with records that come after the servers were opened: hosts without an address
// do not get one then.
func later(records string) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.Zone(records)
	}
}

// configured is the good zone, ns1 behaving in a way.
func configured(change func(*diagtest.ServerConfig)) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		c := good
		change(&c)
		s.ns1.Configure(c)
	}
}

// meddled1 is the good zone, the replies of ns1 to one type being changed.
func meddled1(qtype uint16, change func(q, m *dns.Msg)) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.meddle(at1(qtype, change))
	}
}

// second is a world in which ns2 has another zone.
func second(zone string) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.Server("ns2.example.com", "", zone).Configure(good)
	}
}

// parentSays is a world in which the servers of the zone above have other contents.
func parentSays(zone, above string) func(*stage) {
	return func(s *stage) {
		s.serve(zone)
		s.Server("ns1.nic.com", "", parentZone+above)
		s.Server("ns2.nic.com", "", parentZone+above)
	}
}

const referral = `
example.com.      3600 NS  ns1.example.com.
example.com.      3600 NS  ns2.example.com.
ns1.example.com.  3600 A    192.0.2.53
ns1.example.com.  3600 AAAA 2001:db8:1::53
ns2.example.com.  3600 A    198.51.100.53
ns2.example.com.  3600 AAAA 2001:db8:2::53
`

// delegationScenes are about the zone above, the delegation and glue.
func delegationScenes() []scene {
	return []scene{
		{"healthy", zoned(goodZone), ""},
		{"parent SERVFAIL", func(s *stage) {
			s.serve(goodZone)
			s.Fault(".", dns.TypeNS, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			s.Break("com", dns.RcodeServerFailure)
		}, "parent.unknown"},
		{"parent unknown to the resolver", func(s *stage) {
			s.serve(goodZone)
			s.Break("com", dns.RcodeServerFailure)
		}, ""},
		{"parent silent", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.nic.com", "").Configure(diagtest.ServerConfig{Silent: true})
			s.Server("ns2.nic.com", "").Configure(diagtest.ServerConfig{Silent: true})
		}, "parent.unknown"},
		{"one parent silent", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.nic.com", "").Configure(diagtest.ServerConfig{Silent: true})
		}, "parent.silent"},
		{"not registered", func(s *stage) { s.Zone(parentZone + around); s.ServeZones() }, "parent.missing"},
		{"no zone of its own", func(s *stage) {
			s.Zone(parentZone + around + "example.com. A 192.0.2.80")
			s.ServeZones()
			s.Server("ns1.nic.com", "", parentZone+"example.com. A 192.0.2.80")
			s.Server("ns2.nic.com", "", parentZone+"example.com. A 192.0.2.80")
		}, "parent.undelegated"},
		{"parents disagree", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.nic.com", "", parentZone+"example.com. NS ns1.example.com.\nns1.example.com. 3600 A 192.0.2.53")
		}, "parent.inconsistent"},
		{"one server", zoned(drop("NS  ns2", "ns2.example.com.")), "delegation.few"},
		{"parent lacks a server", parentSays(goodZone+"example.com. 3600 NS ns3.example.net.\n", referral), "delegation.missing_at_parent"},
		{"zone lacks a server", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.nic.com", "", parentZone+referral+"example.com. 3600 NS ns3.example.net.")
			s.Server("ns2.nic.com", "", parentZone+referral+"example.com. 3600 NS ns3.example.net.")
			s.Server("ns3.example.net", "", goodZone).Configure(good)
		}, "delegation.missing_in_zone"},
		{"short times", zoned(strings.ReplaceAll(goodZone, "3600 NS", "300 NS")), "delegation.ttl.short"},
		{"waiting for each other", func(s *stage) {
			cyclic := "example.com. NS ns1.example.net.\nexample.com. NS ns2.example.net.\n"
			s.Zone(parentZone + "com. NS ns1.nic.com.\nnet. SOA ns.net. h.net. 1 14400 3600 1209600 3600\n" +
				"net. NS ns.net.\nns.net. A 192.0.2.3\n")
			s.ServeZones()
			s.Server("ns1.nic.com", "", parentZone+cyclic)
			s.Server("ns2.nic.com", "", parentZone+cyclic)
			s.Server("ns.net", "", "net. SOA ns.net. h.net. 1 14400 3600 1209600 3600\nnet. NS ns.net.\n"+
				"example.net. NS ns1.example.com.\n")
			s.Break("example.com", dns.RcodeServerFailure)
			s.Break("example.net", dns.RcodeServerFailure)
			s.Break("*.example.net", dns.RcodeServerFailure)
		}, "delegation.cyclic ns.address.unknown"},
		{"no glue", func(s *stage) {
			s.serve(goodZone)
			s.meddle(func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if !m.Authoritative && len(m.Ns) > 0 {
					m.Extra = nil
				}
				return []*dns.Msg{m}
			})
		}, "glue.none glue.missing"},
		{"glue for one", func(s *stage) {
			s.serve(goodZone)
			s.meddle(func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if !m.Authoritative && len(m.Ns) > 0 {
					m.Extra = []dns.RR{rr("ns1.example.com. 3600 A 192.0.2.53"),
						rr("ns1.example.com. 3600 AAAA 2001:db8:1::53")}
				}
				return []*dns.Msg{m}
			})
		}, "glue.missing"},
		{"wrong glue", parentSays(goodZone, strings.ReplaceAll(referral, "192.0.2.53", "192.0.2.54")),
			"glue.mismatch ns.reverse.missing ns.closed"},
		{"glue is short-lived", parentSays(goodZone, strings.ReplaceAll(referral, "3600 A ", "60 A ")), "glue.ttl"},
		{"long referral", zoned(goodZone + many(13)), "delegation.truncated ns.address.shared"},
	}
}

// many names more servers, each in a domain of its own.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		host := fmt.Sprintf("ns.a-rather-long-name-of-a-provider-%d.net.", i)
		fmt.Fprintf(&b, "example.com. 3600 NS %s\n%s A 192.0.2.53\n", host, host)
	}
	return b.String()
}

// serverScenes are about the names, the addresses and the standing of servers.
func serverScenes() []scene {
	third := "example.com. 3600 NS ns4.example.net.\n"
	return []scene{
		{"server is an address", later("example.com. 3600 NS 192.0.2.53."), "ns.literal"},
		{"server has an underscore", plus("example.com. 3600 NS ns_3.example.net.\nns_3.example.net. A 192.0.2.53"),
			"ns.name ns.address.shared"},
		{"server is an alias", plus(third + "ns4.example.net. CNAME ns1.example.com."), "ns.alias ns.address.shared"},
		{"server without an address", later(third + "ns4.example.net. TXT x"), "ns.address.missing"},
		{"server does not exist", later(third), "ns.address.missing"},
		{"server cannot be looked up", func(s *stage) {
			s.serve(goodZone)
			s.Zone(third)
			s.Break("ns4.example.net", dns.RcodeServerFailure)
		}, "ns.address.unknown"},
		{"private address", plus(third + "ns4.example.net. A 10.0.0.53"), "ns.address.special ns.reverse.missing"},
		{"shared address", plus(third + "ns4.example.net. A 192.0.2.53"), "ns.address.shared"},
		{"three servers", plus("example.com. 3600 NS ns3.example.net."), ""},
		{"other reverse", func(s *stage) {
			s.serve(goodZone)
			s.Fault("53.2.0.192.in-addr.arpa", dns.TypePTR, diagtest.Fault{
				Answers: []string{"53.2.0.192.in-addr.arpa. PTR host.example.net."}})
		}, "ns.reverse.mismatch"},
		{"silent server", configured(func(c *diagtest.ServerConfig) { c.Silent = true }), "ns.unreachable"},
		{"closed server", configured(func(c *diagtest.ServerConfig) { c.NoUDP, c.NoTCP = true, true }), "ns.closed"},
		{"all silent", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Configure(diagtest.ServerConfig{Silent: true})
			s.ns2.Configure(diagtest.ServerConfig{Silent: true})
		}, "delegation.silent ns.unreachable"},
		{"garbage", func(s *stage) {
			s.serve(goodZone)
			s.ServePackets("ns1.example.com:53", func(q []byte) [][]byte {
				return [][]byte{append(q[:2:2], 0x84, 0, 0, 9, 0, 9, 0, 9, 0, 9, 1)}
			})
		}, "ns.malformed transport.udp"},
		{"lame", func(s *stage) { s.serve(goodZone); s.Server("ns1.example.com", "", "example.org. A 192.0.2.1") },
			"ns.lame"},
		{"all lame", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.example.com", "", "example.org. A 192.0.2.1")
			s.Server("ns2.example.com", "", "example.org. A 192.0.2.1")
		}, "delegation.lame ns.lame"},
		{"not authoritative", configured(func(c *diagtest.ServerConfig) { c.NoAA = true }), "ns.unauthoritative"},
		{"upward referral", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.example.com", "", "example.org. A 192.0.2.1").Configure(diagtest.ServerConfig{Upward: true})
		}, "ns.upward"},
		{"slow", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Fault("*.", 0, diagtest.Fault{Delay: 600 * time.Millisecond})
			s.ns1.Fault("example.com", 0, diagtest.Fault{Delay: 600 * time.Millisecond})
		}, "ns.slow"},
		{"forged replies", configured(func(c *diagtest.ServerConfig) {
			c.Forged = []diagtest.Forgery{diagtest.ForgedID, diagtest.ForgedName, diagtest.ForgedType, diagtest.ForgedQuery}
		}), "ns.forged"},
		{"replies from elsewhere", func(s *stage) { s.serve(goodZone); s.displace("192.0.2.53", "192.0.2.99") },
			"ns.source transport.udp"},
		{"too many servers", plus(many(MaxServers)), "delegation.truncated ns.address.shared ns.reverse.mismatch ns.surplus diversity.ipv6"},
		{"IPv6 only", zoned(drop(".53\n") + "ns1.example.com. 3600 AAAA 2001:db8:1::53\n" +
			"ns2.example.com. 3600 AAAA 2001:db8:2::53\n"), "diversity.ipv4 diversity.ipv6_only"},
		{"IPv4 only", zoned(drop("2001:")), "diversity.ipv6"},
		{"one network", zoned(strings.NewReplacer("198.51.100.53", "192.0.2.54", "2001:db8:2::53", "2001:db8:1::54").
			Replace(goodZone)), "ns.reverse.missing diversity.prefix diversity.prefix_ipv6"},
		{"one operator", func(s *stage) {
			s.serve(goodZone)
			for _, name := range []string{"53.100.51.198.origin.asn.cymru.com.",
				"3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.origin6.asn.cymru.com."} {
				s.Fault(name, dns.TypeTXT, diagtest.Fault{Answers: []string{name + ` TXT "64496 | | |"`}})
			}
		}, "diversity.asn"},
	}
}

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
		{"claims recursion", configured(func(c *diagtest.ServerConfig) { c.RecursionFlag = true }), "ns.recursion.claimed"},
		{"open transfer", configured(func(c *diagtest.ServerConfig) { c.Transfer = true }), "axfr.open"},
		{"version", configured(func(c *diagtest.ServerConfig) { c.Version = "named 9.18" }), "ns.version"},
		{"NSID", configured(func(c *diagtest.ServerConfig) { c.NSID = "ams1" }), "ns.nsid"},
		{"no cookies", configured(func(c *diagtest.ServerConfig) { c.Cookies = false }), "ns.cookies"},
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
		}), "ns.subnet"},
		{"client subnet refused", meddled1(dns.TypeA, func(q, m *dns.Msg) {
			if len(options(q)) > 0 {
				refuse(dns.RcodeFormatError)(q, m)
			}
		}), ""},
		{"records of others", meddled1(dns.TypeNS, func(_, m *dns.Msg) {
			m.Extra = append(m.Extra, rr("www.bank.example. 3600 A 192.0.2.66"))
		}), "ns.unrelated"},
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
		}, "transport.tls"},

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
			if o := options(q); len(o) == 1 && o[0].Option() == unassignedOption {
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
		{"other mname", other("SOA ns1", "SOA ns2"), "soa.mname.differs"},
		{"other rname", other("hostmaster", "admin"), "soa.rname.differs"},
		{"other times", other("14400", "28800"), "soa.timers.differ"},
		{"bare mname", with("ns1. hostmaster.example.com. 2026010101 14400 3600 1209600 3600"),
			"soa.mname.invalid soa.mname.unresolved soa.mname.unlisted"},
		{"mname is an alias", zoned(swap("SOA ns1", "SOA primary") + "primary.example.com. CNAME ns1.example.com.\n"),
			"soa.mname.alias soa.mname.unlisted"},
		{"hidden primary", with("hidden.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600"),
			"soa.mname.unresolved soa.mname.unlisted"},
		{"rname with @", with(`ns1.example.com. hostmaster\@example.com. 2026010101 14400 3600 1209600 3600`), "soa.rname.at"},
		{"rname without a domain", with("ns1.example.com. hostmaster. 2026010101 14400 3600 1209600 3600"),
			"soa.rname.invalid"},
		{"serial 0", with("ns1.example.com. hostmaster.example.com. 0 14400 3600 1209600 3600"), "soa.serial.zero"},
		{"refresh 10 minutes", with("ns1.example.com. hostmaster.example.com. 1 600 300 1209600 3600"),
			"soa.refresh.short soa.retry.low"},
		{"refresh an hour", with("ns1.example.com. hostmaster.example.com. 1 3600 3600 1209600 3600"), "soa.refresh.low"},
		{"retry after refresh", with("ns1.example.com. hostmaster.example.com. 1 14400 28800 1209600 3600"),
			"soa.retry.long"},
		{"expires in a day", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 86400 3600"), "soa.expire.short"},
		{"expires at once", with("ns1.example.com. hostmaster.example.com. 1 1209600 3600 1209600 3600"),
			"soa.expire.refresh"},
		{"minimum a week", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 1209600 604800"),
			"soa.minimum.high"},
		{"minimum 10 seconds", with("ns1.example.com. hostmaster.example.com. 1 14400 3600 1209600 10"),
			"soa.minimum.low"},

		{"alias at the apex", zoned(drop("example.com.      3600 A", "MX", "TXT") + "example.com. 3600 CNAME www.example.com.\n"),
			"apex.alias mx.missing spf.missing"},
		{"NS differ", other("example.com.      3600 NS  ns2.example.com.\n", "example.com. 3600 NS ns2.example.com.\n"+
			"example.com. 3600 NS ns3.example.net.\n"), "delegation.missing_at_parent ns.lame ns.differ"},
		{"TXT differ", other("v=spf1 mx", "v=spf1 a mx"), "records.txt.differ"},
		{"addresses differ", other("A    203.0.113.80", "A    203.0.113.81"), "records.address.differ"},
		{"private address", zoned(swap("203.0.113.80", "10.0.0.80")), "records.private"},
		{"no MX", zoned(drop("MX")), "mx.missing"},
		{"null MX", zoned(swap("MX 10 mx.example.com.", "MX 0 .")), "mx.null"},
		{"null MX and another", plus("example.com. 3600 MX 0 ."), "mx.null_mixed"},
		{"MX is an address", plus("example.com. 3600 MX 20 203.0.113.25."), "mx.literal"},
		{"MX has an underscore", plus("example.com. 3600 MX 20 mx_2.example.com.\nmx_2.example.com. A 203.0.113.26"),
			"mx.name"},
		{"MX is an alias", plus("example.com. 3600 MX 20 mx2.example.com.\nmx2.example.com. CNAME mx.example.com."),
			"mx.alias"},
		{"MX without an address", plus("example.com. 3600 MX 20 mx2.example.com."), "mx.address.missing"},
		{"MX differ", other("MX 10", "MX 20"), "mx.differ"},
		{"no SPF", zoned(drop("TXT")), "spf.missing"},
		{"two SPF", plus(`example.com. 3600 TXT "v=spf1 -all"`), "spf.multiple"},
		{"broken SPF", zoned(swap("v=spf1 mx", "v=spf1 ip4:192.0.2.300")), "spf.syntax"},

		{"alias in a circle", zoned(drop("www.") + "www.example.com. CNAME a.example.com.\n" +
			"a.example.com. CNAME www.example.com.\n"), "alias.loop"},
		{"long chain", zoned(drop("www.") + chain(10)), "alias.long"},
		{"endless chain", zoned(drop("www.") + chain(30)), "alias.long"},
		{"dangling alias", zoned(drop("www.") + "www.example.com. CNAME gone.example.net.\n"), "alias.dangling"},
		{"good CAA", plus(`example.com. 3600 CAA 0 issue "ca.example.net"`), ""},
		{"unknown critical CAA", plus(`example.com. 3600 CAA 128 tbs "x"`), "caa"},
		{"CAA without a domain", plus(`example.com. 3600 CAA 0 issue "https://ca.example.net/"`), "caa"},
		{"iodef without a URL", plus(`example.com. 3600 CAA 0 iodef "security@example.com"`), "caa"},
		{"good HTTPS", plus(`example.com. 3600 HTTPS 1 . alpn=h2,h3 mandatory=alpn`), ""},
		{"HTTPS to itself", plus("example.com. 3600 HTTPS 0 example.com."), "https"},
		{"HTTPS in both modes", plus("example.com. 3600 HTTPS 0 www.example.com.\nexample.com. 3600 HTTPS 1 . alpn=h2"), "https"},
		{"HTTPS without what is mandatory", plus("example.com. 3600 HTTPS 1 . mandatory=port"), "https"},
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

func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	for family, scenes := range map[string][]scene{
		"delegation": delegationScenes(), "server": serverScenes(), "answer": answerScenes(), "soa": soaScenes(),
		"keys": keyScenes(), "signatures": signatureScenes(),
	} {
		for _, tt := range scenes {
			t.Run(family+"/"+tt.name, func(t *testing.T) {
				r := play(t, tt.setup)
				seen.Add(r.Verdict)
				require.Equal(t, tt.want, codes(r), "%+v", r.Findings)
			})
		}
	}
	seen.Add(rules.Judge(&evidence{domain: diag.MustDomain("ab--c.example.com")}, texts))
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}
