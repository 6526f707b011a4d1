package zonecheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// The audit of a healthy zone waits for few exchanges: a few queries at a time to each address, all addresses
// concurrently.
func TestRoundTrips(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(*stage)
		want  int
	}{
		{"healthy", zoned(goodZone), 12},
		{"signed", sealed(diagtest.Signing{}), 12},
		{"not registered", func(s *stage) { s.Zone(parentZone + around); s.ServeZones() }, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
				tt.setup(&stage{World: w, env: w.Env()})
			}, func(ctx context.Context, env *diag.Env) {
				_, err := Check(ctx, env, request)
				require.NoError(t, err)
			})
			require.Equal(t, tt.want, trips)
		})
	}
}

// Each server is asked for every type at the apex. Before that was so, an audit sent as many queries and took as long, with
// servers at a distance of 20 ms, as is held here: it may cost half as much again.
func TestCost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		setup   func(*stage)
		queries int
		takes   time.Duration
	}{
		{"healthy", zoned(goodZone), 124, 300 * time.Millisecond},
		{"signed", sealed(diagtest.Signing{}), 124, 300 * time.Millisecond},
		{"IPv4 only", zoned(drop("2001:")), 84, 340 * time.Millisecond},
		{"one server silent", configured(func(c *diagtest.ServerConfig) { c.Silent = true }), 92, 3040 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &stage{World: diagtest.NewWorld(t)}
			s.env = s.World.Env()
			tt.setup(s)
			s.Latency(20 * time.Millisecond)
			began := time.Now()
			_, err := Check(t.Context(), s.env, request)
			require.NoError(t, err)
			queries, took := len(s.Queries()), time.Since(began)
			t.Logf("%-18s %3d queries before, %3d now; %v before, %v now", tt.name, tt.queries, queries, tt.takes, took)
			require.LessOrEqual(t, queries, tt.queries*3/2)
			require.LessOrEqual(t, took, tt.takes*3/2)
		})
	}
}

// However the servers behave, the audit ends in time and is honest about what it does not know.
func TestTimeLimit(t *testing.T) {
	delayed := func(d time.Duration) func(*stage) {
		return func(s *stage) {
			s.serve(goodZone)
			for _, ns := range []*diagtest.Server{s.ns1, s.ns2} {
				ns.Fault("*.", 0, diagtest.Fault{Delay: d})
				ns.Fault("example.com", 0, diagtest.Fault{Delay: d})
			}
		}
	}
	tests := []struct {
		name   string
		setup  func(*stage)
		atMost time.Duration
	}{
		{"all servers silent", func(s *stage) {
			s.serve(goodZone)
			s.ns1.Configure(diagtest.ServerConfig{Silent: true})
			s.ns2.Configure(diagtest.ServerConfig{Silent: true})
		}, 4 * time.Second},
		{"everything but the first question is dropped", func(s *stage) {
			s.serve(goodZone)
			for _, ns := range []*diagtest.Server{s.ns1, s.ns2} {
				ns.Fault("*.", 0, diagtest.Fault{Silent: true})
				for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeNS, dns.TypeDNSKEY} {
					ns.Fault("example.com", qtype, diagtest.Fault{Silent: true})
				}
			}
		}, survey.Timeout},
		{"slow servers", delayed(time.Second), survey.Timeout},
		{"very slow servers", delayed(2900 * time.Millisecond), survey.Timeout},
		{"resolver silent about a server", func(s *stage) {
			s.serve(goodZone)
			s.Zone("example.com. NS ns4.example.net.")
			s.Silence("ns4.example.net")
		}, survey.Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stage{World: diagtest.NewWorld(t)}
				s.env = s.World.Env()
				tt.setup(s)
				began := time.Now()
				r, err := Check(t.Context(), s.env, request)
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(began), tt.atMost)
				require.True(t, r.Partial)
			})
		})
	}
}

// A caller with less time gets a report before its deadline.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.serve(goodZone)
		s.ns1.Configure(diagtest.ServerConfig{Silent: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := Check(ctx, s.World.Env(), request)
		require.NoError(t, err)
		require.True(t, r.Partial)
		require.NotContains(t, codes(r), "transport.tcp", "what was not waited for is not held against anybody")
	})
}

// No server gets more than a few queries at a time, and all queries stay within the budget.
func TestQueryLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		s := &stage{World: w}
		var zone strings.Builder
		for i := range 13 {
			fmt.Fprintf(&zone, "example.com. 3600 NS n%d.example.com.\nn%d.example.com. A 198.51.100.%d\n"+
				"n%d.example.com. AAAA 2001:db8:%d::1\n", i, i, i+100, i, i+100)
		}
		s.Zone(parentZone + zone.String() + "example.com. SOA n0.example.com. h.example.com. 1 14400 3600 1209600 3600\n")
		s.ServeZones()
		w.Latency(10 * time.Millisecond)
		load := &load{open: map[string]int{}}
		env := w.NewEnv()
		env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := w.Dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return load.watch(c, netip.MustParseAddrPort(addr).Addr().String()), nil
		}
		r, err := Check(t.Context(), env, request)
		require.NoError(t, err)
		require.Equal(t, survey.MaxInFlight, load.most)
		require.LessOrEqual(t, len(w.Queries()), survey.MaxQueries)
		require.Len(t, r.Nameservers, 13)
		for _, n := range r.Nameservers {
			for _, a := range n.Addresses {
				require.True(t, a.UDP && a.TCP && a.Authoritative && a.EDNS, "%s %s", n.Name, a.Address)
			}
		}
		require.NotContains(t, codes(r), "transport.unfinished")
		t.Logf("13 servers with two addresses: %d queries", len(w.Queries()))
	})
}

