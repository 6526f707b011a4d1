package resolver

import (
	"context"
	"slices"

	"github.com/miekg/dns"
)

// A Zone is the zone that holds a name, with the servers that are responsible for it.
type Zone struct {
	Name   string   // where the zone begins, absolute
	SOA    *dns.SOA // nil if no server of the zone told
	Parent string   // the parent zone, which delegates; empty for the root
	// ParentServers are those of the parent zone, as they were known to the walk: with their glue.
	ParentServers []NameServer
	// Delegation are the servers as the parent zone has them, with their glue only.
	Delegation []NameServer
	// NS are the servers as the zone itself has them, absolute. It is nil if no server told.
	NS []string
	// Servers are those of both lists, with the addresses in glue, or else those that were looked up.
	Servers []NameServer
	// Err tells why no server of the zone answered for it, or is nil.
	Err error
	// Hops are all questions of the walk, in the order in which they ended.
	Hops []Hop
}

// FindZone walks from the root to the zone that holds a name, and finds its servers: those that the parent zone names,
// those that it names itself, and the addresses of both. The name need not exist, and aliases are not followed. The
// zone is not nil; its Err is that of the context if that has ended, and then it is as deep as the walk had got.
func (it *Iterator) FindZone(ctx context.Context, name string) *Zone {
	w := it.begin(false)
	at, soa, err := w.locate(ctx, dns.CanonicalName(name))
	z := &Zone{Name: at.zone, SOA: soa, Err: err, Delegation: copyServers(at.hosts)}
	if at.zone == "." {
		z.Delegation = nil
	}
	servers := copyServers(at.hosts)
	results := make(chan outcome[Hop], 2)
	waiting := 1
	start(results, func() Hop { return w.ownServers(ctx, at) })
	if at.parent != nil {
		z.Parent, z.ParentServers = at.parent.zone, copyServers(at.parent.hosts)
		if dns.CountLabel(at.zone) > dns.CountLabel(z.Parent)+1 {
			// Servers of several zones refer over the zones between. Which zone is the one above
			// shows in its SOA record.
			waiting++
			start(results, func() Hop { return w.soaAbove(ctx, at) })
		}
	}
	tried := map[string]bool{}
	w.lookUpAll(ctx, servers, tried)
	for range waiting {
		h := (<-results).get()
		if h.Question.Qtype == dns.TypeSOA {
			z.Parent = h.Question.Name
		} else {
			servers = z.addOwn(servers, h)
		}
	}
	w.lookUpAll(ctx, servers, tried)
	z.Servers, z.Hops = servers, w.taken()
	if ctx.Err() != nil && z.Err == nil && z.NS == nil {
		z.Err = ctx.Err()
	}
	return z
}

func copyServers(list []NameServer) []NameServer {
	list = slices.Clone(list)
	for i := range list {
		list[i].Addrs = slices.Clone(list[i].Addrs)
	}
	return list
}

// locate finds the zone that holds a name: where the SOA record is that comes with each answer of it.
func (w *walk) locate(ctx context.Context, name string) (*cut, *dns.SOA, error) {
	for {
		q := dns.Question{Name: name, Qtype: dns.TypeSOA, Qclass: dns.ClassINET}
		h, err := w.descend(ctx, q, nil)
		at := w.nearest(q)
		if err != nil {
			return at, nil, err
		}
		if soa := soaOf(h.Reply, h.Zone, name); soa != nil {
			return w.deepen(ctx, at, dns.CanonicalName(soa.Hdr.Name), soa)
		}
		// An alias, which only a name below the apex can be: the name above is in the same zone, or is
		// its apex. Or an answer without an SOA record, of a server that is not quite right.
		if name == h.Zone || !slices.ContainsFunc(h.Reply.Answer, isAlias) {
			return at, nil, nil
		}
		name = parentName(name)
	}
}

func isAlias(rr dns.RR) bool {
	t := rr.Header().Rrtype
	return t == dns.TypeCNAME || t == dns.TypeDNAME
}

// soaOf returns the SOA record of the zone that holds a name, from a server of a zone at or above it.
func soaOf(m *dns.Msg, zone, name string) *dns.SOA {
	for _, rr := range slices.Concat(m.Answer, m.Ns) {
		soa, ok := rr.(*dns.SOA)
		if ok && dns.IsSubDomain(zone, soa.Hdr.Name) && dns.IsSubDomain(soa.Hdr.Name, name) {
			return soa
		}
	}
	return nil
}

