package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testZone() Zone {
	return Zone{
		Name: diag.MustName("spf.example.net"),
		Nameservers: []Nameserver{
			{Name: diag.MustName("ns1.spf.example.net"), Addrs: []netip.Addr{
				netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53"),
			}},
			{Name: diag.MustName("ns.example.org")},
		},
	}
}

var long = "v=spf1 " + strings.Repeat("ip4:192.0.2.1 ", 40) + `exists:%{i}.a\b.example.com -all`

// testSnapshot holds a record, one of two strings, and one below a name without records.
func testSnapshot() *snapshot {
	z := testZone()
	return z.build([]published{
		{"abc.spf.example.net.", "v=spf1 ip4:192.0.2.0/24 -all", 300, nil},
		{"_1.abc.spf.example.net.", long, 300, nil},
		{"x.ent.spf.example.net.", "v=spf1 -all", 60, nil},
		{"huge.spf.example.net.", strings.Repeat(long, 3), 60, nil},
	}, 7)
}

// ask builds a question as a resolver would send it, and returns the answer as the resolver would receive it.
func ask(t testing.TB, name string, qtype uint16, change func(*dns.Msg)) *dns.Msg {
	t.Helper()
	q := new(dns.Msg).SetQuestion(name, qtype)
	if change != nil {
		change(q)
	}
	return onWire(t, testSnapshot().answer(onWire(t, q), true))
}

func onWire(t testing.TB, m *dns.Msg) *dns.Msg {
	t.Helper()
	wire, err := m.Pack()
	require.NoError(t, err)
	out := new(dns.Msg)
	require.NoError(t, out.Unpack(wire))
	return out
}

func brief(rrs []dns.RR) (list []string) {
	for _, rr := range rrs {
		if rr.Header().Rrtype != dns.TypeOPT {
			list = append(list, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	return list
}

const (
	soaRecord = "spf.example.net. 3600 IN SOA ns1.spf.example.net. hostmaster.example.net. 7 14400 3600 1209600 300"
	negative  = "spf.example.net. 300 IN SOA ns1.spf.example.net. hostmaster.example.net. 7 14400 3600 1209600 300"
)

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name    string
		qname   string
		qtype   uint16
		rcode   int
		answer  []string
		ns      []string
		further []string
	}{
		{name: "record", qname: "abc.spf.example.net.", qtype: dns.TypeTXT,
			answer: []string{`abc.spf.example.net. 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"`}},
		{name: "letter case is kept", qname: "aBC.spf.EXAMPLE.net.", qtype: dns.TypeTXT,
			answer: []string{`aBC.spf.EXAMPLE.net. 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"`}},
		{name: "no data", qname: "abc.spf.example.net.", qtype: dns.TypeA, ns: []string{negative}},
		{name: "no data of the type of old", qname: "abc.spf.example.net.", qtype: dns.TypeSPF, ns: []string{negative}},
		{name: "unknown type", qname: "abc.spf.example.net.", qtype: 65280, ns: []string{negative}},
		{name: "empty non-terminal", qname: "ent.spf.example.net.", qtype: dns.TypeTXT, ns: []string{negative}},
		{name: "anything at an empty non-terminal", qname: "ent.spf.example.net.", qtype: dns.TypeANY,
			ns: []string{negative}},
		{name: "no such name", qname: "none.spf.example.net.", qtype: dns.TypeTXT,
			rcode: dns.RcodeNameError, ns: []string{negative}},
		{name: "no such name below a record", qname: "a.x.ent.spf.example.net.", qtype: dns.TypeTXT,
			rcode: dns.RcodeNameError, ns: []string{negative}},
		{name: "anything that does not exist", qname: "none.spf.example.net.", qtype: dns.TypeANY,
			rcode: dns.RcodeNameError, ns: []string{negative}},
		{name: "anything", qname: "abc.spf.example.net.", qtype: dns.TypeANY,
			answer: []string{`abc.spf.example.net. 3600 IN HINFO "RFC8482" ""`}},
		{name: "start of authority", qname: "spf.example.net.", qtype: dns.TypeSOA, answer: []string{soaRecord}},
		{name: "name servers", qname: "spf.example.net.", qtype: dns.TypeNS,
			answer: []string{
				"spf.example.net. 3600 IN NS ns1.spf.example.net.", "spf.example.net. 3600 IN NS ns.example.org.",
			},
			further: []string{
				"ns1.spf.example.net. 3600 IN A 192.0.2.53", "ns1.spf.example.net. 3600 IN AAAA 2001:db8::53",
			}},
		{name: "address", qname: "ns1.spf.example.net.", qtype: dns.TypeAAAA,
			answer: []string{"ns1.spf.example.net. 3600 IN AAAA 2001:db8::53"}},
		{name: "signatures of the delegation", qname: "spf.example.net.", qtype: dns.TypeDS, ns: []string{negative}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := ask(t, test.qname, test.qtype, nil)
			assert.Equal(t, test.rcode, m.Rcode)
			assert.True(t, m.Response)
			assert.True(t, m.Authoritative)
			assert.True(t, m.RecursionDesired, "as it was asked")
			assert.False(t, m.RecursionAvailable || m.AuthenticatedData || m.CheckingDisabled || m.Truncated || m.Zero)
			assert.Equal(t, test.qname, m.Question[0].Name)
			assert.Equal(t, test.answer, brief(m.Answer))
			assert.Equal(t, test.ns, brief(m.Ns))
			assert.Equal(t, test.further, brief(m.Extra))
			assert.Nil(t, m.IsEdns0(), "RFC 6891 section 7: not to a client without")
		})
	}
}

