package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An exchangerFunc is an upstream made of a function.
type exchangerFunc func(ctx context.Context, q *dns.Msg) (*dns.Msg, error)

func (f exchangerFunc) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return f(ctx, q) }

// An origin counts the questions that reach it, and answers with records in zone file format.
type origin struct {
	asked  atomic.Int32
	change func(m *dns.Msg)
}

func (o *origin) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	o.asked.Add(1)
	m := new(dns.Msg).SetReply(q)
	o.change(m)
	return m, nil
}

func record(text string) dns.RR {
	rr, err := dns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return rr
}

func records(texts ...string) []dns.RR {
	list := []dns.RR{}
	for _, text := range texts {
		list = append(list, record(text))
	}
	return list
}

const (
	anAddress = "www.example.com. 60 IN A 192.0.2.1"
	soa       = "example.com. 600 IN SOA ns.example.com. admin.example.com. 1 7200 900 86400 30"
)

// How long each sort of reply is kept, to the second.
func TestHowLongRepliesAreKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *dns.Msg)
		want   time.Duration
	}{
		{"answer", func(m *dns.Msg) { m.Answer = records(anAddress) }, time.Minute},
		{"shortest of all sections", func(m *dns.Msg) {
			m.Answer = records(anAddress)
			m.Ns = records("example.com. 40 IN NS ns.example.com.")
			m.Extra = records("ns.example.com. 20 IN A 192.0.2.53")
		}, 20 * time.Second},
		{"OPT has no TTL", func(m *dns.Msg) { m.Answer = records(anAddress); m.SetEdns0(1232, false) }, time.Minute},
		{"TTL zero", func(m *dns.Msg) { m.Answer = records("www.example.com. 0 IN A 192.0.2.1") }, 0},
		{"TTL negative, RFC 2181 section 8", func(m *dns.Msg) {
			m.Answer = records(anAddress)
			m.Answer[0].Header().Ttl = 1 << 31
		}, 0},
		{"TTL of a day is capped", func(m *dns.Msg) {
			m.Answer = records("www.example.com. 86400 IN A 192.0.2.1")
		}, 5 * time.Minute},
		{"NXDOMAIN: minimum of the SOA", func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, records(soa)
		}, 30 * time.Second},
		{"no data: TTL of the SOA", func(m *dns.Msg) {
			m.Ns = records("example.com. 10 IN SOA ns.example.com. admin.example.com. 1 7200 900 86400 3600")
		}, 10 * time.Second},
		{"no data is capped", func(m *dns.Msg) {
			m.Ns = records("example.com. 7200 IN SOA ns.example.com. admin.example.com. 1 7200 900 86400 3600")
		}, time.Minute},
		{"alias of nothing", func(m *dns.Msg) {
			m.Answer, m.Ns = records("www.example.com. 20 IN CNAME a.example.com."), records(soa)
		}, 20 * time.Second},
		{"alias alone, without SOA", func(m *dns.Msg) {
			m.Answer = records("www.example.com. 20 IN CNAME a.example.com.")
		}, 0},
		{"NXDOMAIN without SOA", func(m *dns.Msg) { m.Rcode = dns.RcodeNameError }, 0},
		{"referral", func(m *dns.Msg) { m.Ns = records("example.com. 600 IN NS ns.example.com.") }, 0},
		{"empty", func(*dns.Msg) {}, 0},
		{"truncated", func(m *dns.Msg) { m.Truncated, m.Answer = true, records(anAddress) }, 0},
		{"SERVFAIL", func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }, 2 * time.Second},
		{"REFUSED", func(m *dns.Msg) { m.Rcode = dns.RcodeRefused }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &origin{change: c.change}
				cache := &resolver.Cache{Upstream: up}
				ask := func() int32 {
					_, err := cache.Exchange(t.Context(), question())
					require.NoError(t, err)
					return up.asked.Load()
				}
				require.EqualValues(t, 1, ask())
				if c.want == 0 {
					assert.EqualValues(t, 2, ask(), "must not be kept")
					assert.Zero(t, cache.Len())
					return
				}
				<-time.After(c.want - time.Nanosecond)
				assert.EqualValues(t, 1, ask(), "must be kept")
				<-time.After(time.Nanosecond)
				assert.EqualValues(t, 2, ask(), "must be over")
			})
		})
	}
}

// With MinTTL whatever came is kept that long, but for what was cut off.
func TestMinTTL(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *dns.Msg)
		want   time.Duration
	}{
		{"TTL zero", func(m *dns.Msg) { m.Answer = records("www.example.com. 0 IN A 192.0.2.1") }, 30 * time.Second},
		{"longer TTL", func(m *dns.Msg) { m.Answer = records(anAddress) }, time.Minute},
		{"NXDOMAIN without SOA", func(m *dns.Msg) { m.Rcode = dns.RcodeNameError }, 30 * time.Second},
		{"SERVFAIL", func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }, 30 * time.Second},
		{"REFUSED", func(m *dns.Msg) { m.Rcode = dns.RcodeRefused }, 30 * time.Second},
		{"truncated", func(m *dns.Msg) { m.Truncated, m.Answer = true, records(anAddress) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &origin{change: c.change}
				cache := &resolver.Cache{Upstream: up, MinTTL: 30 * time.Second}
				ask := func() int32 {
					_, err := cache.Exchange(t.Context(), question())
					require.NoError(t, err)
					return up.asked.Load()
				}
				require.EqualValues(t, 1, ask())
				if c.want == 0 {
					assert.EqualValues(t, 2, ask(), "must not be kept")
					return
				}
				<-time.After(c.want - time.Nanosecond)
				assert.EqualValues(t, 1, ask(), "must be kept")
				<-time.After(time.Nanosecond)
				assert.EqualValues(t, 2, ask(), "must be over")
			})
		})
	}
}