// deepen returns the zone of an SOA record. It may lie below the one whose servers were asked, if they
// serve both and never had to refer.
func (w *walk) deepen(ctx context.Context, at *cut, apex string, soa *dns.SOA) (*cut, *dns.SOA, error) {
	if apex == at.zone {
		return at, soa, nil
	}
	h, err := w.askZone(ctx, at, dns.Question{Name: apex, Qtype: dns.TypeNS, Qclass: dns.ClassINET}, nil)
	if err != nil {
		return &cut{zone: apex, parent: at, hosts: at.hosts}, soa, nil
	}
	h.Child, h.NS, h.Glue = apex, nil, nil
	for _, rr := range h.Reply.Answer {
		if ns, ok := rr.(*dns.NS); ok && dns.CanonicalName(ns.Hdr.Name) == apex {
			h.NS = append(h.NS, ns.Ns)
		}
	}
	for _, rr := range h.Reply.Extra {
		if AddressIn(rr).IsValid() && dns.IsSubDomain(h.Zone, rr.Header().Name) {
			h.Glue = append(h.Glue, rr)
		}
	}
	if len(h.NS) == 0 {
		return &cut{zone: apex, parent: at, hosts: at.hosts}, soa, nil
	}
	return w.learn(at, h), soa, nil
}

func (w *walk) ownServers(ctx context.Context, at *cut) Hop {
	q := dns.Question{Name: at.zone, Qtype: dns.TypeNS, Qclass: dns.ClassINET}
	h, err := w.askZone(ctx, at, q, nil)
	if err != nil || h.Child != "" {
		h.Reply = nil
	}
	h.Question = q
	return h
}

// soaAbove finds the parent zone of one, and returns it as the name in the question of the hop.
func (w *walk) soaAbove(ctx context.Context, at *cut) Hop {
	name := parentName(at.zone)
	h, err := w.askZone(ctx, at.parent, dns.Question{Name: name, Qtype: dns.TypeSOA, Qclass: dns.ClassINET}, nil)
	apex := at.parent.zone
	if err == nil && h.Child == "" {
		if soa := soaOf(h.Reply, at.parent.zone, name); soa != nil {
			apex = dns.CanonicalName(soa.Hdr.Name)
		}
	}
	return Hop{Question: dns.Question{Name: apex, Qtype: dns.TypeSOA}}
}

// addOwn notes the NS records of the zone itself, and adds those servers to the others.
func (z *Zone) addOwn(servers []NameServer, h Hop) []NameServer {
	if h.Reply == nil {
		return servers
	}
	for _, rr := range h.Reply.Answer {
		ns, ok := rr.(*dns.NS)
		if !ok || dns.CanonicalName(ns.Hdr.Name) != z.Name || len(z.NS) >= maxNameServers {
			continue
		}
		if host := dns.CanonicalName(ns.Ns); !slices.Contains(z.NS, host) {
			z.NS = append(z.NS, host)
			servers = appendHost(servers, host, 2*maxNameServers)
		}
	}
	for _, rr := range h.Reply.Extra {
		owner := dns.CanonicalName(rr.Header().Name)
		i, ip := hostIn(servers, owner), AddressIn(rr)
		if i >= 0 && ip.IsValid() && dns.IsSubDomain(z.Name, owner) {
			servers[i].Addrs = appendAddr(servers[i].Addrs, ip)
		}
	}
	return servers
}

// lookUpAll finds the addresses of those servers that have none yet, trying each once.
func (w *walk) lookUpAll(ctx context.Context, servers []NameServer, tried map[string]bool) {
	type found struct {
		i      int
		server NameServer
	}
	results := make(chan outcome[found], len(servers))
	running := 0
	for i, server := range servers {
		if len(server.Addrs) > 0 || tried[server.Name] {
			continue
		}
		tried[server.Name] = true
		running++
		start(results, func() found {
			server.Addrs = w.lookUp(ctx, server.Name, []string{server.Name}, 0)
			return found{i, server}
		})
	}
	for range running {
		f := (<-results).get()
		servers[f.i] = f.server
	}
}
