package diag_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// The root servers of the operator may be anywhere; those to which the DNS leads may not.
func TestIteratorGuardsWhatItFinds(t *testing.T) {
	root := netip.MustParseAddr("127.0.0.1")
	var dialled []string
	env := &diag.Env{
		RootServers: []resolver.NameServer{{Name: "root.example.", Addrs: []netip.Addr{root}}},
		Dial: func(_ context.Context, network, addr string) (net.Conn, error) {
			dialled = append(dialled, network+" "+addr)
			here, there := net.Pipe()
			go refer(there)
			return here, nil
		},
	}
	walk := env.Iterator().Find(t.Context(), "www.example.com.", dns.TypeA, false)
	if _, blocked := errors.AsType[*diag.BlockedError](walk.Err); !blocked {
		t.Errorf("got %v", walk.Err)
	}
	if len(dialled) != 1 || dialled[0] != "udp 127.0.0.1:53" {
		t.Errorf("dialled %v", dialled)
	}
}

// Servers see names in random letter case over UDP, which forgers have to guess.
func TestIteratorAsksInRandomCase(t *testing.T) {
	asked := make(chan string, 100)
	env := &diag.Env{Dial: func(_ context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			buf := make([]byte, 512)
			n, err := there.Read(buf)
			if q := new(dns.Msg); err == nil && q.Unpack(buf[:n]) == nil {
				asked <- q.Question[0].Name
			}
		}()
		return here, nil
	}}
	env.Iterator().Find(t.Context(), "a-name-with-many-letters.example.", dns.TypeA, false)
	for range len(asked) {
		if name := <-asked; name != strings.ToLower(name) {
			return
		}
	}
	t.Error("all names were in lower case")
}

// A lookup reports its source: the resolver, or without one the name servers.
func TestWhoAnswered(t *testing.T) {
	servfail := func(_ context.Context, _ resolver.Server, q *dns.Msg) (*dns.Msg, error) {
		return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure), nil
	}
	env := &diag.Env{Resolver: &resolver.Iterator{Ask: servfail}}
	err := diag.Lookup[*dns.A](t.Context(), env, "example.com.").Err()
	if err == nil || !strings.HasPrefix(err.Error(), "the name servers answered SERVFAIL") {
		t.Errorf("got %v", err)
	}
}

// refer answers one question with a referral to a private address.
func refer(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 512)
	n, err := c.Read(buf)
	q := new(dns.Msg)
	if err != nil || q.Unpack(buf[:n]) != nil {
		return
	}
	m := new(dns.Msg).SetReply(q)
	ns, _ := dns.NewRR("com. 300 NS ns.com.")
	glue, _ := dns.NewRR("ns.com. 300 A 10.0.0.1")
	m.Ns, m.Extra = []dns.RR{ns}, []dns.RR{glue}
	wire, _ := m.Pack()
	c.Write(wire)
}
