package resolve

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

const walkZone = `
	$ORIGIN example.com.
	@    3600 SOA ns1 hostmaster 7 7200 900 1209600 300
	@    3600 NS  ns1
	@    3600 NS  ns2
	ns1  3600 A   192.0.2.11
	ns2  3600 A   192.0.2.12
	www  3600 A   192.0.2.80
	out  3600 CNAME www.example.net.
	$ORIGIN example.net.
	@    3600 SOA ns hostmaster 7 7200 900 1209600 300
	@    3600 NS  ns
	ns   3600 A   192.0.2.13
	www  3600 A   192.0.2.90
	`

// serve makes a world with authoritative servers.
func serve(t *testing.T, more string) *diagtest.World {
	world := diagtest.NewWorld(t)
	world.Zone(walkZone + "\n" + more)
	return world
}

func TestWalkRules(t *testing.T) {
	bad := func(c diagtest.ServerConfig, hosts ...string) func(*diagtest.World) {
		return func(w *diagtest.World) {
			for _, host := range hosts {
				w.Server(host, "").Configure(c)
			}
		}
	}
	const other = "example.org. SOA . . 1 1 1 1 1"
	cases := []struct {
		name  string
		setup func(*diagtest.World)
		req   Request
		want  []diag.Code
	}{
		{"fine", func(*diagtest.World) {}, Request{Resolver: Authoritative}, nil},
		{"fine beside a resolver", func(*diagtest.World) {}, Request{Trace: true}, nil},
		{"one lame", func(w *diagtest.World) { w.Server("ns2.example.com", "", other) }, Request{Resolver: Authoritative},
			[]diag.Code{"resolve.walk.lame"}},
		{"all lame", func(w *diagtest.World) {
			w.Server("ns1.example.com", "", other)
			w.Server("ns2.example.com", "", other)
		}, Request{Resolver: Authoritative},
			[]diag.Code{"resolve.rcode.refused", "resolve.walk.unreachable", "resolve.walk.lame"}},
		{"all silent", bad(diagtest.ServerConfig{Silent: true}, "ns1.example.com", "ns2.example.com"),
			Request{Resolver: Authoritative},
			[]diag.Code{"resolve.walk.unreachable", "resolve.walk.silent"}},
		{"all silent, but not for the resolver",
			bad(diagtest.ServerConfig{Silent: true}, "ns1.example.com", "ns2.example.com"),
			Request{Trace: true}, []diag.Code{"resolve.walk.unreachable", "resolve.walk.silent"}},
		{"private", func(w *diagtest.World) {
			w.Server("ns.com", "192.0.2.5", "com. SOA . . 1 1 1 1 1\nexample.com. NS ns1.example.com.\n"+
				"example.com. NS ns2.example.com.\nns1.example.com. A 192.0.2.11\nns2.example.com. A 10.0.0.1\n")
		}, Request{Resolver: Authoritative}, []diag.Code{"resolve.walk.private"}},
		{"no glue", func(w *diagtest.World) {
			w.Server("ns.com", "192.0.2.5", "com. SOA . . 1 1 1 1 1\nexample.com. NS ns1.example.com.\n"+
				"example.com. NS ns2.example.com.\nns2.example.com. A 192.0.2.12\n")
		}, Request{Resolver: Authoritative}, []diag.Code{"resolve.walk.glue"}},
		{"another answer", func(w *diagtest.World) { w.Resolver("8.8.8.8", "www.example.com. 3600 A 192.0.2.81") },
			Request{Resolver: Google, Trace: true}, []diag.Code{"resolve.walk.differs"}},
		{"another code", func(w *diagtest.World) {
			w.Fault("www.example.com", 0, diagtest.Fault{Rcode: dns.RcodeNameError})
		}, Request{Trace: true}, []diag.Code{"resolve.rcode.nxdomain", "resolve.walk.differs"}},
		{"signatures", func(*diagtest.World) {}, Request{Resolver: Authoritative, DNSSEC: true}, nil},
	}
	var verdicts []diag.Verdict
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := serve(t, "")
				c.setup(world)
				world.ServeZones()
				c.req.Name, c.req.Type = name(t, "www.example.com"), Type(dns.TypeA)
				e, err := fetch(t.Context(), world.Env(), c.req)
				if err != nil {
					t.Fatal(err)
				}
				v := rules.Judge(e, texts)
				verdicts = append(verdicts, v)
				if got := diagtest.Codes(v); len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %v; want %v\n%+v", got, c.want, v.Findings)
				}
			})
		})
	}
	diagtest.CoverRules(t, walkRules, verdicts)
}

func TestAuthoritativeReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := serve(t, "")
		world.Latency(20 * time.Millisecond)
		world.ServeZones()
		r, err := Lookup(t.Context(), world.Env(), Request{
			Name: name(t, "out.example.com"), Type: Type(dns.TypeA), Resolver: Authoritative, Trace: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		diagtest.Golden(t, "testdata/authoritative.golden", append(text, '\n'))
	})
}

func TestAuthoritativeUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := serve(t, "")
		for _, host := range []string{"ns1.example.com", "ns2.example.com"} {
			world.Server(host, "").Configure(diagtest.ServerConfig{Silent: true})
		}
		world.ServeZones()
		req := Request{Name: name(t, "www.example.com"), Type: Type(dns.TypeA), Resolver: Authoritative, Trace: true}
		began := time.Now()
		r, err := Lookup(t.Context(), world.Env(), req)
		if err != nil {
			t.Fatal(err)
		}
		if r.Rcode != "SERVFAIL" || len(r.Trace) < 4 || r.Trace[3].Error != "no response" || r.Resolver.Address != "" {
			t.Errorf("got %+v", r)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}

		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r, err = Lookup(hurried, world.Env(), req); err != nil || r.Rcode != "SERVFAIL" || len(r.Trace) != 2 {
			t.Errorf("in a hurry: got %+v, %v", r, err)
		}

		nowhere := diagtest.NewWorld(t)
		if r, err := Lookup(t.Context(), nowhere.Env(), req); r != nil || !is(diag.ErrUnavailable)(err) {
			t.Errorf("without root servers: got %v, %v", r, err)
		}
	})
}

// A walk beside a resolver takes no time of its own unless it is longer, and does not count as the
// resolver's.
func TestTraceBesideResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := serve(t, "")
		world.ServeZones()
		world.Latency(20 * time.Millisecond)
		began := time.Now()
		r, err := Lookup(t.Context(), world.Env(),
			Request{Name: name(t, "www.example.com"), Type: Type(dns.TypeA), Trace: true})
		if err != nil {
			t.Fatal(err)
		}
		zones := []string{}
		for _, step := range r.Trace {
			zones = append(zones, step.Zone)
		}
		if !slices.Equal(zones, []string{".", "com", "example.com"}) {
			t.Errorf("walked %v", zones)
		}
		if took := time.Since(began); took != 60*time.Millisecond || r.LatencyMS != 20 || r.Resolver.ID != Default {
			t.Errorf("took %s, %d ms for %+v", took, r.LatencyMS, r.Resolver)
		}
	})
}

func TestAuthoritativeOverTCP(t *testing.T) {
	world := serve(t, "\tbig.example.com. 3600 TXT "+strings.Repeat(`"`+strings.Repeat("x", 250)+`" `, 6))
	world.ServeZones()
	r, err := Lookup(t.Context(), world.Env(),
		Request{Name: name(t, "big.example.com"), Type: Type(dns.TypeTXT), Resolver: Authoritative})
	if err != nil || !r.TruncatedOverUDP || r.Resolver.Transport != resolver.TCP || !r.Flags.AA || len(r.Trace) > 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}