func TestHitIsACopyForTheCaller(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	up := &origin{change: func(m *dns.Msg) { m.Answer = records(anAddress) }}
	cache := &resolver.Cache{Upstream: up, Clock: func() time.Time { return now }}
	first, err := cache.Exchange(t.Context(), question())
	require.NoError(t, err)
	first.Answer[0].(*dns.A).A[0] = 0
	first.Answer[0].Header().Name = "spoilt."

	now = now.Add(12*time.Second + 500*time.Millisecond)
	q := new(dns.Msg).SetQuestion("WWW.Example.COM.", dns.TypeA)
	for range 2 {
		m, err := cache.Exchange(t.Context(), q)
		require.NoError(t, err)
		assert.Equal(t, q.Id, m.Id)
		assert.Equal(t, q.Question, m.Question)
		assert.Equal(t, record("WWW.Example.COM. 48 IN A 192.0.2.1").String(), m.Answer[0].String())
		m.Answer[0].Header().Ttl = 0
	}
	assert.EqualValues(t, 1, up.asked.Load())
}

func TestWhatRepliesAreKeptBy(t *testing.T) {
	up := &origin{change: func(m *dns.Msg) { m.Answer = records(anAddress) }}
	cache := &resolver.Cache{Upstream: up}
	different := []func(q *dns.Msg){
		func(*dns.Msg) {},
		func(q *dns.Msg) { q.Question[0].Name = "other.example.com." },
		func(q *dns.Msg) { q.Question[0].Qtype = dns.TypeANY },
		func(q *dns.Msg) { q.Question[0].Qtype, q.Question[0].Qclass = dns.TypeANY, dns.ClassCHAOS },
		func(q *dns.Msg) { q.RecursionDesired = false },
		func(q *dns.Msg) { q.CheckingDisabled = true },
		func(q *dns.Msg) { q.AuthenticatedData = true },
		func(q *dns.Msg) { q.SetEdns0(1232, false) },
		func(q *dns.Msg) { q.SetEdns0(1232, true) },
	}
	for i := range 2 * len(different) {
		q := question()
		different[i%len(different)](q)
		_, err := cache.Exchange(t.Context(), q)
		require.NoError(t, err)
	}
	assert.EqualValues(t, len(different), up.asked.Load())

	passing := []func(q *dns.Msg){
		func(q *dns.Msg) {
			q.SetEdns0(1232, false)
			q.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_NSID{Code: dns.EDNS0NSID}}
		},
		func(q *dns.Msg) { q.Opcode = dns.OpcodeNotify },
		func(q *dns.Msg) { q.Question = append(q.Question, q.Question[0]) },
	}
	up.asked.Store(0)
	for i := range 2 * len(passing) {
		q := question()
		passing[i%len(passing)](q)
		_, err := cache.Exchange(t.Context(), q)
		require.NoError(t, err)
	}
	assert.EqualValues(t, 2*len(passing), up.asked.Load())
}

func TestCacheIsBounded(t *testing.T) {
	up := &origin{change: func(m *dns.Msg) {
		m.Answer = records(m.Question[0].Name + " 60 IN TXT " + fmt.Sprintf("%0200d", 0))
	}}
	ask := func(cache *resolver.Cache, i int) {
		q := new(dns.Msg).SetQuestion(fmt.Sprintf("n%d.example.", i), dns.TypeTXT)
		_, err := cache.Exchange(t.Context(), q)
		require.NoError(t, err)
	}
	t.Run("entries", func(t *testing.T) {
		cache := &resolver.Cache{Upstream: up, MaxEntries: 100}
		for i := range 1000 {
			ask(cache, i)
		}
		assert.LessOrEqual(t, cache.Len(), 100)
		assert.Greater(t, cache.Len(), 50)
	})
	t.Run("bytes", func(t *testing.T) {
		cache := &resolver.Cache{Upstream: up, MaxEntries: 10, MaxBytes: 4 * 800}
		for i := range 1000 {
			ask(cache, i)
		}
		assert.LessOrEqual(t, cache.Len(), 4)
		assert.Positive(t, cache.Len())
	})
	t.Run("one that does not fit", func(t *testing.T) {
		cache := &resolver.Cache{Upstream: up, MaxEntries: 10, MaxBytes: 100}
		ask(cache, 1)
		assert.Zero(t, cache.Len())
	})
	t.Run("the least recently used goes", func(t *testing.T) {
		cache := &resolver.Cache{Upstream: up, MaxEntries: 3}
		for _, i := range []int{1, 2, 3, 1, 4} {
			ask(cache, i)
		}
		up.asked.Store(0)
		ask(cache, 1)
		ask(cache, 3)
		assert.Zero(t, up.asked.Load())
		ask(cache, 2)
		assert.EqualValues(t, 1, up.asked.Load())
	})
}

