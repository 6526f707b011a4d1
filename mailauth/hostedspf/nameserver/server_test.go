package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newProfile publishes records at a name and at names below it.
func newProfile(n int, values ...string) hostedspf.Profile {
	host := diag.MustName(fmt.Sprintf("h%d.spf.example.net", n))
	p := hostedspf.Profile{
		ID: fmt.Sprintf("spf_%026d", n), IncludeHost: host, IntervalSeconds: 3600, Owner: "key_a",
		CreatedAt: time.Date(2026, 1, 15, 12, 0, n, 0, time.UTC), Domain: diag.MustDomain("example.com"),
	}
	for i, v := range values {
		name := host.String()
		if i > 0 {
			name = fmt.Sprintf("_%d.%s", i, host)
		}
		p.Records = append(p.Records, hostedspf.Record{Name: name, Value: v, LengthBytes: len(v)})
	}
	return p
}

// flaky is a store that can fail.
type flaky struct {
	hostedspf.Store
	mu  sync.Mutex
	err error
}

func (f *flaky) fail(err error) { f.mu.Lock(); defer f.mu.Unlock(); f.err = err }

func (f *flaky) Version(ctx context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	return f.Store.Version(ctx)
}

func newStore(t testing.TB, profiles ...hostedspf.Profile) *flaky {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	for _, p := range profiles {
		require.NoError(t, store.Create(t.Context(), p))
	}
	return &flaky{Store: store}
}

// serve serves on a free port of loopback until the test ends.
func serve(t testing.TB, store hostedspf.Store, change func(*Config)) *Server {
	c := Config{Zone: testZone(), Store: store, Rate: -1}
	if change != nil {
		change(&c)
	}
	s, err := Listen(t.Context(), "127.0.0.1:0", c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	return s
}

// client queries the server as diagnostics query resolvers.
func client(t testing.TB, s *Server, transport resolver.Transport) *resolver.Client {
	address := netip.MustParseAddrPort(s.Addr())
	c := &resolver.Client{Servers: []resolver.Server{
		{Transport: transport, Addrs: []netip.Addr{address.Addr()}, Port: address.Port()},
	}}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServe(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, "v=spf1 include:_1.h1.spf.example.net -all", long)), nil)
	require.Equal(t, 2, s.Records())
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		t.Run(string(transport), func(t *testing.T) {
			c := client(t, s, transport)
			m, err := c.Exchange(t.Context(), dnsmsg.Question("_1.h1.spf.example.net.", dns.TypeTXT, false))
			require.NoError(t, err)
			require.Len(t, m.Answer, 1)
			require.Equal(t, long, dnsmsg.TXT(m.Answer[0].(*dns.TXT)))
			m, err = c.Exchange(t.Context(), dnsmsg.Question("h2.spf.example.net.", dns.TypeTXT, true))
			require.NoError(t, err)
			require.Equal(t, dns.RcodeNameError, m.Rcode)
			m, err = c.Exchange(t.Context(), dnsmsg.Question("example.com.", dns.TypeTXT, true))
			require.NoError(t, err)
			require.Equal(t, dns.RcodeRefused, m.Rcode)
		})
	}
}

// A client without EDNS gets long answers by TCP.
func TestTruncatedOverUDP(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, long)), nil)
	q := new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT)
	m, err := dns.ExchangeContext(t.Context(), q, s.Addr())
	require.NoError(t, err)
	require.True(t, m.Truncated)
	require.Empty(t, m.Answer)
	tcp := &dns.Client{Net: "tcp"}
	m, _, err = tcp.ExchangeContext(t.Context(), q, s.Addr())
	require.NoError(t, err)
	require.Len(t, m.Answer, 1)
}

