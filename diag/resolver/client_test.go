package resolver_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTruncatedReplyIsAskedForOverTCP(t *testing.T) {
	for name, udp := range map[string]handler{
		"TC": truncatedReply,
		"TC in the middle of a record": func(q *dns.Msg) [][]byte {
			wire := patch(q, func(w []byte) { w[2] |= 2 })
			return [][]byte{wire[:len(wire)-3]}
		},
		"oversize": func(q *dns.Msg) [][]byte { return [][]byte{append(reply(q), make([]byte, 4096)...)} },
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, udp, healthy)
			var trace resolver.Trace
			requireAnswer(t, resolver.WithTrace(t.Context(), &trace), newClient(t, f.server(resolver.UDP)))
			steps := trace.Steps()
			require.Len(t, steps, 2)
			assert.True(t, steps[0].Truncated)
			assert.Equal(t, resolver.UDP, steps[0].Transport)
			assert.False(t, steps[1].Truncated)
			assert.Equal(t, resolver.TCP, steps[1].Transport)
			assert.Equal(t, f.addr, steps[1].Addr)
		})
	}
}

func TestTruncatedReplyWithoutTCPIsAnError(t *testing.T) {
	f := serve(t, truncatedReply, nil)
	c := newClient(t, f.server(resolver.UDP))
	c.Attempts = 1
	_, err := c.Exchange(t.Context(), question())
	require.Error(t, err)
	assert.ErrorContains(t, err, "over TCP")
}

func TestAsIsReturnsWhatCame(t *testing.T) {
	t.Run("truncated", func(t *testing.T) {
		c := newClient(t, serve(t, truncatedReply, healthy).server(resolver.UDP))
		c.AsIs = true
		m, err := c.Exchange(t.Context(), question())
		require.NoError(t, err)
		assert.True(t, m.Truncated)
	})
	t.Run("FORMERR", func(t *testing.T) {
		f := serve(t, rcode(dns.RcodeFormatError), nil)
		c := newClient(t, f.server(resolver.UDP))
		c.AsIs = true
		q := question()
		q.SetEdns0(4096, true)
		m, err := c.Exchange(t.Context(), q)
		require.NoError(t, err)
		assert.Equal(t, dns.RcodeFormatError, m.Rcode)
		assert.Len(t, f.all(), 1)
	})
	t.Run("no EDNS is added", func(t *testing.T) {
		f := serve(t, healthy, nil)
		c := newClient(t, f.server(resolver.UDP))
		c.AsIs = true
		requireAnswer(t, t.Context(), c)
		assert.Nil(t, f.all()[0].IsEdns0())
	})
}

func TestMalformedReplyIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(q *dns.Msg) []byte{
		"record cut off":        func(q *dns.Msg) []byte { w := reply(q); return w[:len(w)-3] },
		"fewer records":         func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[7] = 200 }) },
		"name points to itself": func(q *dns.Msg) []byte { return patch(q, func(w []byte) { w[34] = 33 }) },
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, func(q *dns.Msg) [][]byte { return [][]byte{spoil(q)} }, nil)
			_, err := newClient(t, f.server(resolver.UDP)).Exchange(t.Context(), question())
			assert.ErrorContains(t, err, "reading the reply")
		})
	}
}

