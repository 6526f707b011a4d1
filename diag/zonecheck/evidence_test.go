package zonecheck

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A record holds the queries answered in a world: by source and type, such as "server MX".
type record struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (r *record) note(who string, m *dns.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[who] = true // anything at all
	settled := m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError
	if settled && !m.Truncated && len(m.Question) == 1 {
		r.seen[who+" "+dns.TypeToString[m.Question[0].Qtype]] = true
	}
}

// grounds are the answers of which a rule needs at least one to be fulfilled, by prefix of its code; the first match
// counts.
var grounds = []struct{ code, answers string }{
	{"zone.parent.", "parent NS"},
	{"zone.delegation.lame", "server SOA"},
	{"zone.delegation.unreachable", "server SOA"},
	{"zone.delegation.cyclic", "parent NS,resolver A,resolver AAAA"}, {"zone.delegation.", "parent NS"},
	{"zone.glue.", "parent NS"},
	{"zone.ns.literal", "parent NS,resolver NS"}, {"zone.ns.name", "parent NS,resolver NS"},
	{"zone.ns.alias", "resolver A,resolver AAAA"},
	{"zone.ns.address.", "parent NS,resolver A,resolver AAAA"}, {"zone.ns.address", "resolver A,resolver AAAA"},
	{"zone.diversity.asn", "resolver TXT"}, {"zone.diversity.", "parent NS,resolver A,resolver AAAA"},
	{"zone.ns.aaaa.", "server AAAA,server A"}, {"zone.answers.", "server A"},
	{"zone.ns.lame", "server"}, {"zone.ns.unauthoritative", "server"}, {"zone.ns.upward", "server"},
	{"zone.ns.malformed", "server"}, {"zone.ns.source", "server"}, {"zone.ns.forged", "server"},
	{"zone.ns.closed", "server"}, {"zone.ns.unreachable", "server"}, {"zone.ns.slow", "server"},
	{"zone.ns.recursion", "server"},
	{"zone.ns.", "server SOA"}, {"zone.names.within", "server A"}, {"zone.wildcard", "server A"},
	{"zone.transport.", "server"}, {"zone.edns.truncated", "server"}, {"zone.edns.", "server SOA"},
	{"zone.axfr", "server SOA"}, {"zone.soa.mname.alias", "resolver A,resolver AAAA"},
	{"zone.soa.", "server SOA"}, {"zone.apex.alias", "server SOA"}, {"zone.records.txt", "server TXT"},
	{"zone.records.", "server A,server AAAA"}, {"zone.caa", "server CAA"}, {"zone.https", "server HTTPS"},
	{"zone.zonemd", "server ZONEMD"}, {"zone.alias.", "resolver A,resolver CNAME"},
	{"zone.mx.alias", "resolver A,resolver AAAA"}, {"zone.mx.address", "resolver A,resolver AAAA"},
	{"zone.mx.blocked", "resolver A,resolver AAAA"}, {"zone.target.", "resolver A,resolver AAAA"},
	{"zone.mx.", "server MX"}, {"zone.spf.", "server TXT"}, {"zone.dnssec.cds.", "server CDS,server CDNSKEY"},
	{"zone.dnssec.ds.", "parent DS"}, {"zone.dnssec.", "server DNSKEY"},
}

// anyBehaviour draws how a server behaves; half of them do it well.
func anyBehaviour(r *rand.Rand) diagtest.ServerConfig {
	return []diagtest.ServerConfig{good, good, good, good, {Silent: true}, {NoUDP: true, NoTCP: true},
		{Truncate: true, NoTCP: true}, {NoAA: true}}[r.IntN(8)]
}

// A moody resolver fails for what a function names.
type moody struct {
	inner diag.Resolver
	fails func(q dns.Question) bool
	note  func(*dns.Msg)
}

// Exchange implements [diag.Resolver].
func (m moody) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if m.fails(q.Question[0]) {
		return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure), nil
	}
	reply, err := m.inner.Exchange(ctx, q)
	if err == nil {
		m.note(reply)
	}
	return reply, err
}