func TestRefusals(t *testing.T) {
	with := func(f func(*dns.Msg)) func(*dns.Msg) { return f }
	for _, test := range []struct {
		name   string
		qname  string
		qtype  uint16
		change func(*dns.Msg)
		rcode  int
	}{
		{"another zone", "example.com.", dns.TypeTXT, nil, dns.RcodeRefused},
		{"the parent zone", "example.net.", dns.TypeNS, nil, dns.RcodeRefused},
		{"the root", ".", dns.TypeNS, nil, dns.RcodeRefused},
		{"a name that ends alike", "notspf.example.net.", dns.TypeTXT, nil, dns.RcodeRefused},
		{"a dot in a label", `abc\.spf.example.net.`, dns.TypeTXT, nil, dns.RcodeRefused},
		{"transfer", "spf.example.net.", dns.TypeAXFR, nil, dns.RcodeRefused},
		{"incremental transfer", "spf.example.net.", dns.TypeIXFR, nil, dns.RcodeRefused},
		{"class CHAOS", "abc.spf.example.net.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused},
		{"version.bind", "version.bind.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused},
		{"class ANY", "abc.spf.example.net.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.Question[0].Qclass = dns.ClassANY }), dns.RcodeRefused},
		{"type OPT", "abc.spf.example.net.", dns.TypeOPT, nil, dns.RcodeNotImplemented},
		{"type MAILB", "abc.spf.example.net.", dns.TypeMAILB, nil, dns.RcodeNotImplemented},
		{"notify", "spf.example.net.", dns.TypeSOA,
			with(func(q *dns.Msg) { q.Opcode = dns.OpcodeNotify }), dns.RcodeNotImplemented},
		{"update", "spf.example.net.", dns.TypeSOA,
			with(func(q *dns.Msg) { q.Opcode = dns.OpcodeUpdate }), dns.RcodeNotImplemented},
		{"no question", "spf.example.net.", dns.TypeSOA,
			with(func(q *dns.Msg) { q.Question = nil }), dns.RcodeFormatError},
		{"two questions", "spf.example.net.", dns.TypeSOA,
			with(func(q *dns.Msg) { q.Question = append(q.Question, q.Question[0]) }), dns.RcodeFormatError},
		{"two OPT records", "abc.spf.example.net.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.SetEdns0(1232, false); q.SetEdns0(1232, false) }), dns.RcodeFormatError},
		{"OPT with a name", "abc.spf.example.net.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.SetEdns0(1232, false); q.IsEdns0().Hdr.Name = "a." }), dns.RcodeFormatError},
		{"later version of EDNS", "abc.spf.example.net.", dns.TypeTXT,
			with(func(q *dns.Msg) { q.SetEdns0(1232, false); q.IsEdns0().SetVersion(1) }), dns.RcodeBadVers},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := ask(t, test.qname, test.qtype, test.change)
			assert.Equal(t, dns.RcodeToString[test.rcode], dns.RcodeToString[m.Rcode])
			assert.False(t, m.Authoritative)
			assert.Empty(t, brief(slices.Concat(m.Answer, m.Ns, m.Extra)))
			assert.Equal(t, test.rcode == dns.RcodeFormatError && test.change != nil && m.IsEdns0() == nil,
				len(m.Question) == 0, "what is asked is repeated, unless that is what is wrong")
			if opt := m.IsEdns0(); opt != nil {
				assert.Zero(t, opt.Version(), "the highest that is known")
			}
		})
	}
}

// An answer holds the published text, in strings of valid length.
func TestLongRecord(t *testing.T) {
	m := ask(t, "_1.abc.spf.example.net.", dns.TypeTXT, func(q *dns.Msg) { q.SetEdns0(1232, true) })
	require.Len(t, m.Answer, 1)
	assert.Equal(t, long, dnsmsg.TXT(m.Answer[0].(*dns.TXT)))
	assert.Len(t, m.Answer[0].(*dns.TXT).Txt, 3)
	assert.True(t, m.IsEdns0().Do(), "RFC 3225 section 3")
	assert.EqualValues(t, maxDatagram, m.IsEdns0().UDPSize())
}

func TestTruncation(t *testing.T) {
	for _, test := range []struct {
		name  string
		qname string
		size  uint16 // 0: without EDNS
		want  bool
	}{
		{"without EDNS", "_1.abc.spf.example.net.", 0, true},
		{"less than the least", "_1.abc.spf.example.net.", 100, true},
		{"little", "_1.abc.spf.example.net.", 512, true},
		{"enough", "_1.abc.spf.example.net.", 900, false},
		{"more than is needed", "_1.abc.spf.example.net.", 65535, false},
		{"more than is sent", "huge.spf.example.net.", 65535, true},
		{"short, and the least is always taken", "abc.spf.example.net.", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := ask(t, test.qname, dns.TypeTXT, func(q *dns.Msg) {
				if test.size > 0 {
					q.SetEdns0(test.size, false)
				}
			})
			assert.Equal(t, test.want, m.Truncated)
			assert.Equal(t, !test.want, len(m.Answer) == 1)
			assert.Equal(t, dns.RcodeSuccess, m.Rcode)
			assert.Equal(t, test.size > 0, m.IsEdns0() != nil)
		})
	}
	q := onWire(t, new(dns.Msg).SetQuestion("huge.spf.example.net.", dns.TypeTXT))
	assert.Len(t, testSnapshot().answer(q, false).Answer, 1, "nothing is cut off by TCP")
}

// Addresses that do not fit are left out; the servers themselves are what the question asks for.
func TestManyNameservers(t *testing.T) {
	z := testZone()
	z.Nameservers = nil
	for i := range maxNameservers {
		ns := Nameserver{Name: diag.MustName(fmt.Sprintf("ns%d.spf.example.net", i))}
		for j := range maxAddresses {
			ns.Addrs = append(ns.Addrs, netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(i), byte(j), 15: 1}))
		}
		z.Nameservers = append(z.Nameservers, ns)
	}
	require.NoError(t, z.Validate())
	q := onWire(t, new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeNS))
	m := onWire(t, z.build(nil, 1).answer(q, true))
	assert.False(t, m.Truncated)
	assert.Len(t, m.Answer, maxNameservers)
	assert.Empty(t, m.Extra)
	assert.Len(t, z.build(nil, 1).answer(q, false).Extra, maxNameservers*maxAddresses)
}