func TestEDNSRefusedIsAskedAgainWithoutOnce(t *testing.T) {
	refusing := func(header bool) handler {
		return func(q *dns.Msg) [][]byte {
			if q.IsEdns0() == nil {
				return healthy(q)
			}
			wire := rcode(dns.RcodeFormatError)(q)[0]
			if header {
				wire[5] = 0
				wire = wire[:12]
			}
			return [][]byte{wire}
		}
	}
	for name, header := range map[string]bool{"with the question": false, "the header alone": true} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, refusing(header), nil)
			requireAnswer(t, t.Context(), newClient(t, f.server(resolver.UDP)))
			assert.Len(t, f.all(), 2)
		})
	}
	t.Run("the next server gets EDNS again", func(t *testing.T) {
		first, second := serve(t, rcode(dns.RcodeFormatError), nil), serve(t, healthy, nil)
		requireAnswer(t, t.Context(), newClient(t, first.server(resolver.UDP), second.server(resolver.UDP)))
		require.Len(t, second.all(), 1)
		assert.NotNil(t, second.all()[0].IsEdns0())
	})
	t.Run("refused again", func(t *testing.T) {
		f := serve(t, rcode(dns.RcodeFormatError), nil)
		m, err := newClient(t, f.server(resolver.UDP)).Exchange(t.Context(), question())
		require.NoError(t, err)
		assert.Equal(t, dns.RcodeFormatError, m.Rcode)
		assert.Len(t, f.all(), 2)
	})
}

func TestEDNSIsAddedAndRemoved(t *testing.T) {
	withOPT := func(q *dns.Msg) [][]byte {
		return [][]byte{reply(q, func(m *dns.Msg) {
			m.SetEdns0(1400, q.IsEdns0().Do())
			m.Rcode = dns.RcodeBadVers
		})}
	}
	f := serve(t, withOPT, nil)
	c := newClient(t, f.server(resolver.UDP))

	q := question()
	m, err := c.Exchange(t.Context(), q)
	require.NoError(t, err)
	assert.Nil(t, q.IsEdns0(), "the caller's message must not change")
	assert.Nil(t, m.IsEdns0())
	assert.Equal(t, dns.RcodeBadVers, m.Rcode, "the upper bits of the rcode stand in the OPT record")
	opt := f.all()[0].IsEdns0()
	require.NotNil(t, opt)
	assert.Equal(t, uint16(1232), opt.UDPSize())
	assert.False(t, opt.Do())

	q.SetEdns0(900, true)
	m, err = c.Exchange(t.Context(), q)
	require.NoError(t, err)
	assert.NotNil(t, m.IsEdns0())
	opt = f.all()[1].IsEdns0()
	assert.Equal(t, uint16(900), opt.UDPSize())
	assert.True(t, opt.Do())
}

func TestBitsAreThoseOfTheCaller(t *testing.T) {
	f := serve(t, healthy, nil)
	c := newClient(t, f.server(resolver.UDP))
	for bits := range 8 {
		q := question()
		q.RecursionDesired, q.CheckingDisabled, q.AuthenticatedData = bits&1 > 0, bits&2 > 0, bits&4 > 0
		_, err := c.Exchange(t.Context(), q)
		require.NoError(t, err)
		got := f.all()[bits]
		assert.Equal(t, q.RecursionDesired, got.RecursionDesired)
		assert.Equal(t, q.CheckingDisabled, got.CheckingDisabled)
		assert.Equal(t, q.AuthenticatedData, got.AuthenticatedData)
	}
}

func TestQueryMustHoldOneQuestion(t *testing.T) {
	c := newClient(t, serve(t, healthy, nil).server(resolver.UDP))
	_, err := c.Exchange(t.Context(), new(dns.Msg))
	assert.ErrorContains(t, err, "exactly one question")
	_, err = c.Exchange(t.Context(), new(dns.Msg).SetQuestion(strings.Repeat("a", 64)+".", dns.TypeA))
	assert.ErrorContains(t, err, "packing the question")
}

func TestWhichRepliesAreFinal(t *testing.T) {
	for code, want := range map[int]int{
		dns.RcodeNameError:      dns.RcodeNameError,
		dns.RcodeServerFailure:  dns.RcodeServerFailure, // another server must not be asked for a forged answer
		dns.RcodeRefused:        dns.RcodeSuccess,
		dns.RcodeNotImplemented: dns.RcodeSuccess,
	} {
		t.Run(dns.RcodeToString[code], func(t *testing.T) {
			first, second := serve(t, rcode(code), nil), serve(t, healthy, nil)
			c := newClient(t, first.server(resolver.UDP), second.server(resolver.UDP))
			m, err := c.Exchange(t.Context(), question())
			require.NoError(t, err)
			assert.Equal(t, want, m.Rcode)
		})
	}
	t.Run("all refuse", func(t *testing.T) {
		f := serve(t, rcode(dns.RcodeRefused), nil)
		c := newClient(t, f.server(resolver.UDP), f.server(resolver.UDP))
		m, err := c.Exchange(t.Context(), question())
		require.NoError(t, err)
		assert.Equal(t, dns.RcodeRefused, m.Rcode)
		assert.Len(t, f.all(), 2)
	})
}

