package resolver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/miekg/dns"
)

// A Zone is the zone that contains a name, and its authoritative servers.
type Zone struct {
	Name   string   // name of the zone, with the final dot
	SOA    *dns.SOA // nil if no server of the zone returned it
	Parent string   // the parent zone, with the final dot; empty for the root
	// ParentServers are the servers of the parent zone, with their glue.
	ParentServers []NameServer
	// Delegation are the servers in the parent zone's delegation, with only their glue.
	Delegation []NameServer
	// NS are the servers in the zone's own NS records, with the final dot; nil if no server returned them.
	NS []string
	// Servers are the servers of both lists, with the addresses in glue or, without glue, from a lookup.
	Servers []NameServer
	// Err is the reason that no server answered for the zone; nil if one did.
	Err error
	// Hops are all queries of the walk, in the order in which they ended.
	Hops []Hop
}

// FindZone walks from the root to the zone that contains a name, and finds its servers: those in the parent
// zone, those in the zone itself, and the addresses of both. The name need not exist, and aliases are not
// followed. The zone is never nil. If the context has ended, Err is that of the context, and the zone is the
// last one reached.
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
		name = ParentName(name)
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

// deepen returns the zone of an SOA record. It may lie below the one whose servers were queried, if they serve both
// and sent no referral.
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
	name := ParentName(at.zone)
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

// lookUpAll finds the addresses of the servers that lack them, trying each once.
func (w *walk) lookUpAll(ctx context.Context, servers []NameServer, tried map[string]bool) {
	results := make(chan outcome[bool], len(servers))
	running := 0
	for i := range servers {
		s := &servers[i]
		if len(s.Addrs) > 0 || tried[s.Name] {
			continue
		}
		tried[s.Name] = true
		running++
		start(results, func() bool {
			s.Addrs = w.lookUp(ctx, s.Name, []string{s.Name}, 0)
			return true
		})
	}
	for range running {
		(<-results).get()
	}
}

// read classifies a hop's reply for the walk: an answer, a referral, or unusable.
func (h *Hop) read() {
	m := h.Reply
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		rcode := cmp.Or(dns.RcodeToString[m.Rcode], fmt.Sprintf("RCODE%d", m.Rcode))
		h.Err = fmt.Errorf("%w: it answers %s", ErrLame, rcode)
		return
	}
	if m.Rcode == dns.RcodeNameError || h.holdsAnswer() {
		if !m.Authoritative {
			h.Err = fmt.Errorf("%w: it does not claim authority for its answer", ErrLame)
		}
		return
	}
	if h.refer(); h.Child != "" || m.Authoritative {
		return // a referral; or the name exists, and has no such record
	}
	for _, rr := range m.Ns {
		if rr.Header().Rrtype == dns.TypeNS {
			h.Err = fmt.Errorf("%w: it refers to the servers of %.255s, which does not lead down", ErrLame, rr.Header().Name)
			return
		}
	}
	h.Err = fmt.Errorf("%w: it neither answers nor refers to others", ErrLame)
}

// holdsAnswer reports whether there is a record of the name that was asked for, or an alias of it.
func (h *Hop) holdsAnswer() bool {
	c := chain{zone: h.Zone, qtype: h.Question.Qtype, seen: map[string]bool{}}
	c.follow(h.Reply, h.Question.Name)
	return len(c.records) > 0
}

// refer reads a referral: NS records of a zone that is below the present one and holds the name (RFC
// 1034 section 4.3.2). Addresses count as glue for the hosts that they name, and if the present zone holds those:
// others are out of bailiwick (RFC 5452 section 6).
func (h *Hop) refer() {
	for _, rr := range h.Reply.Ns {
		ns, ok := rr.(*dns.NS)
		if !ok || ns.Hdr.Class != dns.ClassINET {
			continue
		}
		owner := dns.CanonicalName(ns.Hdr.Name)
		if h.Child == "" && owner != h.Zone && dns.IsSubDomain(h.Zone, owner) && dns.IsSubDomain(owner, h.Question.Name) {
			h.Child = owner
		}
		host := dns.CanonicalName(ns.Ns)
		if owner == h.Child && h.Child != "" && len(h.NS) < maxNameServers && !slices.Contains(h.NS, host) {
			h.NS = append(h.NS, host)
		}
	}
	for _, rr := range h.Reply.Extra {
		owner := dns.CanonicalName(rr.Header().Name)
		if AddressIn(rr).IsValid() && slices.Contains(h.NS, owner) && dns.IsSubDomain(h.Zone, owner) &&
			len(h.Glue) < maxNameServers*maxHostAddrs {
			h.Glue = append(h.Glue, rr)
		}
	}
}

