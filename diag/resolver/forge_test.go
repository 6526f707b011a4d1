package resolver_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forgeries are datagrams that are no reply to the query. Each begins like one.
var forgeries = map[string]func(q *dns.Msg) []byte{
	"wrong id":        func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[0] ^= 1 }) },
	"wrong name":      func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[13] ^= 1 }) },
	"wrong type":      func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[12+17+1] = 28 }) },
	"wrong class":     func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[12+17+3] = 3 }) },
	"wrong case":      func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[13] ^= 0x20 }) },
	"a query":         func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[2] &^= 0x80 }) },
	"another opcode":  func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[2] ^= 0x20 }) },
	"no question":     func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[5] = 0 })[:12] },
	"two questions":   func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[5] = 2 }) },
	"shorter":         func(q *dns.Msg) []byte { return reply(q)[:20] },
	"id alone":        func(q *dns.Msg) []byte { return reply(q)[:2] },
	"empty":           func(q *dns.Msg) []byte { return nil },
	"header SERVFAIL": func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[3], w[5] = 2, 0 })[:12] },
	"declined and more": func(q *dns.Msg) []byte {
		return patch(q, func(w []byte) { w[3], w[5] = 5, 0 })
	},
}

func TestForgedRepliesAreDiscarded(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			f := serve(t, func(q *dns.Msg) [][]byte { return [][]byte{forge(q), reply(q)} }, nil)
			c := newClient(t, f.server(resolver.UDP))
			c.Case0x20 = true
			requireAnswer(t, t.Context(), c)
			assert.Len(t, f.all(), 1)
		})
	}
}

func TestForgeryAloneIsSilence(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			f := serve(t, func(q *dns.Msg) [][]byte { return [][]byte{forge(q)} }, silent)
			c := newClient(t, f.server(resolver.UDP))
			c.Case0x20, c.Timeout, c.Attempts = true, 20*time.Millisecond, 1
			_, err := c.Exchange(t.Context(), question())
			require.ErrorIs(t, err, resolver.ErrTimeout)
		})
	}
}

func TestReplyFromAnotherAddressIsDiscarded(t *testing.T) {
	stranger, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer stranger.Close()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	go func() {
		buf := make([]byte, 512)
		n, from, err := server.ReadFrom(buf)
		q := new(dns.Msg)
		if err != nil || q.Unpack(buf[:n]) != nil {
			return
		}
		stranger.WriteTo(reply(q, func(m *dns.Msg) { m.Answer[0].(*dns.A).A = net.IPv4(203, 0, 113, 1) }), from)
		server.WriteTo(reply(q), from)
	}()
	addr := netip.MustParseAddrPort(server.LocalAddr().String())
	requireAnswer(t, t.Context(), newClient(t, resolver.Server{Addrs: []netip.Addr{addr.Addr()}, Port: addr.Port()}))
}

func TestServerThatLosesCaseIsAskedOverTCP(t *testing.T) {
	lower := func(q *dns.Msg) [][]byte {
		q.Question[0].Name = strings.ToLower(q.Question[0].Name)
		return healthy(q)
	}
	f := serve(t, lower, healthy)
	c := newClient(t, f.server(resolver.UDP))
	c.Case0x20, c.Timeout = true, 50*time.Millisecond
	requireAnswer(t, t.Context(), c)
	assert.Equal(t, 1, f.connections())
}

func TestCaseIsRandomAndRestored(t *testing.T) {
	f := serve(t, healthy, nil)
	c := newClient(t, f.server(resolver.UDP))
	c.Case0x20 = true
	for range 20 {
		requireAnswer(t, t.Context(), c)
	}
	spelt := map[string]bool{}
	for _, q := range f.all() {
		require.Equal(t, "www.example.com.", strings.ToLower(q.Question[0].Name))
		spelt[q.Question[0].Name] = true
	}
	assert.Greater(t, len(spelt), 15) // of 8192 spellings, 20 draws hardly repeat one
}

// A question that goes out as it is has its name in random letter case all the same.
func TestCaseIsRandomForOneServer(t *testing.T) {
	f := serve(t, healthy, nil)
	c := newClient(t)
	c.AsIs, c.Case0x20 = true, true
	spelt := map[string]bool{}
	for range 20 {
		m, err := c.Ask(t.Context(), f.server(resolver.UDP), question())
		require.NoError(t, err)
		require.Equal(t, question().Question, m.Question)
	}
	for _, q := range f.all() {
		spelt[q.Question[0].Name] = true
	}
	assert.Greater(t, len(spelt), 15)
}