func TestSilentServerIsAskedLast(t *testing.T) {
	down, up := serve(t, silent, nil), serve(t, healthy, nil)
	c := newClient(t, down.server(resolver.UDP), up.server(resolver.UDP))
	c.Timeout = 50 * time.Millisecond
	for range 5 {
		requireAnswer(t, t.Context(), c)
	}
	assert.Len(t, down.all(), 1)
	assert.Len(t, up.all(), 5)
}

func TestClosedPortIsKnownAtOnce(t *testing.T) {
	down := serve(t, nil, nil)
	c := newClient(t, down.server(resolver.UDP))
	c.Timeout = time.Hour
	_, err := c.Exchange(t.Context(), question())
	require.Error(t, err)
	assert.NotErrorIs(t, err, resolver.ErrTimeout)
}

func TestCancellation(t *testing.T) {
	f := serve(t, silent, silent)
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		t.Run(string(transport), func(t *testing.T) {
			c := newClient(t, f.server(transport))
			c.Timeout = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			asked := len(f.all())
			for range 10 {
				group.Go(func() {
					_, err := c.Exchange(ctx, question())
					assert.Equal(t, context.Canceled, err)
				})
			}
			require.Eventually(t, func() bool { return len(f.all()) == asked+10 }, time.Minute, time.Millisecond)
			cancel()
			group.Wait()
			_, err := c.Exchange(ctx, question())
			assert.Equal(t, context.Canceled, err)
		})
	}
}

func TestCloseEndsExchanges(t *testing.T) {
	f := serve(t, silent, silent)
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		t.Run(string(transport), func(t *testing.T) {
			c := newClient(t, f.server(transport))
			c.Timeout = time.Hour
			var group sync.WaitGroup
			asked := len(f.all())
			for range 10 {
				group.Go(func() {
					_, err := c.Exchange(t.Context(), question())
					assert.Equal(t, resolver.ErrClosed, err)
				})
			}
			require.Eventually(t, func() bool { return len(f.all()) == asked+10 }, time.Minute, time.Millisecond)
			require.NoError(t, c.Close())
			group.Wait()
			_, err := c.Exchange(t.Context(), question())
			assert.ErrorIs(t, err, resolver.ErrClosed)
		})
	}
}

// collect answers in the reverse order of the questions, ten at a time.
func collect() handler {
	var mu sync.Mutex
	var held [][]byte
	return func(q *dns.Msg) [][]byte {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, reply(q))
		if len(held) < 10 {
			return nil
		}
		batch := held
		held = nil
		slices.Reverse(batch)
		return batch
	}
}

func TestManyInFlightOverOneConnection(t *testing.T) {
	f := serve(t, nil, collect())
	c := newClient(t, f.server(resolver.TCP))
	c.Timeout = 10 * time.Second
	manyQueries(t, c, 10, 5)
	assert.LessOrEqual(t, f.connections(), 1)
}

func TestManyInFlightOverUDP(t *testing.T) {
	f := serve(t, healthy, nil)
	c := newClient(t, f.server(resolver.UDP))
	c.Timeout, c.Attempts = 5*time.Second, 3
	manyQueries(t, c, 200, 20)
}

