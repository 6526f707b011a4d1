package resolver

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

// A race is a question put to the servers of a zone: to one, and to the next when that has failed or
// takes long, until one gives something of use.
type race struct {
	walk     *walk
	zone     string
	question dns.Question
	via      []string

	tried     int
	repeated  int
	asked     []NameServer
	lookedUp  []string // servers whose addresses were looked up
	exhausted bool     // no more questions may be asked
	spare     Hop      // the best reply of no use
	last      error    // why the last server was of no use
}

type attempt struct {
	server string
	addr   netip.AddrPort
	round  int // how often it has been asked already
}

// run asks servers, and reports whether one gave an answer or a referral.
func (r *race) run(ctx context.Context, servers []NameServer) (Hop, bool) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan outcome[attempted])
	running := 0
	defer func() {
		cancel()
		for range running { // each ends immediately, because its context has ended
			<-results
		}
	}()
	queue := r.queue(servers)
	next := time.NewTimer(0)
	defer next.Stop()
	for len(queue) > 0 || running > 0 {
		select {
		case <-next.C:
			if len(queue) == 0 || ctx.Err() != nil || !r.mayTry() {
				queue = nil
				continue
			}
			try := queue[0]
			queue = queue[1:]
			running++
			start(results, func() attempted { return r.try(ctx, try) })
			next.Reset(raceDelay)
		case o := <-results:
			running--
			a := o.get()
			if a.hop.Err == nil {
				r.walk.record(a.hop)
				return a.hop, true
			}
			if ctx.Err() == nil {
				queue = r.lost(a, queue)
			}
			next.Reset(0)
		}
	}
	return Hop{}, false
}

// mayTry reports whether one more server may be asked.
func (r *race) mayTry() bool {
	r.exhausted = r.exhausted || r.tried >= maxTries || r.walk.left.Load() <= 0
	r.tried++
	return !r.exhausted
}

// queue lists the addresses of servers, the families in turn, IPv4 first because hosts without IPv6
// are the more common ones. Which server comes first depends on the question, so that the load is
// spread, and the same walk is the same twice.
func (r *race) queue(servers []NameServer) []attempt {
	hash := fnv.New32a()
	hash.Write([]byte(r.question.Name))
	n := 0
	if len(servers) > 0 {
		n = int(hash.Sum32() % uint32(len(servers)))
	}
	var v4, v6 []attempt
	for _, server := range slices.Concat(servers[n:], servers[:n]) {
		for _, ip := range server.Addrs {
			a := attempt{server: server.Name, addr: netip.AddrPortFrom(ip.Unmap(), portDNS)}
			switch is4 := ip.Unmap().Is4(); {
			case is4 && !r.walk.it.NoIPv4:
				v4 = append(v4, a)
			case !is4 && !r.walk.it.NoIPv6:
				v6 = append(v6, a)
			}
		}
	}
	return alternate(v4, v6)
}

type attempted struct {
	attempt
	hop Hop
}

// try asks one server. An attempt that is not made, because there is no way to the server from here or
// no question left, has a hop without a server.
func (r *race) try(ctx context.Context, a attempt) attempted {
	w := r.walk
	h := Hop{Zone: r.zone, Server: a.server, Addr: a.addr, Transport: w.it.transport(), Question: r.question}
	if len(r.via) > 0 {
		h.For = r.via[len(r.via)-1]
	}
	if a.addr.Addr().Is6() && w.noIPv6.Load() {
		return attempted{a, Hop{Err: ErrNoIPv6}}
	}
	if w.it.Check != nil {
		if h.Err = w.it.Check(a.addr); h.Err != nil {
			return attempted{a, h}
		}
	}
	began := time.Now()
	h.Reply, h.Err = w.ask(ctx, &h, a.edns(w.dnssec))
	h.Latency = time.Since(began)
	switch {
	case h.Err == nil:
		h.read()
	case a.addr.Addr().Is6() && (errors.Is(h.Err, syscall.ENETUNREACH) || errors.Is(h.Err, syscall.EADDRNOTAVAIL)):
		w.noIPv6.Store(true)
		return attempted{a, Hop{Err: ErrNoIPv6}}
	case errors.Is(h.Err, errBudget):
		return attempted{a, Hop{Err: h.Err}}
	}
	return attempted{a, h}
}

// ErrNoIPv6 means that a server could not be queried because this machine has no IPv6 connectivity, which is
// not the fault of the server.
var ErrNoIPv6 = errors.New("there is no IPv6 here")

