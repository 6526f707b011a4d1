package resolver_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRootServersAreHints(t *testing.T) {
	var text strings.Builder
	for _, server := range resolver.RootServers() {
		text.WriteString(". 3600000 IN NS " + strings.ToUpper(server.Name) + "\n")
		for _, ip := range server.Addrs {
			rrtype := "A"
			if ip.Is6() {
				rrtype = "AAAA"
			}
			text.WriteString(server.Name + " 3600000 " + rrtype + " " + ip.String() + " ; a comment\n")
		}
	}
	parsed, err := resolver.ParseHints(text.String())
	require.NoError(t, err)
	assert.Equal(t, resolver.RootServers(), parsed)
	assert.Len(t, parsed, 13)
}

func TestParseHints(t *testing.T) {
	tests := []struct{ name, text, err string }{
		{"empty", "", "there is no NS record of the root"},
		{"no address", ". NS a.example.", "there is no NS record of the root"},
		{"another zone", "example. NS a.example.\na.example. A 192.0.2.1", "there is no NS record of the root"},
		{"no master file", ". NS a.example.\na.example. A 300.0.2.1", "line: 2"},
		{"other files", "$INCLUDE /etc/passwd", "root hints: "},
		{"too long", strings.Repeat(";\n", 40_000), "longer than 65536 bytes"},
		{"good", ". NS a.example.\n. NS b.example.\na.example. A 192.0.2.1\na.example. TXT x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := resolver.ParseHints(tt.text)
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				assert.Empty(t, list)
				return
			}
			require.NoError(t, err)
			a := resolver.NameServer{Name: "a.example.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
			assert.Equal(t, []resolver.NameServer{a}, list)
		})
	}
}

func FuzzParseHints(f *testing.F) {
	f.Add(". NS a.example.\na.example. A 192.0.2.1\na.example. AAAA 2001:db8::1")
	f.Add("$GENERATE 1-9 $ NS a.example.")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := resolver.ParseHints(text)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d servers, %v", len(list), err)
		}
		for _, server := range list {
			if len(server.Addrs) == 0 || server.Name != dns.CanonicalName(server.Name) {
				t.Fatalf("%+v", server)
			}
		}
	})
}

// hostile answers whatever it is asked with records made of fuzzed bytes. Each record takes four: its
// section, its owner, its type and what it points to.
type hostile struct {
	script []byte
	asked  atomic.Int64
}

func (h *hostile) ask(_ context.Context, _ resolver.Server, q *dns.Msg) (*dns.Msg, error) {
	n := int(h.asked.Add(1))
	m := new(dns.Msg).SetReply(q)
	asked := q.Question[0].Name
	names := []string{
		asked, ".", "a.", "b.a.", "c.b.a.", "ns.c.b.a.", "ns.other.", "x." + asked, "ns." + asked, "other.", "NS.A.",
	}
	next := func() int {
		if len(h.script) == 0 {
			return 0
		}
		n++
		return int(h.script[n%len(h.script)])
	}
	head := next()
	m.Authoritative, m.Truncated, m.Rcode = head&1 > 0, head&2 > 0 && head&64 > 0, []int{0, 0, 0, 3, 2, 5, 0, 0}[head>>2&7]
	for range head >> 5 {
		section, owner, rrtype, data := next(), names[next()%len(names)], next(), names[next()%len(names)]
		header := dns.RR_Header{Name: owner, Class: dns.ClassINET, Ttl: 1}
		var rr dns.RR
		switch rrtype % 6 {
		case 0:
			header.Rrtype = dns.TypeNS
			rr = &dns.NS{Hdr: header, Ns: data}
		case 1:
			header.Rrtype = dns.TypeCNAME
			rr = &dns.CNAME{Hdr: header, Target: data}
		case 2:
			header.Rrtype = dns.TypeA
			rr = &dns.A{Hdr: header, A: []byte{192, 0, 2, byte(rrtype)}}
		case 3:
			header.Rrtype = dns.TypeAAAA
			rr = &dns.AAAA{Hdr: header, AAAA: netip.MustParseAddr("2001:db8::1").AsSlice()}
		case 4:
			header.Rrtype = dns.TypeSOA
			rr = &dns.SOA{Hdr: header, Ns: data, Mbox: data}
		case 5:
			header.Rrtype = dns.TypeDNAME
			rr = &dns.DNAME{Hdr: header, Target: data}
		}
		switch section % 3 {
		case 0:
			m.Answer = append(m.Answer, rr)
		case 1:
			m.Ns = append(m.Ns, rr)
		case 2:
			m.Extra = append(m.Extra, rr)
		}
	}
	return m, nil
}

// However servers answer, a walk ends within its budget, goes down only, and believes no server about
// what lies outside the zone that it was asked for.
func FuzzIterator(f *testing.F) {
	f.Add([]byte{0xe1, 1, 2, 0, 6, 2, 3, 3, 0, 0xff, 0x40})
	f.Add([]byte{0x60, 1, 2, 0, 5, 1, 3, 0, 6, 0x60, 1, 4, 0, 6})
	f.Add([]byte{0x41, 0, 0, 1, 9, 0, 9, 1, 4})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, script []byte) {
		const budget = 60
		h := &hostile{script: script}
		it := &resolver.Iterator{Ask: h.ask, MaxQueries: budget}
		walk := it.Find(t.Context(), "www.c.b.a.", dns.TypeA, false)
		if asked := h.asked.Load(); asked > budget {
			t.Fatalf("%d questions", asked)
		}
		if walk.Reply == nil || walk.Err == nil && walk.Last.Reply == nil {
			t.Fatal("no reply")
		}
		for _, hop := range walk.Hops {
			checkHop(t, hop)
		}
		if rr := walk.Reply.Answer; walk.Err == nil && len(rr) > 0 && walk.Reply.Rcode == 0 {
			last := dns.CanonicalName(rr[len(rr)-1].Header().Name)
			if !slices.ContainsFunc(walk.Hops, func(h resolver.Hop) bool { return dns.IsSubDomain(h.Zone, last) }) {
				t.Fatalf("%s was believed", last)
			}
		}
		z := it.FindZone(t.Context(), "www.c.b.a.")
		if asked := h.asked.Load(); asked > 2*budget || z.Name == "" {
			t.Fatalf("%d questions; zone %q", asked, z.Name)
		}
	})
}

func checkHop(t *testing.T, hop resolver.Hop) {
	t.Helper()
	if !dns.IsSubDomain(hop.Zone, hop.Question.Name) {
		t.Fatalf("a server of %s was asked for %s", hop.Zone, hop.Question.Name)
	}
	if hop.Child == "" {
		return
	}
	if hop.Child == hop.Zone || !dns.IsSubDomain(hop.Zone, hop.Child) || !dns.IsSubDomain(hop.Child, hop.Question.Name) {
		t.Fatalf("from %s to %s for %s", hop.Zone, hop.Child, hop.Question.Name)
	}
	for _, rr := range hop.Glue {
		if !dns.IsSubDomain(hop.Zone, rr.Header().Name) {
			t.Fatalf("a server of %s told of %s", hop.Zone, rr.Header().Name)
		}
	}
}
