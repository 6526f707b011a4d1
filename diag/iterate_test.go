package diag_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
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