// anyWorld draws a world in which servers, the parent zone and the resolver fail, wholly or for some types.
func anyWorld(s *stage, r *rand.Rand, rec *record) {
	s.serve(goodZone)
	if r.IntN(2) == 0 {
		s.Sign("example.com", diagtest.Signing{})
	}
	for _, host := range []string{"ns1.nic.com", "ns2.nic.com", "ns1.example.com", "ns2.example.com"} {
		s.Server(host, "").Configure(anyBehaviour(r))
	}
	failing := map[uint16]int{}
	for _, t := range []uint16{dns.TypeNS, dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeDNSKEY, dns.TypeDS,
		dns.TypeCAA, dns.TypeHTTPS, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeZONEMD} {
		failing[t] = r.IntN(8) // of these, 1 to 3 fail
	}
	s.meddle(func(ip netip.Addr, q, m *dns.Msg) []*dns.Msg {
		switch failing[q.Question[0].Qtype] {
		case 1:
			m.Rcode, m.Answer, m.Ns = dns.RcodeServerFailure, nil, nil
		case 2:
			m.Truncated, m.Answer, m.Ns = true, nil, nil
		case 3:
			m.Rcode, m.Answer, m.Ns = dns.RcodeRefused, nil, nil
		}
		who := "server"
		if strings.HasSuffix(ip.String(), ".2") || strings.HasSuffix(ip.String(), "::2") {
			who = "parent"
		}
		rec.note(who, m)
		return []*dns.Msg{m}
	})
	broken := r.IntN(6) // of these, 0 and 1 fail, for all names or for those of one type
	qtype := []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypePTR, dns.TypeTXT}[r.IntN(5)]
	s.env.Resolver = moody{
		inner: s.World,
		fails: func(q dns.Question) bool { return broken == 0 && q.Name != "com." || broken == 1 && q.Qtype == qtype },
		note:  func(m *dns.Msg) { rec.note("resolver", m) },
	}
}

// Whatever fails, no requirement counts as fulfilled for which nothing was answered, and where the state
// is unknown there is no score.
func TestNothingUnexaminedIsPraised(t *testing.T) {
	worlds := uint64(80)
	if testing.Short() {
		worlds = 20
	}
	for seed := range worlds {
		synctest.Test(t, func(t *testing.T) {
			rec := &record{seen: map[string]bool{}}
			s := &stage{World: diagtest.NewWorld(t)}
			anyWorld(s, rand.New(rand.NewPCG(seed, 1)), rec)
			r, err := Check(t.Context(), s.env, request)
			require.NoError(t, err)
			for _, c := range r.Passed {
				require.True(t, rec.grounded(string(c.Code)), "seed %d: %s; answered: %v", seed, c.Code, rec.seen)
			}
			for _, c := range r.Checks {
				require.False(t, c.Status == Passed && strings.Contains(string(c.Code), "unknown"), c.Code)
			}
			require.Equal(t, r.State == diag.Unknown, r.Score == nil && r.State != diag.Missing, "seed %d: %s", seed, r.State)
			if !rec.seen["server"] && r.Score != nil {
				require.LessOrEqual(t, *r.Score, 39, "seed %d: no server answered", seed)
			}
		})
	}
}

// grounded reports whether something was answered that a rule may rest on.
func (r *record) grounded(code string) bool {
	for _, g := range grounds {
		if !strings.HasPrefix(code, g.code) {
			continue
		}
		for answer := range strings.SplitSeq(g.answers, ",") {
			if answer == "" || r.seen[answer] {
				return true
			}
		}
		return false
	}
	panic("no ground for " + code)
}

// The score of a domain about which nothing, or nothing good, is known.
func TestOutcome(t *testing.T) {
	failing := func(s *stage) {
		s.serve(goodZone)
		s.env.Resolver = moody{inner: s.World, fails: func(dns.Question) bool { return true }}
	}
	dead := func(c diagtest.ServerConfig) func(*stage) { return both(c) }
	tests := []struct {
		name     string
		setup    func(*stage)
		state    diag.State
		atMost   int // the score; -1 for no score
		headline string
		soa      bool
	}{
		{"healthy", zoned(goodZone), diag.Valid, 100, texts["valid"].Headline, true},
		{"resolver fails", failing, diag.Unknown, -1, "Parent zone could not be queried", false},
		{"refused", dead(diagtest.ServerConfig{NoUDP: true, NoTCP: true}), diag.Bad, 39,
			texts["zone.delegation.unreachable"].Headline, false},
		{"over TCP alone", dead(diagtest.ServerConfig{NoUDP: true}), diag.Bad, 39,
			texts["zone.delegation.unreachable"].Headline, true},
		{"truncated without TCP", dead(diagtest.ServerConfig{Truncate: true, NoTCP: true}), diag.Bad, 39,
			texts["zone.delegation.unreachable"].Headline, false},
		{"silent", dead(diagtest.ServerConfig{Silent: true}), diag.Bad, 39,
			texts["zone.delegation.unreachable"].Headline, false},
		{"one silent", configured(func(c *diagtest.ServerConfig) { c.Silent = true }), diag.Bad, 69,
			"Name server does not answer", true},
		{"open transfer", configured(func(c *diagtest.ServerConfig) { c.Transfer = true }), diag.Warned, 94,
			"Zone transfer open to anyone", true},
		{"MX cut off", meddledAll(dns.TypeMX, func(_, m *dns.Msg) { m.Truncated, m.Answer = true, nil }), diag.Bad, 69,
			"Answers are truncated, and not sent over TCP", true},
		{"MX lost on the way", func(s *stage) {
			s.serve(goodZone)
			s.FaultEverywhere("example.com", dns.TypeMX, diagtest.Fault{Silent: true})
		}, diag.Unknown, -1, "Records could not be retrieved", true},
		{"not registered", func(s *stage) { s.Zone(parentZone + around); s.ServeZones() }, diag.Missing, -1,
			"Domain does not exist", false},
		{"not a zone", func(s *stage) {
			s.Zone(parentZone + around + "example.com. A 192.0.2.80")
			s.ServeZones()
			s.Server("ns1.nic.com", "", parentZone+"example.com. A 192.0.2.80")
			s.Server("ns2.nic.com", "", parentZone+"example.com. A 192.0.2.80")
		}, diag.Missing, -1, "Name is not a zone of its own", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, tt.setup)
			require.Equal(t, tt.state, r.State)
			require.Equal(t, tt.headline, r.Headline)
			if tt.atMost < 0 {
				require.Nil(t, r.Score)
			} else {
				require.LessOrEqual(t, *r.Score, tt.atMost)
			}
			text, err := json.Marshal(r)
			require.NoError(t, err)
			require.Equal(t, tt.soa, strings.Contains(string(text), `"serial":`), "a serial number that is not known is absent")
			if tt.state == diag.Missing {
				require.Len(t, r.Findings, 1)
				require.Empty(t, r.Factors)
			}
		})
	}
}

