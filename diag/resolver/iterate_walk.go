package resolver

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// errAliases means that there are more aliases than resolvers follow.
var errAliases = fmt.Errorf("more than %d aliases in a row", maxAliases)

// find walks to the records of a name and type, along its aliases. Via lists the name servers for
// whose sake this is done.
func (w *walk) find(ctx context.Context, q dns.Question, via []string) (*dns.Msg, Hop, error) {
	c := chain{qtype: q.Qtype, seen: map[string]bool{}}
	asked := q
	for {
		last, err := w.descend(ctx, asked, via)
		if last.Reply == nil {
			return unreached(q, c.records, err), last, err
		}
		c.zone = last.Zone
		c.follow(last.Reply, asked.Name)
		switch {
		case err != nil || c.settles(last.Reply, asked.Name):
			return compose(q, &c, last.Reply), last, err
		case len(c.seen) > maxAliases:
			return unreached(q, c.records, errAliases), last, errAliases
		}
		asked.Name = c.end
	}
}

// compose makes one reply of all that was found on the way.
func compose(q dns.Question, c *chain, last *dns.Msg) *dns.Msg {
	m := &dns.Msg{MsgHdr: last.MsgHdr, Question: []dns.Question{q}, Answer: c.records}
	m.Ns, m.Extra = slices.Clone(last.Ns), slices.Clone(last.Extra)
	if c.loop {
		m.Rcode = dns.RcodeSuccess // the aliases are there; that they lead nowhere shows by themselves
	}
	return m
}

// unreached makes the reply of a resolver that reaches no authority (RFC 8914 section 4.23).
func unreached(q dns.Question, records []dns.RR, err error) *dns.Msg {
	m := &dns.Msg{MsgHdr: dns.MsgHdr{Response: true, Rcode: dns.RcodeServerFailure}, Question: []dns.Question{q}}
	m.Answer = records
	m.SetEdns0(ednsSize, false)
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EDE{
		InfoCode: dns.ExtendedErrorCodeNoReachableAuthority, ExtraText: fmt.Sprintf("%.200s", err),
	}}
	return m
}

// descend follows referrals down to a server that answers.
func (w *walk) descend(ctx context.Context, q dns.Question, via []string) (Hop, error) {
	for at := w.nearest(q); ; {
		h, err := w.askZone(ctx, at, q, via)
		if err != nil || h.Child == "" {
			return h, err
		}
		at = w.learn(at, h)
	}
}

// askZone queries the servers of a zone until one gives an answer or a referral. The error says why none did; the
// hop is then that of the best unusable reply.
func (w *walk) askZone(ctx context.Context, at *cut, q dns.Question, via []string) (Hop, error) {
	r := &race{walk: w, zone: at.zone, question: q, via: via}
	for hosts := w.addressed(at.hosts); ; {
		if h, ok := r.run(ctx, hosts); ok {
			return h, nil
		}
		r.asked = append(r.asked, hosts...)
		if ctx.Err() != nil || r.exhausted {
			return r.spare, r.failure(ctx)
		}
		if hosts = w.lookUpSome(ctx, at, r, via); len(hosts) == 0 {
			return r.spare, r.failure(ctx)
		}
	}
}

// addressed returns the hosts with an address, also if it had to be looked up before.
func (w *walk) addressed(hosts []NameServer) []NameServer {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []NameServer
	for _, host := range hosts {
		if len(host.Addrs) == 0 {
			host.Addrs = w.hosts[host.Name]
		}
		if len(host.Addrs) > 0 {
			list = append(list, host)
		}
	}
	return list
}

// lookUpSome finds addresses of servers of a zone that came without, and returns those that have some and were not
// asked. Each is looked up once for a race; one that is being looked up already, further up, is left out: its own zone
// depends on it.
func (w *walk) lookUpSome(ctx context.Context, at *cut, r *race, via []string) []NameServer {
	for {
		known := w.addressed(at.hosts)
		fresh := slices.DeleteFunc(slices.Clone(known), func(s NameServer) bool { return hostIn(r.asked, s.Name) >= 0 })
		if len(fresh) > 0 || len(via) >= maxDepth || ctx.Err() != nil || w.left.Load() <= 0 {
			return fresh
		}
		var names []string
		for _, host := range at.hosts {
			if len(names) < maxGlueless && hostIn(known, host.Name) < 0 && !slices.Contains(via, host.Name) &&
				!slices.Contains(r.lookedUp, host.Name) {
				names = append(names, host.Name)
			}
		}
		if len(names) == 0 {
			return nil
		}
		w.lookUpFirst(ctx, names, r, via)
	}
}

// lookUpFirst looks up several name servers concurrently, until one has an address.
func (w *walk) lookUpFirst(ctx context.Context, names []string, r *race, via []string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan outcome[NameServer], len(names))
	for _, name := range names {
		start(results, func() NameServer {
			return NameServer{name, w.lookUp(ctx, name, append(slices.Clip(via), name), familyGrace)}
		})
	}
	for range names {
		server := (<-results).get()
		if ctx.Err() == nil { // else it was interrupted, and can be looked up again
			r.lookedUp = append(r.lookedUp, server.Name)
		}
		if len(server.Addrs) > 0 {
			cancel()
		}
	}
}

// lookUp finds the addresses of a name server by a nested walk, both families concurrently. Once one family has
// arrived, the other has the grace period to arrive; 0 means no limit.
func (w *walk) lookUp(ctx context.Context, host string, via []string, grace time.Duration) []netip.Addr {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var types []uint16
	if !w.it.NoIPv4 {
		types = append(types, dns.TypeA)
	}
	if !w.it.NoIPv6 {
		types = append(types, dns.TypeAAAA)
	}
	results := make(chan outcome[[]netip.Addr], len(types))
	for _, qtype := range types {
		start(results, func() []netip.Addr { return w.addressesOf(ctx, host, qtype, via) })
	}
	var addrs []netip.Addr
	var late <-chan time.Time
	for left := len(types); left > 0; {
		select {
		case r := <-results:
			left--
			for _, ip := range r.get() {
				addrs = appendAddr(addrs, ip)
			}
			if len(addrs) > 0 && grace > 0 {
				late = time.After(grace)
			}
		case <-late:
			cancel()
		}
	}
	if len(addrs) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hosts[host] = addrs
	}
	return addrs
}

func (w *walk) addressesOf(ctx context.Context, host string, qtype uint16, via []string) []netip.Addr {
	q := dns.Question{Name: host, Qtype: qtype, Qclass: dns.ClassINET}
	reply, _, err := w.find(ctx, q, via)
	if err != nil {
		return nil
	}
	var addrs []netip.Addr
	for _, rr := range reply.Answer {
		if ip := AddressIn(rr); ip.IsValid() {
			addrs = appendAddr(addrs, ip)
		}
	}
	return addrs
}