// A chain is the part of an answer found so far: records, and the aliases that led to them.
type chain struct {
	zone    string // whose server is being trusted
	qtype   uint16
	seen    map[string]bool // the names on the way, canonical
	records []dns.RR
	end     string // the last name on the way
	found   bool   // it has records of the type
	loop    bool   // an alias leads back
}

// follow takes from a reply the records of a name and of its aliases, as far as they are in the zone.
func (c *chain) follow(m *dns.Msg, name string) {
	for c.end = name; dns.IsSubDomain(c.zone, c.end) && len(c.seen) <= maxAliases; {
		c.seen[c.end] = true
		alias := c.take(m)
		if c.found || alias == nil {
			return
		}
		c.end = dns.CanonicalName(alias.Target)
		if c.seen[c.end] {
			c.loop = true
			return
		}
	}
}

// take adds the records of the present name: those of the type, or else the alias with what it was
// made from (RFC 6672 section 3.1), each with its signatures.
func (c *chain) take(m *dns.Msg) *dns.CNAME {
	var alias *dns.CNAME
	var dnames []dns.RR
	for _, rr := range m.Answer {
		h := rr.Header()
		owner := dns.CanonicalName(h.Name)
		switch {
		case h.Class != dns.ClassINET || !dns.IsSubDomain(c.zone, owner):
		case owner == c.end && (h.Rrtype == c.qtype || c.qtype == dns.TypeANY):
			c.records, c.found = append(c.records, rr), true
		case owner == c.end && h.Rrtype == dns.TypeCNAME && alias == nil:
			alias, _ = rr.(*dns.CNAME)
		case h.Rrtype == dns.TypeDNAME && owner != c.end && dns.IsSubDomain(owner, c.end):
			dnames = append(dnames, rr)
		}
	}
	taken := c.qtype
	if !c.found {
		if alias == nil {
			return nil
		}
		c.records = append(append(c.records, dnames...), alias)
		taken = dns.TypeCNAME
	}
	c.sign(m, c.end, taken)
	for _, rr := range dnames {
		if !c.found {
			c.sign(m, dns.CanonicalName(rr.Header().Name), dns.TypeDNAME)
		}
	}
	return alias
}

// sign adds the signatures of a record set.
func (c *chain) sign(m *dns.Msg, owner string, rrtype uint16) {
	if rrtype == dns.TypeRRSIG || rrtype == dns.TypeANY {
		return
	}
	for _, rr := range m.Answer {
		sig, ok := rr.(*dns.RRSIG)
		if ok && sig.TypeCovered == rrtype && dns.CanonicalName(sig.Hdr.Name) == owner {
			c.records = append(c.records, sig)
		}
	}
}

// settles reports whether a reply has the last word about the name at the end of the chain.
func (c *chain) settles(m *dns.Msg, asked string) bool {
	if c.found || c.loop || c.end == asked {
		return true
	}
	// The end is behind aliases. Whether it lacks records is for its own zone to say, which may be
	// another, or lie below (RFC 2308 section 2, RFC 6604 section 3).
	if !dns.IsSubDomain(c.zone, c.end) {
		return false
	}
	if m.Rcode == dns.RcodeNameError {
		return true
	}
	return slices.ContainsFunc(m.Ns, func(rr dns.RR) bool {
		return rr.Header().Rrtype == dns.TypeSOA && dns.IsSubDomain(rr.Header().Name, c.end)
	})
}
