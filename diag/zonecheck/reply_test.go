package zonecheck

import (
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Which messages are taken for the reply to a query.
func TestAnswers(t *testing.T) {
	q := plain("example.com.", dns.TypeSOA)
	tests := []struct {
		name        string
		change      func(m *dns.Msg)
		same, exact bool
	}{
		{"reply", func(*dns.Msg) {}, true, true},
		{"other letter case", func(m *dns.Msg) { m.Question[0].Name = "EXAMPLE.com." }, true, false},
		{"other name", func(m *dns.Msg) { m.Question[0].Name = "example.org." }, false, false},
		{"other type", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeA }, false, true},
		{"other class", func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, false, true},
		{"two questions", func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, false, true},
		{"other identifier", func(m *dns.Msg) { m.Id++ }, false, false},
		{"a query", func(m *dns.Msg) { m.Response = false }, false, false},
		{"no question, not understood", func(m *dns.Msg) { m.Question, m.Rcode = nil, dns.RcodeFormatError }, true, true},
		{"no question, understood", func(m *dns.Msg) { m.Question = nil }, false, true},
		{"no question, denied", func(m *dns.Msg) { m.Question, m.Rcode = nil, dns.RcodeNameError }, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := new(dns.Msg).SetReply(q)
			tt.change(m)
			same, exact := answers(m, q)
			require.Equal(t, tt.same, same)
			require.Equal(t, tt.exact, exact)
		})
	}
}

func TestStanding(t *testing.T) {
	soa := rr("example.com. SOA a. b. 1 1 1 1 1")
	tests := []struct {
		name string
		m    dns.Msg
		want standing
	}{
		{"authoritative", dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}, Answer: []dns.RR{soa}}, authoritative},
		{"authoritative without SOA", dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}}, authoritative},
		{"modest", dns.Msg{Answer: []dns.RR{soa}}, modest},
		{"upward", dns.Msg{Ns: []dns.RR{rr("com. NS a.")}}, upward},
		{"to the root", dns.Msg{Ns: []dns.RR{rr(". NS a.")}}, upward},
		{"to itself", dns.Msg{Ns: []dns.RR{rr("example.com. NS a.")}}, lame},
		{"to others", dns.Msg{Ns: []dns.RR{rr("org. NS a.")}}, lame},
		{"refused with a referral", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeRefused}, Ns: []dns.RR{rr(". NS a.")}}, lame},
		{"denied", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeNameError, Authoritative: true}}, lame},
		{"empty", dns.Msg{}, lame},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, standingOf(reply{outcome: answered, msg: &tt.m}, "example.com."))
		})
	}
	require.Equal(t, mute, standingOf(reply{outcome: silent}, "example.com."))
}

// What a reply may hold about other domains.
func TestUnrelated(t *testing.T) {
	alias := rr("example.com. CNAME www.example.net.")
	tests := []struct {
		name  string
		m     dns.Msg
		found string
	}{
		{"own records", dns.Msg{Answer: []dns.RR{rr("www.example.com. A 192.0.2.1")}}, ""},
		{"another domain", dns.Msg{Extra: []dns.RR{rr("www.example.org. A 192.0.2.1")}}, "www.example.org."},
		{"the zone above", dns.Msg{Ns: []dns.RR{rr("com. SOA a. b. 1 1 1 1 1")}}, "com."},
		{"target of an alias", dns.Msg{Answer: []dns.RR{alias, rr("www.example.net. A 192.0.2.1")}}, ""},
		{"zone of the target", dns.Msg{Answer: []dns.RR{alias}, Ns: []dns.RR{rr("example.net. SOA a. b. 1 1 1 1 1")}}, ""},
		{"beside an alias", dns.Msg{Answer: []dns.RR{alias, rr("www.example.org. A 192.0.2.1")}}, "www.example.org."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &evidence{zone: "example.com."}
			require.Equal(t, tt.found, e.unrelated(reply{outcome: answered, msg: &tt.m}))
		})
	}
}
