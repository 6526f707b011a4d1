package zonecheck

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullZone has records of every type but those that belong to a signed zone.
const fullZone = goodZone + `
example.com.      3600 AAAA 2001:db8:80::1
example.com.      3600 CAA 0 issue "ca.example.net"
example.com.      3600 HTTPS 1 . alpn=h2
`

// A fate changes the reply to a query; nil means silence.
type fate struct {
	name string // as in the code of the rule
	word string // as in the report
	of   func(stream bool, addr netip.Addr, q, m *dns.Msg) *dns.Msg
}

func fates() []fate {
	list := []fate{{"silent", silence, func(bool, netip.Addr, *dns.Msg, *dns.Msg) *dns.Msg { return nil }},
		{"truncated", cutOff, func(stream bool, _ netip.Addr, _, m *dns.Msg) *dns.Msg {
			if stream {
				return nil
			}
			m.Truncated, m.Answer, m.Ns = true, nil, nil
			return m
		}},
		{"differ", "", func(_ bool, addr netip.Addr, q, m *dns.Msg) *dns.Msg {
			m.Answer = contrary(addr, q.Question[0].Qtype, m.Answer)
			return m
		}}}
	for _, rcode := range []int{dns.RcodeNameError, dns.RcodeServerFailure, dns.RcodeRefused, dns.RcodeNotImplemented,
		dns.RcodeFormatError} {
		word := dns.RcodeToString[rcode]
		list = append(list, fate{strings.ToLower(word), word, func(_ bool, _ netip.Addr, _, m *dns.Msg) *dns.Msg {
			m.Rcode, m.Answer, m.Ns = rcode, nil, nil
			return m
		}})
	}
	return list
}

// contrary are records that contradict others, in a way of its own at each address.
func contrary(addr netip.Addr, qtype uint16, answer []dns.RR) []dns.RR {
	n := slices.Index(append(append(hostAddrs("ns1"), hostAddrs("ns2")...), parentAddrs...), addr) + 1
	name := "example.com. 3600 "
	switch qtype {
	case dns.TypeSOA:
		return []dns.RR{rr(fmt.Sprintf(name+"SOA ns1.example.com. hostmaster.example.com. 202601010%d 14400 3600 1209600 "+
			"3600", n))}
	case dns.TypeNS:
		return append(slices.Clone(answer[:1]), rr(fmt.Sprintf(name+"NS ns%d.example.com.", 1+n%2)))[:1+n%2]
	case dns.TypeA, dns.TypeAAAA: // the absence of records; addresses may differ
		if n == 4 {
			return answer
		}
		return nil
	}
	return []dns.RR{rr(fmt.Sprintf(name+map[uint16]string{
		dns.TypeMX: "MX %d mx.example.com.", dns.TypeTXT: `TXT "v=spf1 ip4:192.0.2.%d -all"`,
		dns.TypeCAA: `CAA 0 issue "ca%d.example.net"`, dns.TypeHTTPS: "HTTPS %d . alpn=h3",
		dns.TypeDNSKEY:  "DNSKEY 257 3 13 AAA%d",
		dns.TypeCDS:     "CDS %d 13 2 3490A6806D47F17A34C29E2CE80E8A999FFBE4BE3490A6806D47F17A34C29E2C",
		dns.TypeCDNSKEY: "CDNSKEY 257 3 13 AAA%d",
		dns.TypeDS:      "DS %d 13 2 3490A6806D47F17A34C29E2CE80E8A999FFBE4BE3490A6806D47F17A34C29E2C",
	}[qtype], n))}
}

var parentAddrs = []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("198.51.100.2"),
	netip.MustParseAddr("2001:db8:fe::2")}

