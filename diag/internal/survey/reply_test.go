package survey

import (
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Which messages are accepted as the reply to a query.
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
		want Standing
	}{
		{"authoritative", dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}, Answer: []dns.RR{soa}}, Authoritative},
		{"authoritative without SOA", dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}}, Authoritative},
		{"without AA", dns.Msg{Answer: []dns.RR{soa}}, NonAuthoritative},
		{"upward", dns.Msg{Ns: []dns.RR{rr("com. NS a.")}}, UpwardReferral},
		{"to the root", dns.Msg{Ns: []dns.RR{rr(". NS a.")}}, UpwardReferral},
		{"to itself", dns.Msg{Ns: []dns.RR{rr("example.com. NS a.")}}, Lame},
		{"to others", dns.Msg{Ns: []dns.RR{rr("org. NS a.")}}, Lame},
		{"refused with a referral", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeRefused}, Ns: []dns.RR{rr(". NS a.")}}, Lame},
		{"denied", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeNameError, Authoritative: true}}, Lame},
		{"empty", dns.Msg{}, Lame},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Reply{Result: Answered, Msg: &tt.m}.Standing("example.com."))
		})
	}
	require.Equal(t, noAnswer, Reply{Result: TimedOut}.Standing("example.com."))
}

// rr reads a record.
func rr(text string) dns.RR {
	r, err := dns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return r
}
