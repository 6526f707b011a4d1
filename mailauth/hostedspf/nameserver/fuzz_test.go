package nameserver

import (
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// recorder is a client whose answer is kept.
type recorder struct {
	dns.ResponseWriter
	reply []byte
	addr  net.Addr
	asked []byte // the question on the wire
}

func (r *recorder) TsigStatus() error { return dns.TsigVerify(r.asked, testSecret, "", false) }

func (r *recorder) TsigTimersOnly(bool) {}

func (r *recorder) RemoteAddr() net.Addr { return r.addr }

func (r *recorder) WriteMsg(m *dns.Msg) (err error) {
	r.reply, err = m.Pack()
	return err
}

// FuzzHandler throws messages at the server. Whatever can be read is answered, once, in a form that fits,
// by the same rules.
func FuzzHandler(f *testing.F) {
	add := func(name string, qtype uint16, change func(*dns.Msg)) {
		q := new(dns.Msg).SetQuestion(name, qtype)
		if change != nil {
			change(q)
		}
		wire, err := q.Pack()
		require.NoError(f, err)
		f.Add(wire, true)
		f.Add(wire, false)
	}
	add("abc.spf.example.net.", dns.TypeTXT, nil)
	add("_1.ABC.spf.example.net.", dns.TypeTXT, func(q *dns.Msg) { q.SetEdns0(4096, true) })
	add("spf.example.net.", dns.TypeANY, func(q *dns.Msg) { q.SetEdns0(1, false); q.IsEdns0().SetVersion(3) })
	add("ent.spf.example.net.", dns.TypeAXFR, func(q *dns.Msg) { q.Opcode = dns.OpcodeUpdate })
	add(".", dns.TypeNS, func(q *dns.Msg) { q.Question[0].Qclass = dns.ClassCHAOS })
	add("spf.example.net.", dns.TypeAXFR, testKey().sign)
	add("spf.example.net.", dns.TypeIXFR, func(q *dns.Msg) {
		q.Ns = []dns.RR{testSnapshot().soa}
		q.SetTsig("key.example.", dns.HmacSHA256, fudge, 0)
	})
	add("spf.example.net.", dns.TypeSOA, func(q *dns.Msg) {
		q.SetTsig("key.example.", dns.HmacSHA1, fudge, 0)
		q.SetTsig("other.example.", dns.HmacSHA256, fudge, 0)
	})
	s := &Server{limiter: newLimiter(-1, newProfile(0).CreatedAt), cookies: newJar(), transfers: make(chan struct{}, maxTransfers)}
	s.config.Clock = newProfile(0).CreatedAt.UTC
	s.config.Key, s.config.Log = testKey(), slog.New(slog.DiscardHandler)
	s.current.Store(testSnapshot())
	f.Fuzz(func(t *testing.T, wire []byte, datagram bool) {
		q := new(dns.Msg)
		if len(wire) > maxDatagram || q.Unpack(wire) != nil || q.Response {
			return
		}
		r := &recorder{addr: &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1)}, asked: wire}
		if !datagram {
			r.addr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
		}
		s.ServeDNS(r, q)
		require.NotEmpty(t, r.reply, "no answer to %v", q)
		m := new(dns.Msg)
		require.NoError(t, m.Unpack(r.reply))
		checkReply(t, q, m, len(r.reply), datagram)
	})
}

func checkReply(t *testing.T, q, m *dns.Msg, size int, datagram bool) {
	require.True(t, m.Response)
	require.Equal(t, q.Id, m.Id)
	require.Equal(t, q.Opcode, m.Opcode)
	require.False(t, m.RecursionAvailable || m.AuthenticatedData)
	opts := options(q)
	require.Equal(t, len(opts) > 0, m.IsEdns0() != nil)
	if datagram {
		limit := minDatagram
		if len(opts) > 0 {
			limit = min(max(limit, int(opts[0].UDPSize())), maxDatagram)
		}
		require.LessOrEqual(t, size, limit)
	} else {
		require.False(t, m.Truncated)
	}
	codes := []int{
		dns.RcodeSuccess, dns.RcodeNameError, dns.RcodeRefused, dns.RcodeFormatError, dns.RcodeNotImplemented,
		dns.RcodeBadVers, dns.RcodeNotAuth,
	}
	if m.Rcode == dns.RcodeNotAuth {
		require.NotNil(t, m.IsTsig())
		m.Extra = m.Extra[:len(m.Extra)-1]
		require.Empty(t, slices.Concat(m.Answer, m.Ns, m.Extra))
		return
	}
	require.True(t, slices.Contains(codes, m.Rcode), "%v", m)
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		require.False(t, m.Authoritative)
		require.Empty(t, m.Answer)
		require.Empty(t, m.Ns)
		return
	}
	require.Equal(t, q.Question, m.Question)
	require.True(t, m.Authoritative)
	require.True(t, dns.IsSubDomain("spf.example.net.", dns.CanonicalName(q.Question[0].Name)))
	if !m.Truncated {
		require.NotEqual(t, len(m.Answer) == 0, len(m.Ns) == 0, "an answer, or the reason for none")
	}
	for _, rr := range m.Answer {
		require.Equal(t, q.Question[0].Name, rr.Header().Name)
	}
}