func hostAddrs(host string) []netip.Addr {
	return map[string][]netip.Addr{
		"ns1": {netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8:1::53")},
		"ns2": {netip.MustParseAddr("198.51.100.53"), netip.MustParseAddr("2001:db8:2::53")},
	}[host]
}

// afflict is a world in which the servers that know a type, or one of them, answer the question for it in a way.
func afflict(qtype uint16, f fate, all bool) func(*stage) {
	return func(s *stage) {
		s.serve(fullZone)
		s.meddleOver(func(stream bool, addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
			above := addr == parentAddrs[0] || all && slices.Contains(parentAddrs, addr)
			below := slices.Contains(hostAddrs("ns1"), addr) || all && slices.Contains(hostAddrs("ns2"), addr)
			apex := strings.EqualFold(q.Question[0].Name, "example.com.")
			if apex && q.Question[0].Qtype == qtype && (qtype == dns.TypeDS && above || qtype != dns.TypeDS && below) {
				if m = f.of(stream, addr, q, m); m == nil {
					return nil
				}
			}
			return []*dns.Msg{m}
		})
	}
}

// cellRule is the rule that a cell of the matrix violates, with its severity there: one of the general rules, unless
// the type has a rule of its own for it.
func cellRule(qtype uint16, f fate, all bool) (diag.Code, diag.Severity) {
	code := diag.Code("zone.answers." + f.name)
	switch own := map[string]diag.Code{
		"SOA silent": "zone.ns.unreachable", "SOA truncated": "zone.transport.tcp", "SOA differ": "zone.soa.serial.differs",
		"AAAA silent": "zone.ns.aaaa.dropped", "AAAA nxdomain": "zone.ns.aaaa.nxdomain",
		"AAAA servfail": "zone.ns.aaaa.failing", "AAAA refused": "zone.ns.aaaa.failing",
		"AAAA notimp": "zone.ns.aaaa.failing", "AAAA formerr": "zone.ns.aaaa.failing", "DNSKEY differ": "zone.dnssec.servers.unsigned",
	}[dns.TypeToString[qtype]+" "+f.name]; {
	case own == "zone.soa.serial.differs":
		return own, diag.Warning
	case own == "zone.dnssec.servers.unsigned" && all: // no server has signatures
		return "zone.dnssec.signature.missing", diag.Error
	case own != "":
		return own, diag.Error
	case qtype == dns.TypeSOA || qtype == dns.TypeNS:
		return code, diag.Error
	case !all || f.name == "differ":
		return code, diag.Warning
	case f.name == "nxdomain":
		return code, diag.Error
	case slices.Contains([]uint16{dns.TypeHTTPS, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeDS},
		qtype):
		return code, diag.Warning // nothing depends on them, in an unsigned zone
	default:
		return code, diag.Error
	}
}

// TestMatrix walks all types, all that can become of the question, and one server and all.
func TestMatrix(t *testing.T) {
	var table strings.Builder
	for _, qtype := range apexTypes {
		for _, f := range fates() {
			for _, all := range []bool{false, true} {
				name := dns.TypeToString[qtype]
				where := map[bool]string{false: "one", true: "all"}[all]
				t.Run(name+"/"+f.name+"/"+where, func(t *testing.T) {
					r := play(t, afflict(qtype, f, all))
					code, severity := cellRule(qtype, f, all)
					i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == code })
					require.GreaterOrEqual(t, i, 0, "%s: %v", codes(r), r.Findings)
					found := r.Findings[i]
					assert.Equal(t, severity, found.Severity, found.Detail)
					server := cmp.Or(map[bool]string{true: "ns1.nic.com"}[qtype == dns.TypeDS], "ns1.example.com")
					if strings.HasPrefix(string(code), "zone.answers.") {
						assert.Contains(t, strings.Fields(found.Target), name)
						assert.Contains(t, found.Detail, name+" records of example.com")
						assert.NotEmpty(t, found.Advice)
						assert.Equal(t, 1, strings.Count(codes(r), "answers."), "it is told once: %s", codes(r))
						assert.Equal(t, all && f.name != "differ", found.Target == name, found.Target)
					}
					if !strings.HasPrefix(string(code), "zone.dnssec.") { // which names those that lack keys
						assert.Contains(t, found.Detail, server)
					}
					assert.NotEqual(t, texts["valid"].Headline, r.Headline)
					assert.NotEqual(t, diag.Excellent, r.Band)
					if r.Score != nil {
						assert.LessOrEqual(t, *r.Score, severity.Cap())
					}
					if f.word != "" {
						assert.True(t, slices.ContainsFunc(r.Answers, func(a Answer) bool {
							return a.Type == name && a.Answer == f.word && a.Server == server
						}), "%v", r.Answers)
					}
					fmt.Fprintf(&table, "%-8s %-10s %-4s %-8s %-7s %-5s %s\n", name, f.name, where, severity, r.State,
						diagtest.Score(r.Verdict), codes(r))
				})
			}
		}
	}
	t.Log("\n" + table.String())
}

// TestMatrixControl is the same world without a fault.
func TestMatrixControl(t *testing.T) {
	for _, zone := range []string{fullZone, goodZone} {
		r := play(t, zoned(zone))
		assert.Empty(t, r.Findings)
		assert.Equal(t, 100, *r.Score)
		assert.Equal(t, texts["valid"].Headline, r.Headline)
		assert.False(t, r.Partial)
		assert.Len(t, r.Answers, 4*(len(apexTypes)-1)+3)
		for _, a := range r.Answers {
			assert.Contains(t, []string{"NOERROR", noData}, a.Answer)
		}
	}
}

