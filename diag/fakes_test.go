package diag

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// fakeDNS answers from master-file lines. A name and type may have several answers, which are given one after the
// other, the last one repeatedly.
type fakeDNS struct {
	mu      sync.Mutex
	answers map[dns.Question][]fakeAnswer
	asked   []string
}

type fakeAnswer struct {
	records []string
	rcode   int
	delay   time.Duration
	silent  bool
}

func (f *fakeDNS) set(name string, qtype uint16, answers ...fakeAnswer) *fakeDNS {
	if f.answers == nil {
		f.answers = map[dns.Question][]fakeAnswer{}
	}
	f.answers[dns.Question{Name: name, Qtype: qtype, Qclass: dns.ClassINET}] = answers
	return f
}

func (f *fakeDNS) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	f.mu.Lock()
	key := q.Question[0]
	list := f.answers[key]
	f.asked = append(f.asked, key.Name+" "+dns.TypeToString[key.Qtype])
	answer := fakeAnswer{}
	if len(list) > 0 {
		answer = list[0]
	}
	if len(list) > 1 {
		f.answers[key] = list[1:]
	}
	f.mu.Unlock()

	if answer.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-time.After(answer.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m := new(dns.Msg).SetRcode(q, answer.rcode)
	for _, line := range answer.records {
		rr, err := dns.NewRR(line)
		if err != nil {
			return nil, err
		}
		m.Answer = append(m.Answer, rr)
	}
	return m, nil
}

// A fakeNet is a network in memory: addresses answer after a delay, or never, or refuse.
type fakeNet struct {
	mu     sync.Mutex
	hosts  map[string]fakeHost // by IP address; all others refuse immediately
	dialed []fakeDial
	open   int // connections not yet closed by the side that dialed
	begun  time.Time
}

type fakeHost struct {
	delay time.Duration
	dead  bool // never answers
	down  bool // refuses after the delay
	late  bool // answers after the delay even if no caller waits any more
}

type fakeDial struct {
	addr string
	at   time.Duration
}

func (n *fakeNet) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	ip := netip.MustParseAddrPort(addr).Addr().String()
	n.mu.Lock()
	n.dialed = append(n.dialed, fakeDial{ip, time.Since(n.begun)})
	h, ok := n.hosts[ip]
	n.mu.Unlock()
	if h.dead {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: fakeAddr(addr), Err: ctx.Err()}
	}
	select {
	case <-time.After(h.delay):
	case <-ctx.Done():
		if !h.late {
			return nil, ctx.Err()
		}
	}
	if !ok || h.down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: fakeAddr(addr), Err: os.ErrPermission}
	}
	n.mu.Lock()
	n.open++
	n.mu.Unlock()
	near, far := net.Pipe()
	return &fakeConn{near, far, n, fakeAddr(addr), sync.Once{}}, nil
}

func (n *fakeNet) dialedAddrs() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []string{}
	for _, d := range n.dialed {
		list = append(list, d.addr)
	}
	return list
}

type fakeAddr string

func (fakeAddr) Network() string  { return "tcp" }
func (a fakeAddr) String() string { return string(a) }

type fakeConn struct {
	net.Conn
	far    net.Conn
	net    *fakeNet
	remote fakeAddr
	once   sync.Once
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.remote }

func (c *fakeConn) Close() error {
	c.once.Do(func() {
		c.net.mu.Lock()
		c.net.open--
		c.net.mu.Unlock()
		c.far.Close()
	})
	return c.Conn.Close()
}