// AskServer queries one server of a zone as a walk does: without EDNS if the server rejects or drops that,
// and over TCP if the reply is truncated. Err of the hop is not nil if the reply is missing or not usable for
// the zone.
func (it *Iterator) AskServer(ctx context.Context, zone string, server string, ip netip.Addr, q dns.Question) Hop {
	q.Name = dns.CanonicalName(q.Name)
	r := &race{walk: it.begin(false), zone: dns.CanonicalName(zone), question: q}
	a := attempt{server: dns.CanonicalName(server), addr: netip.AddrPortFrom(ip.Unmap(), portDNS)}
	for {
		h := r.try(ctx, a).hop
		h.Zone, h.Server, h.Addr, h.Question = r.zone, a.server, a.addr, q
		if a.round++; a.round > 1 || ctx.Err() != nil || !errors.Is(h.Err, ErrTimeout) {
			return h
		}
	}
}

// edns reports whether a question goes out with EDNS. One that got no reply is repeated without, since
// there are firewalls that swallow EDNS; where signatures are wanted, with EDNS once more before.
func (a attempt) edns(dnssec bool) bool { return a.round == 0 || dnssec && a.round == 1 }

// lost notes a failure, and lists the server again if it kept silent.
func (r *race) lost(a attempted, queue []attempt) []attempt {
	h := a.hop
	r.last = h.Err
	if h.Server == "" {
		return queue
	}
	r.walk.record(h)
	if h.Reply != nil && better(h.Reply, r.spare.Reply) {
		r.spare = h
	}
	rounds := 1
	if r.walk.dnssec {
		rounds = 2
	}
	if errors.Is(h.Err, ErrTimeout) && a.round < rounds && (a.round > 0 || r.repeated < maxRepeats) {
		r.repeated++
		a.attempt.round++
		queue = append(queue, a.attempt)
	}
	return queue
}

// better reports whether one unusable reply is more informative than another: non-authoritative records are most
// informative, then an rcode with a reason. Others, such as upward referrals, are not informative: they look like
// the absence of records, which they are not.
func better(m, than *dns.Msg) bool {
	rank := func(m *dns.Msg) int {
		switch {
		case m == nil:
			return 0
		case m.Rcode == dns.RcodeNameError || m.Rcode == dns.RcodeSuccess && len(m.Answer) > 0:
			return 2
		case m.Rcode != dns.RcodeSuccess:
			return 1
		default:
			return 0
		}
	}
	return rank(m) > rank(than)
}

// failure returns why no server was usable.
func (r *race) failure(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.walk.left.Load() <= 0:
		return fmt.Errorf("asking the servers of %s: %w", r.zone, errBudget)
	case r.last == nil:
		return fmt.Errorf("asking the servers of %s: %w", r.zone, errNoAddress)
	default:
		return fmt.Errorf("asking the servers of %s: %w", r.zone, r.last)
	}
}

// ask puts the question of a hop to its server: over UDP, without EDNS if that is refused (RFC 6891
// section 7), and over TCP if the reply is truncated (RFC 7766 section 5).
func (w *walk) ask(ctx context.Context, h *Hop, edns bool) (*dns.Msg, error) {
	q := &dns.Msg{MsgHdr: dns.MsgHdr{Id: dns.Id()}, Question: []dns.Question{h.Question}}
	if edns {
		q.SetEdns0(ednsSize, w.dnssec)
	}
	m, err := w.send(ctx, h, q)
	refused := err == nil && (m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeNotImplemented)
	if edns && refused && m.IsEdns0() == nil {
		q.Extra = nil
		m, err = w.send(ctx, h, q)
	}
	if err != nil || !m.Truncated {
		return m, err
	}
	if h.Transport == UDP {
		h.Truncated, h.Transport = true, TCP
		if m, err = w.send(ctx, h, q); err != nil {
			return nil, fmt.Errorf("the reply over UDP was cut off, and over TCP: %w", err)
		}
	}
	if m.Truncated {
		return nil, errors.New("the reply was cut off, over TCP too")
	}
	return m, nil
}

// realNetwork asks servers for iterators without an Ask.
var realNetwork = &Client{AsIs: true, Case0x20: true, Attempts: 1, Timeout: queryTimeout}

// send sends one message, if there is one left to be sent.
func (w *walk) send(ctx context.Context, h *Hop, q *dns.Msg) (*dns.Msg, error) {
	if w.left.Add(-1) < 0 {
		return nil, errBudget
	}
	ask := w.it.Ask
	if ask == nil {
		ask = realNetwork.Ask
	}
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	server := Server{Transport: h.Transport, Addrs: []netip.Addr{h.Addr.Addr()}, Port: h.Addr.Port()}
	m, err := ask(limited, server, q)
	switch {
	case err == nil && m == nil:
		return nil, errors.New("there is no message")
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return nil, ErrTimeout
	default:
		return m, err
	}
}