// The walk of a resolver through the delegation leads to the record.
func TestDelegation(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, "v=spf1 -all")), nil)
	parent := Zone{Name: diag.MustName("example.net"), Nameservers: []Nameserver{{Name: diag.MustName("ns.example.org")}}, Contact: "a@example.org"}
	above := parent.build(nil, 1)
	c := client(t, s, resolver.UDP)
	c.AsIs = true
	it := &resolver.Iterator{
		Roots: []resolver.NameServer{{Name: "ns.example.org.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}},
		Ask: func(ctx context.Context, server resolver.Server, q *dns.Msg) (*dns.Msg, error) {
			if server.Addrs[0] == netip.MustParseAddr("192.0.2.53") {
				return c.Exchange(ctx, q)
			}
			m := new(dns.Msg).SetReply(q)
			if server.Addrs[0] == netip.MustParseAddr("192.0.2.1") {
				m.Ns = named(testSnapshot().nodes["spf.example.net."][dns.TypeNS], "spf.example.net.")
				m.Extra = []dns.RR{dnsmsg.AddressRecord("ns1.spf.example.net.", netip.MustParseAddr("192.0.2.53"), seconds(zoneTTL))}
			} else {
				m.Rcode = above.answer(q, true).Rcode
			}
			return m, nil
		},
		NoIPv6: true,
	}
	m, err := it.Exchange(t.Context(), dnsmsg.Question("h1.spf.example.net.", dns.TypeTXT, false))
	require.NoError(t, err)
	require.Len(t, m.Answer, 1, "%v", m)
	m, err = it.Exchange(t.Context(), dnsmsg.Question("none.spf.example.net.", dns.TypeTXT, false))
	require.NoError(t, err)
	require.Equal(t, dns.RcodeNameError, m.Rcode)
}

// A malformed question gets no answer or a short one, and the server continues.
func TestJunk(t *testing.T) {
	s := serve(t, newStore(t), nil)
	conn := dial(t, s, "udp")
	response := new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA)
	response.Response = true
	wire, err := response.Pack()
	require.NoError(t, err)
	for _, silent := range [][]byte{{}, {1}, make([]byte, 11), wire} {
		_, err := conn.Write(silent)
		require.NoError(t, err)
	}
	header := func(counts ...byte) []byte {
		b := []byte{0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		for i, n := range counts {
			b[5+2*i] = n
		}
		return b
	}
	for _, junk := range [][]byte{
		header(0), header(2), append(header(1), 0xc0, 0x0c, 0, 1, 0, 1), append(header(1), 63), header(0, 0, 0, 255),
	} {
		_, err := conn.Write(junk)
		require.NoError(t, err)
		b := make([]byte, 512)
		n, err := conn.Read(b)
		require.NoError(t, err)
		m := new(dns.Msg)
		require.NoError(t, m.Unpack(b[:n]))
		require.Equal(t, dns.RcodeFormatError, m.Rcode, "%x", junk)
		require.EqualValues(t, 7, m.Id)
		require.LessOrEqual(t, n, max(12, len(junk)), "nothing is amplified")
	}
	require.NoError(t, answers(dial(t, s, "tcp")))
}

// Beyond its rate a network gets truncated answers or none, and by TCP everything.
func TestRateOverUDP(t *testing.T) {
	outcomes := make(chan string, 100)
	s := serve(t, newStore(t, newProfile(1, "v=spf1 -all")), func(c *Config) {
		now := time.Now()
		c.Rate, c.Observe, c.Clock = 2, func(o string) { outcomes <- o }, func() time.Time { return now }
	})
	conn := dial(t, s, "udp")
	q := new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT)
	got := map[string]int{}
	for range 6 {
		require.NoError(t, (&dns.Conn{Conn: conn}).WriteMsg(q))
		got[<-outcomes]++
	}
	require.Equal(t, map[string]int{"NOERROR": 4, dropped: 2}, got)
	cut := 0
	for range 4 {
		m, err := (&dns.Conn{Conn: conn}).ReadMsg()
		require.NoError(t, err)
		require.Equal(t, m.Truncated, len(m.Answer) == 0)
		if m.Truncated {
			cut++
		}
	}
	require.Equal(t, 2, cut)
	stream := dial(t, s, "tcp")
	for range 10 {
		require.NoError(t, answers(stream))
	}
}

// Changes are seen, failures are survived, and names go with their profile.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t, newProfile(1, "v=spf1 -all"))
		s, err := New(t.Context(), Config{Zone: testZone(), Store: store})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go s.follow(ctx)
		rcode := func(n int) string {
			time.Sleep(poll + time.Millisecond)
			synctest.Wait()
			q := new(dns.Msg).SetQuestion(newProfile(n).IncludeHost.FQDN(), dns.TypeTXT)
			return dns.RcodeToString[s.current.Load().answer(q, true).Rcode]
		}
		require.Equal(t, "NOERROR", rcode(1))
		require.Equal(t, "NXDOMAIN", rcode(2))
		serial := s.current.Load().soa.Serial
		require.NoError(t, store.Create(t.Context(), newProfile(2, "v=spf1 -all")))
		require.Equal(t, "NOERROR", rcode(2))
		require.Greater(t, s.current.Load().soa.Serial, serial)

		require.Less(t, time.Since(s.Updated()), 2*poll)
		store.fail(errors.New("the disk is gone"))
		require.NoError(t, store.Remove(t.Context(), newProfile(1).ID))
		require.Equal(t, "NOERROR", rcode(1), "the last snapshot stays")
		require.Error(t, s.Refresh(t.Context()))
		require.GreaterOrEqual(t, time.Since(s.Updated()), poll)
		store.fail(nil)
		require.Equal(t, "NXDOMAIN", rcode(1))

		_, err = store.Update(t.Context(), newProfile(2).ID, func(p *hostedspf.Profile) error {
			p.IsPaused, p.Status = true, hostedspf.Paused
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "NOERROR", rcode(2), "paused is still published")
		before := s.current.Load()
		require.Equal(t, "NOERROR", rcode(2))
		require.Same(t, before, s.current.Load(), "nothing is read when nothing has changed")
		cancel()
		synctest.Wait()
	})
}

// slow is a store that is slow to return its version.
type slow struct {
	hostedspf.Store
	pause func()
}

func (s slow) Version(ctx context.Context) (int64, error) {
	defer s.pause()
	return s.Store.Version(ctx)
}

