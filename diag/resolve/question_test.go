package resolve

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// The resolver receives the query as requested.
func TestQuestion(t *testing.T) {
	type seen struct {
		class  uint16
		rd, cd bool
		do     bool
		size   uint16
		nsid   bool
	}
	usual := seen{class: dns.ClassINET, rd: true, size: 1232}
	with := func(change func(*seen)) seen { s := usual; change(&s); return s }
	cases := []struct {
		name string
		req  Request
		want seen
	}{
		{"usual", Request{}, usual},
		{"recursion, said", Request{RecursionDesired: new(true)}, usual},
		{"no recursion", Request{RecursionDesired: new(false)}, with(func(s *seen) { s.rd = false })},
		{"no checking", Request{CheckingDisabled: true}, with(func(s *seen) { s.cd = true })},
		{"signatures", Request{DNSSEC: true}, with(func(s *seen) { s.do = true })},
		{"size", Request{UDPPayloadSize: 4096}, with(func(s *seen) { s.size = 4096 })},
		{"identifier", Request{NSID: true}, with(func(s *seen) { s.nsid = true })},
		{"class", Request{Class: Chaos}, with(func(s *seen) { s.class = dns.ClassCHAOS })},
		{"class, said", Request{Class: Internet}, usual},
	}
	for _, c := range cases {
		var got seen
		env := &diag.Env{Resolver: answering(func(q *dns.Msg) *dns.Msg {
			opt := q.IsEdns0()
			got = seen{q.Question[0].Qclass, q.RecursionDesired, q.CheckingDisabled, opt.Do(), opt.UDPSize(), len(opt.Option) == 1}
			return new(dns.Msg).SetReply(q)
		})}
		c.req.Name, c.req.Type = name(t, "example.com"), Type(dns.TypeA)
		if _, err := Lookup(t.Context(), env, c.req); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// A failure is not asked about again where that would change what was asked.
func TestServfailIsNotExplained(t *testing.T) {
	for _, req := range []Request{{CheckingDisabled: true}, {RecursionDesired: new(false)}} {
		asked := 0
		env := &diag.Env{Resolver: answering(func(q *dns.Msg) *dns.Msg {
			asked++
			return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
		})}
		req.Name, req.Type = name(t, "example.com"), Type(dns.TypeA)
		if _, err := Lookup(t.Context(), env, req); err != nil || asked != 1 {
			t.Errorf("asked %d times, %v", asked, err)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for hexText, want := range map[string]string{"": "", "6e7331": "ns1", "00ff": "00ff", "6e7320c3a4": "6e7320c3a4"} {
		m := new(dns.Msg).SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{}, &dns.EDNS0_NSID{Code: dns.EDNS0NSID, Nsid: hexText}}
		if got := identifier(m); got != want {
			t.Errorf("%s: got %q; want %q", hexText, got, want)
		}
	}
	if got := identifier(new(dns.Msg)); got != "" {
		t.Errorf("without EDNS: %q", got)
	}
}

// The transport, the version of the Internet Protocol, the wait and the number of tries are those of the request,
// whichever resolver is asked.
func TestHowServersAreAsked(t *testing.T) {
	cases := []struct {
		name      string
		req       Request
		address   string // of the server that answered
		transport resolver.Transport
	}{
		{"usual", Request{}, "192.0.2.53", resolver.UDP},
		{"TCP", Request{Transport: resolver.TCP}, "192.0.2.53", resolver.TCP},
		{"IPv6", Request{IPVersion: 6}, "2001:db8::53", resolver.UDP},
		{"public", Request{Resolver: Google}, "8.8.8.8", resolver.UDP},
		{"public, over TCP", Request{Resolver: Google, Transport: resolver.TCP}, "8.8.8.8", resolver.TCP},
		{"public, over IPv6", Request{Resolver: Quad9, IPVersion: 6}, "2620:fe::fe", resolver.UDP},
	}
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(`example.com. 300 A 1.2.3.4`)
		world.Resolver("192.0.2.53")
		world.Resolver("2001:db8::53")
		env := world.Env()
		env.Resolver = env.Upstream("own", resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
			resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::53")}})
		for _, c := range cases {
			c.req.Name, c.req.Type = name(t, "example.com"), Type(dns.TypeA)
			r, err := Lookup(t.Context(), env, c.req)
			if err != nil || r.Resolver.Address != c.address || r.Resolver.Transport != c.transport {
				t.Errorf("%s: got %+v, %v", c.name, r, err)
			}
		}
	})
}

// A resolver without an address of the version that is asked for is not asked at all.
func TestNoServerOfTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		env := world.Env()
		env.Resolver = env.Upstream("own", resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("9.9.9.9")}})
		_, err := Lookup(t.Context(), env, Request{Name: name(t, "example.com"), Type: Type(dns.TypeA), IPVersion: 6})
		if !inputError("ip_version")(err) {
			t.Errorf("got %v", err)
		}
	})
}

// Silence lasts as long as the request says.
func TestTimeoutAndTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Resolver("192.0.2.53").Configure(diagtest.ServerConfig{Silent: true})
		env := world.Env()
		env.Resolver = env.Upstream("own", resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}})
		began := time.Now()
		_, err := Lookup(t.Context(), env,
			Request{Name: name(t, "example.com"), Type: Type(dns.TypeA), TimeoutSeconds: 5, Tries: 3})
		if took := time.Since(began); !is(diag.ErrUnavailable)(err) || took != 15*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A walk goes over TCP, and to addresses of one version, if the request says so.
func TestWalkOverTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := serve(t, "")
		world.ServeZones()
		req := Request{Name: name(t, "www.example.com"), Type: Type(dns.TypeA), Resolver: Authoritative,
			Transport: resolver.TCP, IPVersion: 4}
		r, err := Lookup(t.Context(), world.Env(), req)
		if err != nil || r.Resolver.Transport != resolver.TCP || len(r.Answers) != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// A requested identifier is reported, and so is its absence.
func TestNSID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, id := range []string{"ns1.ams", ""} {
			world := diagtest.NewWorld(t)
			world.Resolver("192.0.2.53", "example.com. 300 A 1.2.3.4").Configure(diagtest.ServerConfig{NSID: id})
			env := world.Env()
			env.Resolver = env.Upstream("own", resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}})
			r, err := Lookup(t.Context(), env, Request{Name: name(t, "example.com"), Type: Type(dns.TypeA), NSID: true})
			if err != nil || r.NSID == nil || *r.NSID != id {
				t.Errorf("got %+v, %v; want %q", r, err, id)
			}
		}
	})
}