// A fault of one set of servers is one finding with its types; of another set it is another finding.
func TestMatrixSets(t *testing.T) {
	fails := func(s *stage, servers []*diagtest.Server, rcode int, types ...uint16) {
		for _, ns := range servers {
			for _, qtype := range types {
				ns.Fault("example.com", qtype, diagtest.Fault{Rcode: rcode})
			}
		}
	}
	for _, tt := range []struct {
		name  string
		setup func(s *stage, ns1, ns2 []*diagtest.Server)
		want  []string
	}{
		{"one set, two types", func(s *stage, ns1, _ []*diagtest.Server) {
			fails(s, ns1, dns.RcodeServerFailure, dns.TypeCAA, dns.TypeTXT)
		}, []string{"warning TXT CAA ns1.example.com 192.0.2.53 ns1.example.com 2001:db8:1::53"}},
		{"two sets", func(s *stage, ns1, ns2 []*diagtest.Server) {
			fails(s, ns1, dns.RcodeServerFailure, dns.TypeCAA)
			fails(s, ns2, dns.RcodeServerFailure, dns.TypeTXT)
		}, []string{"warning TXT ns2.example.com 198.51.100.53 ns2.example.com 2001:db8:2::53",
			"warning CAA ns1.example.com 192.0.2.53 ns1.example.com 2001:db8:1::53"}},
		{"nobody answers, in different ways", func(s *stage, ns1, ns2 []*diagtest.Server) {
			fails(s, ns1, dns.RcodeServerFailure, dns.TypeCAA)
			fails(s, ns2, dns.RcodeRefused, dns.TypeCAA)
		}, []string{"error CAA ns1.example.com 192.0.2.53 ns1.example.com 2001:db8:1::53",
			"error CAA ns2.example.com 198.51.100.53 ns2.example.com 2001:db8:2::53"}},
		{"at one of all that matter, and one that does not", func(s *stage, ns1, ns2 []*diagtest.Server) {
			fails(s, append(ns1, ns2...), dns.RcodeNotImplemented, dns.TypeCDS, dns.TypeHTTPS)
			fails(s, ns1, dns.RcodeNotImplemented, dns.TypeNS)
		}, []string{"error NS ns1.example.com 192.0.2.53 ns1.example.com 2001:db8:1::53", "warning HTTPS CDS"}},
		{"all but SOA", func(s *stage, ns1, _ []*diagtest.Server) {
			fails(s, ns1, dns.RcodeRefused, apexTypes[1:]...)
		}, []string{"error NS A AAAA MX TXT CAA HTTPS DNSKEY CDS CDNSKEY ns1.example.com 192.0.2.53 " +
			"ns1.example.com 2001:db8:1::53"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, func(s *stage) {
				s.serve(fullZone)
				tt.setup(s, []*diagtest.Server{s.ns1}, []*diagtest.Server{s.ns2})
			})
			assert.Equal(t, tt.want, kit.Map(r.Findings, func(f diag.Finding) string {
				return f.Severity.String() + " " + f.Target
			}), "%v", r.Findings)
			for _, c := range r.Checks {
				assert.NotEqual(t, c.Status == Passed, strings.HasPrefix(string(c.Code), "zone.answers.") &&
					slices.Contains(diagtest.Codes(r.Verdict), c.Code))
			}
		})
	}
}

// The dependents of a type determine how severe it is if no server answers for it.
func TestMatrixDepends(t *testing.T) {
	for _, tt := range []struct {
		qtype  uint16
		zones  []string
		faulty []string
		want   diag.Severity
	}{
		{dns.TypeDNSKEY, nil, []string{"ns1.example.com", "ns2.example.com"}, diag.Warning},
		{dns.TypeDNSKEY, []string{"example.com", "com"}, []string{"ns1.example.com", "ns2.example.com"}, diag.Error},
		{dns.TypeCDS, []string{"example.com", "com"}, []string{"ns1.example.com", "ns2.example.com"}, diag.Warning},
		{dns.TypeDS, nil, []string{"ns1.nic.com", "ns2.nic.com"}, diag.Warning},
		{dns.TypeDS, []string{"com"}, []string{"ns1.nic.com", "ns2.nic.com"}, diag.Error},
		{dns.TypeDS, []string{"com"}, []string{"ns1.nic.com"}, diag.Warning},
	} {
		r := play(t, func(s *stage) {
			s.serve(goodZone)
			for _, zone := range tt.zones {
				s.Sign(zone, diagtest.Signing{})
			}
			for _, host := range tt.faulty {
				s.Server(host, "").Configure(good).Fault("example.com", tt.qtype, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			}
		})
		i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == "zone.answers.servfail" })
		require.GreaterOrEqual(t, i, 0, codes(r))
		assert.Equal(t, tt.want, r.Findings[i].Severity, "%v: %s", tt.zones, r.Findings[i].Detail)
		assert.Equal(t, tt.qtype == dns.TypeDS, strings.Contains(r.Findings[i].Advice, "operator of the parent zone"))
	}
}