// blocking is an upstream that answers on a signal, and takes a second to notice that no caller waits.
type blocking struct {
	asked, ended atomic.Int32
	release      chan struct{}
}

func (b *blocking) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	b.asked.Add(1)
	defer b.ended.Add(1)
	select {
	case <-b.release:
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{address(q.Question[0].Name)}
		return m, nil
	case <-ctx.Done():
		<-time.After(time.Second)
		return nil, ctx.Err()
	}
}

func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &blocking{release: make(chan struct{})}
		cache := &resolver.Cache{Upstream: up}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { // the first caller leaves, and reuses the message
			q := question()
			_, err := cache.Exchange(ctx, q)
			assert.Equal(t, context.Canceled, err)
			q.Question[0].Name = "spoilt.example."
		})
		synctest.Wait()
		replies := make([]*dns.Msg, 10)
		for i := range replies {
			group.Go(func() {
				m, err := cache.Exchange(t.Context(), question())
				assert.NoError(t, err)
				replies[i] = m
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		assert.Zero(t, up.ended.Load(), "the others still wait")
		close(up.release)
		group.Wait()
		assert.EqualValues(t, 1, up.asked.Load())
		for i := range replies[1:] {
			assert.Equal(t, "www.example.com.", replies[i].Answer[0].Header().Name)
			assert.NotSame(t, replies[i], replies[i+1])
			assert.NotSame(t, replies[i].Answer[0], replies[i+1].Answer[0])
		}
	})
}

func TestFlightEndsWhenAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &blocking{release: make(chan struct{})}
		cache := &resolver.Cache{Upstream: up}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				_, err := cache.Exchange(ctx, question())
				assert.Equal(t, context.Canceled, err)
			})
		}
		synctest.Wait()
		cancel()
		group.Wait()
		synctest.Wait()
		assert.Zero(t, up.ended.Load(), "it has not noticed yet")
		close(up.release) // and a new caller starts a new exchange
		requireAnswer(t, t.Context(), cache)
		assert.EqualValues(t, 2, up.asked.Load())
		<-time.After(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2, up.ended.Load())
	})
}

func TestErrorsAreSharedAndNotKept(t *testing.T) {
	broken := errors.New("out of order")
	n := 0
	cache := &resolver.Cache{Upstream: exchangerFunc(func(context.Context, *dns.Msg) (*dns.Msg, error) {
		n++
		return nil, broken
	})}
	for range 2 {
		_, err := cache.Exchange(t.Context(), question())
		assert.Equal(t, broken, err)
	}
	assert.Equal(t, 2, n)
}

func TestTraceThroughTheCache(t *testing.T) {
	f := serve(t, truncatedReply, healthy)
	cache := &resolver.Cache{Upstream: newClient(t, f.server(resolver.UDP))}
	var fresh, cached resolver.Trace
	requireAnswer(t, resolver.WithTrace(t.Context(), &fresh), cache)
	requireAnswer(t, resolver.WithTrace(t.Context(), &cached), cache)
	require.Len(t, fresh.Steps(), 2)
	assert.True(t, fresh.Steps()[0].Truncated)
	assert.False(t, fresh.Steps()[1].FromCache)
	require.Len(t, cached.Steps(), 1)
	step := cached.Steps()[0]
	assert.True(t, step.FromCache)
	assert.Equal(t, resolver.TCP, step.Transport)
	assert.Equal(t, f.addr, step.Addr)
	assert.Equal(t, question().Question[0], step.Question)
	assert.Equal(t, dns.RcodeSuccess, step.Rcode)
}

func TestTraceIsBounded(t *testing.T) {
	var trace resolver.Trace
	cache := &resolver.Cache{Upstream: &origin{change: func(m *dns.Msg) { m.Answer = records(anAddress) }}}
	ctx := resolver.WithTrace(t.Context(), &trace)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 100 {
				_, err := cache.Exchange(ctx, question())
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	assert.Len(t, trace.Steps(), 512)
}

func benchmarkCache(b *testing.B, workers int) {
	cache := &resolver.Cache{Upstream: &origin{change: func(m *dns.Msg) {
		m.Answer = []dns.RR{address(m.Question[0].Name)}
	}}}
	var next atomic.Int32
	measure(b, workers, func() func(context.Context, *dns.Msg) error {
		name := fmt.Sprintf("n%d.example.", next.Add(1))
		return func(ctx context.Context, q *dns.Msg) error {
			q.Question[0].Name = name
			_, err := cache.Exchange(ctx, q)
			return err
		}
	})
}

func BenchmarkCacheHit1(b *testing.B)  { benchmarkCache(b, 1) }
func BenchmarkCacheHit64(b *testing.B) { benchmarkCache(b, 64) }
