package nameserver

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerPacked answers a datagram from packed answers; nil if it is not plain.
func answerPacked(s *snapshot, query []byte, now time.Time) []byte {
	var p plain
	if !p.isPlain(query) {
		return nil
	}
	return p.to(nil, s.ready(&p, query, now).full, query)
}

func TestPlain(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*dns.Msg)
		plain  bool
	}{
		{"a question", func(*dns.Msg) {}, true},
		{"with EDNS", func(q *dns.Msg) { q.SetEdns0(1232, true) }, true},
		{"that asks for recursion and validation", func(q *dns.Msg) { q.RecursionDesired, q.CheckingDisabled, q.AuthenticatedData = true, true, true }, true},
		{"a reply", func(q *dns.Msg) { q.Response = true }, false},
		{"an update", func(q *dns.Msg) { q.Opcode = dns.OpcodeUpdate }, false},
		{"of another class", func(q *dns.Msg) { q.Question[0].Qclass = dns.ClassCHAOS }, false},
		{"two questions", func(q *dns.Msg) { q.Question = append(q.Question, q.Question[0]) }, false},
		{"a transfer", func(q *dns.Msg) { q.Question[0].Qtype = dns.TypeIXFR }, false},
		{"with a record", func(q *dns.Msg) { q.Ns = []dns.RR{testSnapshot().soa} }, false},
		{"another version of EDNS", func(q *dns.Msg) { q.SetEdns0(1232, false).IsEdns0().SetVersion(1) }, false},
		{"with a cookie", func(q *dns.Msg) {
			q.SetEdns0(1232, false).IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"}}
		}, false},
		{"that is signed", testKey().sign, false},
	} {
		q := new(dns.Msg).SetQuestion("abc.spf.example.net.", dns.TypeTXT)
		test.change(q)
		wire, err := q.Pack()
		require.NoError(t, err)
		assert.Equal(t, test.plain, new(plain).isPlain(wire), test.name)
		assert.False(t, new(plain).isPlain(append(wire, 0)), "%s, and more", test.name)
		assert.False(t, new(plain).isPlain(wire[:len(wire)-1]), "%s, cut off", test.name)
	}
}

// A packed answer equals a fresh one, for any letter case of the name, with the ID and RD of the question.
func FuzzPacked(f *testing.F) {
	for _, name := range []string{"abc.spf.example.net.", "_1.ABC.spf.example.net.", "huge.spf.example.net.", "none.spf.example.net.", "spf.example.net.", "a."} {
		for _, size := range []uint16{0, 512, 1000, 1232, 4096} {
			for _, qtype := range []uint16{dns.TypeTXT, dns.TypeNS, dns.TypeANY} {
				q := new(dns.Msg).SetQuestion(name, qtype)
				if size > 0 {
					q.SetEdns0(size, size == 1232)
				}
				wire, err := q.Pack()
				require.NoError(f, err)
				f.Add(wire)
			}
		}
	}
	now := newProfile(0).CreatedAt
	key, err := NewSigningKey(testZone().Name)
	require.NoError(f, err)
	by, err := newSigner(&Config{Zone: testZone(), Signing: []SigningKey{key}, Clock: now.UTC})
	require.NoError(f, err)
	snapshots := []*snapshot{testSnapshot(), testSnapshot().signedBy(by)}
	f.Fuzz(func(t *testing.T, wire []byte) {
		for _, s := range snapshots {
			first := answerPacked(s, wire, now)
			if first == nil {
				return
			}
			q := new(dns.Msg)
			require.NoError(t, q.Unpack(wire), "what is plain can be read")
			want := onWire(t, s.answer(q, true))
			for range 2 { // made now, and found
				m := new(dns.Msg)
				require.NoError(t, m.Unpack(answerPacked(s, wire, now)))
				require.Equal(t, q.Id, m.Id)
				require.Equal(t, q.RecursionDesired, m.RecursionDesired)
				require.Equal(t, q.Question, m.Question)
				require.Equal(t, strings.ToLower(want.String()), strings.ToLower(m.String()))
			}
		}
	})
}

// A client that has had its share gets an empty answer that sends it to TCP.
func TestPackedAnswersAreBounded(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, "v=spf1 -all")), func(c *Config) { c.Rate, c.Clock = 1, newProfile(0).CreatedAt.UTC })
	conn := dial(t, s, "udp")
	c, q := &dns.Conn{Conn: conn}, new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT).SetEdns0(1232, false)
	var got []*dns.Msg
	for range 5 { // one is answered, and of the others two get a short answer
		require.NoError(t, c.WriteMsg(q))
	}
	for range 3 {
		m, err := c.ReadMsg()
		require.NoError(t, err)
		got = append(got, m)
	}
	require.Len(t, got[0].Answer, 1)
	for _, m := range got[1:] {
		require.True(t, m.Truncated)
		require.Empty(t, m.Answer)
		require.NotNil(t, m.IsEdns0())
	}
}

// On a socket bound to all addresses of the machine, an answer comes from the queried address, whether packed or not.
func TestAnswersComeFromWhereTheyWereAsked(t *testing.T) {
	for _, network := range []string{"127.0.0.2", "::1"} {
		s, err := Listen(t.Context(), "[::]:0", Config{Zone: testZone(), Store: newStore(t, newProfile(1, "v=spf1 -all")), Rate: -1})
		if err != nil {
			s, err = Listen(t.Context(), "0.0.0.0:0", Config{Zone: testZone(), Store: newStore(t, newProfile(1, "v=spf1 -all")), Rate: -1})
		}
		require.NoError(t, err)
		defer s.Shutdown(t.Context())
		_, port, err := net.SplitHostPort(s.Addr())
		require.NoError(t, err)
		conn, err := new(net.Dialer).DialContext(t.Context(), "udp", net.JoinHostPort(network, port)) // filters answers
		if err != nil {
			continue // a machine without IPv6, or without more addresses of loopback
		}
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		c := &dns.Conn{Conn: conn}
		for _, change := range []func(*dns.Msg){func(*dns.Msg) {}, func(q *dns.Msg) { q.SetEdns0(1232, false).IsEdns0().SetVersion(1) }} {
			q := new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT)
			change(q)
			require.NoError(t, c.WriteMsg(q))
			m, err := c.ReadMsg()
			require.NoError(t, err)
			require.Equal(t, q.Id, m.Id)
		}
	}
}