// matrixScenes are about what is no fault of the servers, or another one.
func matrixScenes() []scene {
	lost := func(times int, f diagtest.Fault, types ...uint16) func(*stage) {
		return func(s *stage) {
			s.serve(fullZone)
			for _, qtype := range types {
				f.Times = times
				s.ns1.Fault("example.com", qtype, f)
			}
		}
	}
	rcode := func(code int) func(q, m *dns.Msg) {
		return func(_, m *dns.Msg) { m.Rcode, m.Answer, m.Ns = code, nil, nil }
	}
	return []scene{
		{"datagrams are lost", lost(2, diagtest.Fault{Silent: true}, dns.TypeTXT), ""},
		{"a busy server", lost(1, diagtest.Fault{Rcode: dns.RcodeServerFailure}, dns.TypeTXT, dns.TypeCAA), ""},
		{"types are dropped", lost(0, diagtest.Fault{Silent: true}, dns.TypeA, dns.TypeMX, dns.TypeTXT, dns.TypeCAA),
			"answers.silent"},
		{"truncated, with TCP", lost(0, diagtest.Fault{Truncate: true}, dns.TypeTXT, dns.TypeMX), ""},
		{"all queries of a type are lost", func(s *stage) {
			s.serve(goodZone)
			s.FaultEverywhere("example.com", dns.TypeCAA, diagtest.Fault{Silent: true})
		}, "records.unknown"},
		{"no other zone to compare with", func(s *stage) {
			s.serve(goodZone)
			for _, host := range []string{"ns1.nic.com", "ns2.nic.com"} {
				s.Server(host, "").Configure(diagtest.ServerConfig{Silent: true})
			}
			s.ns1.Fault("example.com", dns.TypeCAA, diagtest.Fault{Silent: true})
			s.ns2.Fault("example.com", dns.TypeCAA, diagtest.Fault{Silent: true})
		}, "parent.unknown records.unknown"},
		{"all queries for DS are lost", func(s *stage) {
			s.serve(goodZone)
			s.FaultEverywhere("example.com", dns.TypeDS, diagtest.Fault{Silent: true})
		}, "records.unknown"},
		{"alias to a name that does not exist", meddledAll(dns.TypeCAA, func(_, m *dns.Msg) {
			m.Rcode, m.Answer = dns.RcodeNameError, []dns.RR{rr("example.com. 3600 CNAME gone.example.net.")}
		}), "apex.alias"},
		{"MX denied", meddledAll(dns.TypeMX, rcode(dns.RcodeNameError)), "answers.nxdomain"},
		{"CAA refused", meddled1(dns.TypeCAA, rcode(dns.RcodeRefused)), "answers.refused"},
		{"NOTIMP for HTTPS", meddled1(dns.TypeHTTPS, rcode(dns.RcodeNotImplemented)), "answers.notimp"},
		{"CDS is a format error", meddled1(dns.TypeCDS, rcode(dns.RcodeFormatError)), "answers.formerr"},
		{"TXT not authorized", meddled1(dns.TypeTXT, rcode(dns.RcodeNotAuth)), "answers.rcode"},
		{"no NS records at one server", meddled1(dns.TypeNS, rcode(dns.RcodeSuccess)), "answers.nodata"},
		{"no NS records", meddledAll(dns.TypeNS, rcode(dns.RcodeSuccess)), "answers.nodata"},
		{"garbage for MX", func(s *stage) {
			s.serve(goodZone)
			s.meddle(func(_ netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if q.Question[0].Qtype == dns.TypeMX {
					header := dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeMX, Class: dns.ClassINET}
					m.Answer = []dns.RR{&dns.RFC3597{Hdr: header, Rdata: "00"}}
				}
				return []*dns.Msg{m}
			})
		}, "ns.malformed records.unknown"},
		{"no MX at one server", second(drop("MX")), "answers.differ"},
		{"other keys for ECH", func(s *stage) {
			s.serve(goodZone)
			s.meddle(func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
				if q.Question[0].Qtype == dns.TypeHTTPS {
					keys := base64.StdEncoding.EncodeToString(addr.AsSlice())
					m.Answer = []dns.RR{rr("example.com. 3600 HTTPS 1 . alpn=h2 ech=" + keys)}
				}
				return []*dns.Msg{m}
			})
		}, ""},
		{"an older copy without an NS record", second(strings.NewReplacer("2026010101", "2026010100",
			"example.com.      3600 NS  ns2.example.com.\n", "").Replace(goodZone)), "answers.differ soa.serial.differs"},
	}
}
