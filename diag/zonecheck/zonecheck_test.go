package zonecheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/internal/survey"
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

// both is the good zone, all its servers behaving in a way.
func both(c diagtest.ServerConfig) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.ns1.Configure(c)
		s.ns2.Configure(c)
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

// meddledAll is the good zone, the replies of all its servers to one type being changed.
func meddledAll(qtype uint16, change func(q, m *dns.Msg)) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.meddle(func(_ netip.Addr, q, m *dns.Msg) []*dns.Msg {
			if q.Question[0].Qtype == qtype && m.Authoritative {
				change(q, m)
			}
			return []*dns.Msg{m}
		})
	}
}

// second is a world in which ns2 has another zone.
func second(zone string) func(*stage) {
	return func(s *stage) {
		s.serve(goodZone)
		s.Server("ns2.example.com", "", zone).Configure(good)
	}
}

// parentSays is a world in which the servers of the parent zone have other contents.
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

// delegationScenes are about the parent zone, the delegation and glue.
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
		}, ""},
		{"not registered", func(s *stage) { s.Zone(parentZone + around); s.ServeZones() }, "parent.nxdomain"},
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
		{"parent lacks a server", parentSays(goodZone+"example.com. 3600 NS ns3.example.net.\n", referral),
			"delegation.missing_at_parent"},
		{"zone lacks a server", func(s *stage) {
			s.serve(goodZone)
			s.Server("ns1.nic.com", "", parentZone+referral+"example.com. 3600 NS ns3.example.net.")
			s.Server("ns2.nic.com", "", parentZone+referral+"example.com. 3600 NS ns3.example.net.")
			s.Server("ns3.example.net", "", goodZone).Configure(good)
		}, "delegation.missing_in_zone"},
		{"short times", zoned(strings.ReplaceAll(goodZone, "3600 NS", "300 NS")), ""},
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
		{"no glue, and no resolver finds the servers", glueless, "glue.none glue.missing"},
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
			"glue.mismatch ns.closed"},
		{"glue is short-lived", parentSays(goodZone, strings.ReplaceAll(referral, "3600 A ", "60 A ")), ""},
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
		{"server without an address", later(third + "ns4.example.net. TXT x"), "ns.address"},
		{"server does not exist", later(third), "ns.address"},
		{"server cannot be looked up", func(s *stage) {
			s.serve(goodZone)
			s.Zone(third)
			s.Break("ns4.example.net", dns.RcodeServerFailure)
		}, "ns.address.unknown"},
		{"private address", plus(third + "ns4.example.net. A 10.0.0.53"), "ns.address.special"},
		{"shared address", plus(third + "ns4.example.net. A 192.0.2.53"), "ns.address.shared"},
		{"three servers", plus("example.com. 3600 NS ns3.example.net."), ""},
		{"other reverse", func(s *stage) {
			s.serve(goodZone)
			s.Fault("53.2.0.192.in-addr.arpa", dns.TypePTR, diagtest.Fault{
				Answers: []string{"53.2.0.192.in-addr.arpa. PTR host.example.net."}})
		}, ""},
		{"silent server", configured(func(c *diagtest.ServerConfig) { c.Silent = true }), "ns.unreachable"},
		{"closed server", configured(func(c *diagtest.ServerConfig) { c.NoUDP, c.NoTCP = true, true }), "ns.closed"},
		{"all silent", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Configure(diagtest.ServerConfig{Silent: true})
			s.ns2.Configure(diagtest.ServerConfig{Silent: true})
		}, "delegation.unreachable ns.unreachable"},
		{"all silent, and the parent zone", func(s *stage) {
			s.serve(goodZone)
			for _, host := range []string{"ns1.nic.com", "ns2.nic.com", "ns1.example.com", "ns2.example.com"} {
				s.Server(host, "").Configure(diagtest.ServerConfig{Silent: true})
			}
		}, "parent.unknown delegation.silent"},
		{"all closed", both(diagtest.ServerConfig{NoUDP: true, NoTCP: true}),
			"delegation.unreachable ns.closed"},
		{"all truncate and have no TCP", both(diagtest.ServerConfig{Truncate: true, NoTCP: true}),
			"delegation.unreachable transport.tcp transport.truncation"},
		{"all reply from elsewhere", func(s *stage) {
			s.serve(drop("2001:"))
			s.displace("192.0.2.53", "192.0.2.99")
			s.displace("198.51.100.53", "198.51.100.99")
		}, "delegation.unreachable ns.source transport.udp"},
		{"all over TCP alone", both(diagtest.ServerConfig{NoUDP: true}), "delegation.unreachable transport.udp"},
		{"no server exists", func(s *stage) {
			s.Zone(parentZone + around)
			s.ServeZones()
			nowhere := parentZone + "example.com. NS ns8.example.net.\nexample.com. NS ns9.example.net.\n"
			s.Server("ns1.nic.com", "", nowhere)
			s.Server("ns2.nic.com", "", nowhere)
		}, "delegation.unreachable ns.address"},
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
		{"too many servers", plus(many(survey.MaxServers)),
			"delegation.truncated ns.address.shared"},
		{"IPv6 only", zoned(drop(".53\n") + "ns1.example.com. 3600 AAAA 2001:db8:1::53\n" +
			"ns2.example.com. 3600 AAAA 2001:db8:2::53\n"), "diversity.ipv4"},
		{"IPv4 only", zoned(drop("2001:")), "diversity.ipv6"},
		{"one network", zoned(strings.NewReplacer("198.51.100.53", "192.0.2.54", "2001:db8:2::53", "2001:db8:1::54").
			Replace(goodZone)), "diversity.prefix"},
		{"one operator", func(s *stage) {
			s.serve(goodZone)
			for _, name := range []string{"53.100.51.198.origin.asn.cymru.com.",
				"3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.origin6.asn.cymru.com."} {
				s.Fault(name, dns.TypeTXT, diagtest.Fault{Answers: []string{name + ` TXT "64496 | | |"`}})
			}
		}, "diversity.asn"},
	}
}