// manyQueries queries different names concurrently and requires the answer to each.
func manyQueries(t *testing.T, c *resolver.Client, workers, each int) {
	t.Helper()
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for k := range each {
				q := new(dns.Msg).SetQuestion(fmt.Sprintf("n%d-%d.example.", i, k), dns.TypeA)
				m, err := c.Exchange(t.Context(), q)
				if assert.NoError(t, err) && assert.Len(t, m.Answer, 1) {
					assert.Equal(t, q.Question[0].Name, m.Answer[0].Header().Name)
				}
			}
		})
	}
	group.Wait()
}

func TestPortsAndIdentifiersVary(t *testing.T) {
	f := serve(t, healthy, nil)
	c := newClient(t, f.server(resolver.UDP))
	const n = 1000
	for range n {
		requireAnswer(t, t.Context(), c)
	}
	ids, ports := map[uint16]bool{}, map[uint16]bool{}
	for i, q := range f.all() {
		ids[q.Id] = true
		ports[f.sources[i].Port()] = true
	}
	assert.Greater(t, len(ids), n-40) // 1000 of 65536: about 8 repeat
	assert.GreaterOrEqual(t, len(ports), 64)
}

// Queries of the same moment go out together, each to the server that it is for, and on ports that change.
func TestManyInFlightOverUDPToSeveralServers(t *testing.T) {
	var group sync.WaitGroup
	var fakes []*fake
	for range 3 {
		f := serve(t, healthy, nil)
		fakes = append(fakes, f)
		c := newClient(t, f.server(resolver.UDP))
		c.Timeout, c.Attempts = 20*time.Second, 1
		group.Go(func() { manyQueries(t, c, 50, 20) })
	}
	group.Wait()
	for _, f := range fakes {
		assert.Equal(t, 50*20, len(f.all()))
		ports := map[uint16]bool{}
		for i := range f.all() {
			ports[f.sources[i].Port()] = true
		}
		assert.GreaterOrEqual(t, len(ports), 16)
	}
}

func TestStreamIsUsedAgain(t *testing.T) {
	f := serve(t, nil, healthy)
	c := newClient(t, f.server(resolver.TCP))
	for range 20 {
		requireAnswer(t, t.Context(), c)
	}
	assert.Equal(t, 1, f.connections())
}

func TestStreamClosedByServerIsOpenedAgain(t *testing.T) {
	hangUp := func(q *dns.Msg) [][]byte { return [][]byte{reply(q), nil} }
	f := serve(t, nil, hangUp)
	c := newClient(t, f.server(resolver.TCP))
	c.Attempts = 1
	for range 10 {
		requireAnswer(t, t.Context(), c)
	}
	assert.Equal(t, 10, f.connections())
}

func TestStreamWithOddLengths(t *testing.T) {
	f := serve(t, nil, func(q *dns.Msg) [][]byte {
		large := reply(q, func(m *dns.Msg) {
			for range 2000 {
				m.Answer = append(m.Answer, address("www.example.com."))
			}
		})
		return [][]byte{{}, {1}, binary.BigEndian.AppendUint16(nil, q.Id), large}
	})
	m, err := newClient(t, f.server(resolver.TCP)).Exchange(t.Context(), question())
	require.NoError(t, err)
	assert.Len(t, m.Answer, 2001)
}

func TestAsk(t *testing.T) {
	f := serve(t, truncatedReply, healthy)
	var c resolver.Client
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		m, err := c.Ask(t.Context(), f.server(transport), question())
		require.NoError(t, err)
		assert.Len(t, m.Answer, 1)
	}
	assert.Equal(t, 2, f.connections(), "each has a connection of its own")
	_, err := c.Ask(t.Context(), resolver.Server{}, question())
	assert.ErrorContains(t, err, "must have one address")
}

func TestFirstServerIsAskedWhileItAnswers(t *testing.T) {
	one, two := serve(t, healthy, nil), serve(t, healthy, nil)
	c := newClient(t, one.server(resolver.UDP), two.server(resolver.UDP))
	for range 4 {
		requireAnswer(t, t.Context(), c)
	}
	assert.Len(t, one.all(), 4)
	assert.Empty(t, two.all())
}