// The earliest due date comes first among findings of one severity.
func TestOrder(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	r := play(t, func(s *stage) {
		s.serve(drop("2001:"))
		s.Sign("example.com", diagtest.Signing{Inception: now.AddDate(0, 0, -28), Expiration: now.AddDate(0, 0, 2)})
	})
	require.Equal(t, "dnssec.signature.expiring diversity.ipv6", codes(r), "in the order of the table")
	require.Equal(t, diag.Code("zone.dnssec.signature.expiring"), r.Findings[0].Code)
	require.Equal(t, "DNSSEC signature not renewed in time", r.Headline)
}

// Nobody waits, or asks twice, for what only an info finding depends on.
func TestVersionIsAskedOnce(t *testing.T) {
	for latency, atMost := range map[time.Duration]time.Duration{
		0: 2 * time.Millisecond, time.Millisecond: 16 * time.Millisecond, 30 * time.Millisecond: 16 * 30 * time.Millisecond,
	} { // one exchange more than TestRoundTrips has
		t.Run(latency.String(), func(t *testing.T) { dropVersion(t, latency, atMost) })
	}
}

func dropVersion(t *testing.T, latency, atMost time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.serve(goodZone)
		s.Latency(latency)
		asked := map[netip.Addr]int{}
		var mu sync.Mutex
		s.meddle(func(ip netip.Addr, q, m *dns.Msg) []*dns.Msg {
			if q.Question[0].Name != "version.bind." {
				return []*dns.Msg{m}
			}
			mu.Lock()
			defer mu.Unlock()
			asked[ip]++
			return nil
		})
		began := time.Now()
		r, err := Check(t.Context(), s.env, request)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), atMost)
		require.Empty(t, codes(r))
		require.Len(t, asked, 4)
		for ip, n := range asked {
			require.Equal(t, 1, n, ip)
		}
	})
}

// Details are self-contained sentences: no multi-line errors, no Go syntax.
func TestDetails(t *testing.T) {
	for _, setup := range []func(*stage){
		func(s *stage) {
			s.serve(goodZone)
			s.Fault(".", dns.TypeNS, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			s.Break("com", dns.RcodeServerFailure)
			s.Zone("example.com. 3600 NS ns4.example.net.")
			s.Break("ns4.example.net", dns.RcodeServerFailure)
		},
		func(s *stage) {
			s.serve(goodZone)
			s.Silence(".")
			s.Silence("com")
			s.Zone("example.com. 3600 NS ns4.example.net.")
			s.Silence("ns4.example.net")
		},
		second(strings.Replace(goodZone, "2026010101", "2026010102", 1)),
		both(diagtest.ServerConfig{NoUDP: true, NoTCP: true}),
	} {
		r := play(t, setup)
		require.NotEmpty(t, r.Findings)
		for _, f := range r.Findings {
			require.Regexp(t, `^[A-Z0-9_a-z].*\.$`, f.Detail)
			require.NotRegexp(t, `\n|\.\.|^It |map\[|\[[0-9]|%!|<nil>|context deadline|looking up|i/o timeout`, f.Detail, fmt.Sprint(f.Code))
		}
	}
}