func TestKeepalive(t *testing.T) {
	q := new(dns.Msg).SetQuestion("abc.spf.example.net.", dns.TypeTXT).SetEdns0(1232, false)
	q.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_TCP_KEEPALIVE{Code: dns.EDNS0TCPKEEPALIVE}}
	m := onWire(t, testSnapshot().answer(q, false))
	require.Len(t, m.IsEdns0().Option, 1)
	assert.EqualValues(t, idleTimeout/(100*time.Millisecond), m.IsEdns0().Option[0].(*dns.EDNS0_TCP_KEEPALIVE).Timeout)
	assert.Empty(t, testSnapshot().answer(q, true).IsEdns0().Option, "RFC 7828 section 3.2.1: not by UDP")
}

func TestZoneFaults(t *testing.T) {
	change := func(f func(*Zone)) Zone { z := testZone(); f(&z); return z }
	for _, test := range []struct {
		name string
		zone Zone
		want string
	}{
		{"good", testZone(), ""},
		{"contact", change(func(z *Zone) { z.Contact = "dns.admin@example.com" }), ""},
		{"no name", Zone{}, "the zone has no name"},
		{"root", change(func(z *Zone) { z.Name = diag.MustName(".") }), "the zone has no name"},
		{"wildcard", change(func(z *Zone) { z.Name = diag.MustName("*.example.net") }), "is a wildcard"},
		{"no server", change(func(z *Zone) { z.Nameservers = nil }), "has 0 name servers"},
		{"many servers", change(func(z *Zone) { z.Nameservers = make([]Nameserver, 14) }), "has 14 name servers"},
		{"nameless server", change(func(z *Zone) { z.Nameservers = []Nameserver{{}} }), "has no name"},
		{"no glue", change(func(z *Zone) { z.Nameservers[0].Addrs = nil }), "needs 1 to 4 addresses"},
		{"glue of others", change(func(z *Zone) { z.Nameservers[1].Addrs = z.Nameservers[0].Addrs }), "elsewhere"},
		{"lifetime", change(func(z *Zone) { z.TTL = 61 * time.Minute }), "is not between"},
		{"a zone that is registered", change(func(z *Zone) {
			z.Name, z.Nameservers = diag.MustName("example.net"), z.Nameservers[1:]
		}), "needs a contact"},
		{"no contact", change(func(z *Zone) { z.Contact = "me" }), "is not a mail address"},
		{"odd contact", change(func(z *Zone) { z.Contact = `"a b"@example.com` }), "cannot be written"},
		{"contact nowhere", change(func(z *Zone) { z.Contact = "a@b..c" }), "contact"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.zone.Validate()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
	z := change(func(z *Zone) { z.Contact = "dns.admin@example.com" })
	mailbox, err := z.mailbox()
	require.NoError(t, err)
	require.Equal(t, `dns\.admin.example.com.`, mailbox)
}

func TestParseNameserver(t *testing.T) {
	for _, test := range []struct{ text, want, err string }{
		{"ns.example.org", "ns.example.org []", ""},
		{"ns1.a.example=192.0.2.1/2001:DB8::1", "ns1.a.example [192.0.2.1 2001:db8::1]", ""},
		{"", "", "name server"},
		{"ns.example.org=", "", "is not an IP address"},
		{"ns.example.org=here", "", "is not an IP address"},
		{"ns.example.org=fe80::1%eth0", "", "is not an IP address"},
	} {
		ns, err := ParseNameserver(test.text)
		if test.err != "" {
			assert.ErrorContains(t, err, test.err, test.text)
			continue
		}
		if assert.NoError(t, err, test.text) {
			assert.Equal(t, test.want, fmt.Sprint(ns.Name, ns.Addrs))
		}
	}
}

// FuzzSplit checks that the published text is the text that is read.
func FuzzSplit(f *testing.F) {
	f.Add("v=spf1 -all")
	f.Add(long + long)
	f.Add(`\\"\065` + "\x00é")
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > 4096 {
			return
		}
		z := testZone()
		s := z.build([]published{{"a.spf.example.net.", value, 1, nil}}, 1)
		q := new(dns.Msg).SetQuestion("a.spf.example.net.", dns.TypeTXT)
		m := onWire(t, s.answer(q, false))
		require.Len(t, m.Answer, 1)
		require.Equal(t, value, dnsmsg.TXT(m.Answer[0].(*dns.TXT)))
	})
}

func BenchmarkAnswer(b *testing.B) {
	s := testSnapshot()
	q := onWire(b, new(dns.Msg).SetQuestion("aBc.spf.example.net.", dns.TypeTXT).SetEdns0(1232, false))
	buffer := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.answer(q, true).PackBuffer(buffer); err != nil {
			b.Fatal(err)
		}
	}
}