// A load counts the connections that are open to each address.
type load struct {
	mu   sync.Mutex
	open map[string]int
	most int
}

func (l *load) watch(c net.Conn, addr string) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[addr]++
	l.most = max(l.most, l.open[addr])
	return &watched{Conn: c, done: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[addr]--
	}}
}

type watched struct {
	net.Conn
	once sync.Once
	done func()
}

func (w *watched) Close() error {
	w.once.Do(w.done)
	return w.Conn.Close()
}

func TestErrors(t *testing.T) {
	w := diagtest.NewWorld(t)
	var input *diag.InputError
	_, err := Check(t.Context(), w.Env(), Request{})
	require.ErrorAs(t, err, &input)

	w.Silence("*.")
	w.Silence(".")
	_, err = Check(t.Context(), w.Env(), request)
	require.ErrorIs(t, err, diag.ErrUnavailable)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Check(ctx, w.Env(), request)
	require.ErrorIs(t, err, context.Canceled)
}

// A domain as long as domains can be has no room for more labels.
func TestLongDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		long := strings.Repeat("a.", 124) + "com"
		s.Zone(parentZone + long + ". SOA ns1.nic.com. h.nic.com. 1 14400 3600 1209600 3600\n" + long + ". NS ns1.nic.com.\n")
		s.ServeZones()
		r, err := Check(t.Context(), s.World.Env(), Request{Domain: diag.MustDomain(long)})
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(long, "a."), r.Parent.Zone)
		require.True(t, r.Nameservers[0].Addresses[0].Authoritative)
	})
}

func TestReport(t *testing.T) {
	r := play(t, func(s *stage) {
		s.serve(swap("MX 10 mx.example.com.", "MX 10 www2.example.com.") + "www2.example.com. CNAME www.example.com.\n" +
			"example.com. 3600 NS ns3.example.net.\n")
		s.Sign("example.com", diagtest.Signing{})
		s.ns1.Configure(diagtest.ServerConfig{Recursive: true, NSID: "ams1", Transfer: true})
		s.ns2.Configure(diagtest.ServerConfig{Silent: true})
		s.Server("ns3.example.net", "", strings.ReplaceAll(goodZone, "2026010101", "2025123100"))
	})
	r.DurationMS = 0
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
	require.NoError(t, rules().Check())
	for _, rule := range rules() {
		require.NotEmpty(t, rule.Ref, rule.Code)
		require.NotEmpty(t, rule.Advice, rule.Code)
		require.NotEmpty(t, rule.Title, rule.Code)
		require.Contains(t, Category("").Values(), rule.Category.Code, rule.Code)
	}
}

// Each test case of Zonemaster is named by a rule, but for those that a name which is a domain fulfills, those that are
// facts of the report, and those that nothing depends on.
func TestZonemasterCases(t *testing.T) {
	families := map[string]int{"ADDRESS": 3, "BASIC": 3, "CONNECTIVITY": 4, "CONSISTENCY": 6, "DELEGATION": 7,
		"DNSSEC": 18, "NAMESERVER": 15, "SYNTAX": 8, "ZONE": 11}
	var refs strings.Builder
	for _, rule := range rules() {
		refs.WriteString(rule.Ref + " ")
	}
	elsewhere := map[string]bool{
		"SYNTAX01": true, "SYNTAX02": true, // guaranteed by diag.Domain
		"NAMESERVER14": true, // never published
		"NAMESERVER15": true, "BASIC03": true, "CONSISTENCY02": true, "CONSISTENCY03": true,
		"CONSISTENCY06": true, "DNSSEC15": true, // facts
		"ADDRESS02": true, "ADDRESS03": true, "SYNTAX03": true, "ZONE04": true,
	}
	for family, n := range families {
		for i := range n {
			name := fmt.Sprintf("%s%02d", family, i+1)
			require.True(t, elsewhere[name] || strings.Contains(refs.String(), name), "no rule names %s", name)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	w := diagtest.NewWorld(b)
	w.Zone(parentZone + around + goodZone)
	w.ServeZones()
	w.Sign("example.com", diagtest.Signing{})
	b.ReportAllocs()
	for b.Loop() {
		_, err := Check(b.Context(), w.Env(), request)
		require.NoError(b, err)
	}
}

// The report does not wait for what is unrelated to the domain: neither zones for reverse lookups, nor a firewall
// before a rarely used port.
func TestNoWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.serve(goodZone)
		s.Silence("*.in-addr.arpa")
		s.Silence("*.cymru.com")
		s.Behave("ns1.example.com:853", diagtest.Unreachable)
		s.Behave("ns2.example.com:853", diagtest.Unreachable)
		began := time.Now()
		r, err := Check(t.Context(), s.World.Env(), request)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), 350*time.Millisecond)
		require.Equal(t, "", codes(r))
	})
}