// Changes made while a store was slow to answer are not known yet.
func TestUpdatedBySlowStore(t *testing.T) {
	began := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	now := began
	s, err := New(t.Context(), Config{
		Zone: testZone(), Clock: func() time.Time { return now },
		Store: slow{newStore(t), func() { now = now.Add(time.Minute) }},
	})
	require.NoError(t, err)
	require.True(t, began.Equal(s.Updated()), s.Updated())
	began = now
	require.NoError(t, s.Refresh(t.Context()))
	require.True(t, began.Equal(s.Updated()), s.Updated())
}

// Only records in the zone are served, and never two at one name.
func TestPublished(t *testing.T) {
	elsewhere := newProfile(2, "v=spf1 -all")
	elsewhere.Records[0].Name = "_flat.example.com"
	second := newProfile(3, "v=spf1 +all", "v=spf1 ?all")
	second.Records[0].Name = "H1.spf.example.net"
	fast := newProfile(4, "v=spf1 -all")
	fast.IntervalSeconds = 30
	store := newStore(t, newProfile(1, "v=spf1 -all"), elsewhere, second, fast)
	s, err := New(t.Context(), Config{Zone: testZone(), Store: store})
	require.NoError(t, err)
	require.Equal(t, 3, s.Records())
	ask := func(name string) []string {
		return brief(s.current.Load().answer(new(dns.Msg).SetQuestion(name, dns.TypeTXT), true).Answer)
	}
	assert.Equal(t, []string{`h1.spf.example.net. 300 IN TXT "v=spf1 -all"`}, ask("h1.spf.example.net."), "the older")
	assert.Equal(t, []string{`_1.h3.spf.example.net. 300 IN TXT "v=spf1 ?all"`}, ask("_1.h3.spf.example.net."))
	assert.Equal(t, []string{`h4.spf.example.net. 30 IN TXT "v=spf1 -all"`}, ask("h4.spf.example.net."))
	assert.Empty(t, ask("_flat.example.com."))
}

// A store with more profiles than a page holds.
func TestPages(t *testing.T) {
	store := newStore(t)
	for n := range 2*pageProfiles + 1 {
		p := newProfile(n, "v=spf1 -all")
		p.CreatedAt = newProfile(0).CreatedAt // all at the same time
		require.NoError(t, store.Create(t.Context(), p))
	}
	s, err := New(t.Context(), Config{Zone: testZone(), Store: store})
	require.NoError(t, err)
	require.Equal(t, 2*pageProfiles+1, s.Records())
}

func TestListenFaults(t *testing.T) {
	store := newStore(t)
	for _, test := range []struct {
		name, address string
		config        Config
		want          string
	}{
		{"no zone", "127.0.0.1:0", Config{Store: store}, "the zone has no name"},
		{"no store", "127.0.0.1:0", Config{Zone: testZone()}, "without a store"},
		{"no port", "127.0.0.1", Config{Zone: testZone(), Store: store}, "missing port"},
		{"no address", "192.0.2.256:53", Config{Zone: testZone(), Store: store}, "listening for DNS"},
	} {
		_, err := Listen(t.Context(), test.address, test.config)
		assert.ErrorContains(t, err, test.want, test.name)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, err = Listen(t.Context(), "127.0.0.1:"+strconv.Itoa(port), Config{Zone: testZone(), Store: store})
	require.ErrorContains(t, err, "in use")
	store.fail(errors.New("the disk is gone"))
	_, err = Listen(t.Context(), "127.0.0.1:0", Config{Zone: testZone(), Store: store})
	require.ErrorContains(t, err, "the disk is gone")
}

// An idle client does not delay the shutdown.
func TestShutdown(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0", Config{Zone: testZone(), Store: newStore(t)})
	require.NoError(t, err)
	require.NoError(t, answers(dial(t, s, "tcp")))
	began := time.Now()
	require.NoError(t, s.Shutdown(t.Context()))
	require.Less(t, time.Since(began), idleTimeout/2)
	var d net.Dialer
	_, err = d.DialContext(t.Context(), "tcp", s.Addr())
	require.Error(t, err)
	require.Empty(t, s.Err(), "that was no failure")

	never, err := New(t.Context(), Config{Zone: testZone(), Store: newStore(t)})
	require.NoError(t, err)
	require.NoError(t, never.Shutdown(t.Context()))
}

// A socket that fails is reported.
func TestFailure(t *testing.T) {
	s := serve(t, newStore(t), nil)
	require.NoError(t, s.servers[0].PacketConn.Close())
	require.ErrorContains(t, <-s.Err(), "serving DNS on "+s.Addr())
	require.NoError(t, answers(dial(t, s, "tcp")), "what is left still works")
}

// A panic ends one answer, not the server: questions are untrusted.
func TestPanicInAnAnswer(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	s := &Server{config: Config{Clock: func() time.Time { panic("a bug in one clock") }, Log: log}}
	s.ServeDNS(&sink{}, ask(t, "h1.spf.example.net.", dns.TypeTXT, nil))
}

// A panic of the store ends one check, not the process.
func TestPanicOfTheStore(t *testing.T) {
	s := &Server{}
	require.ErrorContains(t, s.contained(func() error { panic("a bug in one store") }), "a bug in one store")
	require.NoError(t, s.contained(func() error { return nil }))
}