// glueless is a zone whose servers lie in it, without glue in the parent zone: resolvers cannot find them.
func glueless(s *stage) {
	s.serve(goodZone)
	s.meddle(func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
		if !m.Authoritative && len(m.Ns) > 0 {
			m.Extra = nil
		}
		return []*dns.Msg{m}
	})
	s.Break("example.com", dns.RcodeServerFailure)
	s.Break("*.example.com", dns.RcodeServerFailure)
}

// That the referral has no glue was seen, whatever is not known of the servers then.
func TestGlueless(t *testing.T) {
	r := play(t, glueless)
	require.Equal(t, diag.Critical, r.Findings[0].Severity)
	require.Equal(t, diag.Bad, r.State)
	require.Equal(t, texts["zone.glue.none"].Headline, r.Headline)
}

func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	for family, scenes := range map[string][]scene{
		"delegation": delegationScenes(), "server": serverScenes(), "answer": answerScenes(), "soa": soaScenes(),
		"keys": keyScenes(), "signers": signerScenes(), "signatures": signatureScenes(), "denials": denialScenes(),
		"target": targetScenes(), "caa": caaScenes(), "https": httpsScenes(), "matrix": matrixScenes(),
	} {
		for _, tt := range scenes {
			t.Run(family+"/"+tt.name, func(t *testing.T) {
				r := play(t, tt.setup)
				seen.Add(r.Verdict)
				require.Equal(t, tt.want, codes(r), "%+v", r.Findings)
				missing := slices.ContainsFunc(r.Examined, func(p diag.ScopePart) bool { return p.State != diag.Examined })
				require.True(t, !r.Partial || missing, "what was not learned is listed")
				require.True(t, r.Partial || !r.Incomplete())
			})
		}
	}
	seen.Add(rules().Judge(newEvidence(&survey.Survey{Domain: diag.MustDomain("ab--c.example.com")}), texts))
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}
