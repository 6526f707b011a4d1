package survey

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Parent is the parent zone, and what its servers answered about the domain.
type Parent struct {
	Zone  string // absolute; empty if it is not known
	Err   error  // why not: [ErrNoParent], an [RcodeError], or else there was no answer
	Hosts []string
	Views []View
	// DS are the DS records of the parent zone itself. They are looked up if one of its servers does not prove their
	// absence.
	DS diag.Answer[*dns.DS]
}

// A View holds the answers of one server of the parent zone.
type View struct {
	Host   string
	IP     netip.Addr
	NS, DS Reply
}

// ProvesNoDS reports whether the answer for the DS record of a zone has a record that proves its absence: that of
// the delegation, or one with opt-out (RFC 4035 section 5.2, RFC 5155 section 8.9). Its signature is not checked.
func (v View) ProvesNoDS(zone string) bool {
	return v.DS.Settled() && slices.ContainsFunc(v.DS.Msg.Ns, func(rr dns.RR) bool {
		switch r := rr.(type) {
		case *dns.NSEC:
			return strings.EqualFold(r.Hdr.Name, zone) && unsignedDelegation(r.TypeBitMap)
		case *dns.NSEC3:
			return r.Flags&1 != 0 || r.Iterations > maxIterations || r.Match(zone) && unsignedDelegation(r.TypeBitMap)
		}
		return false
	})
}

// maxIterations bounds the work of a hash. Resolvers take zones with more for unsigned (RFC 9276 section 3.2).
const maxIterations = 150

func unsignedDelegation(types []uint16) bool {
	has := func(t uint16) bool { return slices.Contains(types, t) }
	return has(dns.TypeNS) && !has(dns.TypeDS) && !has(dns.TypeSOA)
}

// Owes reports whether a server of the signed parent zone does not prove that the zone has no DS record.
func (p Parent) Owes(v View, zone string) bool {
	return (p.Zone == "." || p.DS.Exists()) && p.withoutProof(v, zone)
}

// withoutProof reports whether a server that knows the delegation says without proof that there is no DS record.
func (p Parent) withoutProof(v View, zone string) bool {
	if len(Delegation(v.NS, zone)) == 0 || !v.DS.Settled() || v.DS.EDNS() == nil || !v.DS.Msg.Authoritative {
		return false
	}
	own := len(Set[*dns.SOA](v.DS.Msg.Ns, p.Zone))+len(Set[*dns.SOA](v.DS.Msg.Ns, zone)) > 0 // and no zone between
	return own && len(Set[*dns.DS](v.DS.Msg.Answer, zone)) == 0 && !v.ProvesNoDS(zone)
}

// ErrNoParent says that the resolver knows no parent zone of the domain.
var ErrNoParent = errors.New("no parent zone was found")

// An RcodeError is the rcode, by its name, with which the resolver refused an answer.
type RcodeError string

func (e RcodeError) Error() string { return "the resolver answered " + string(e) }

// locate finds the nearest parent zone of a name that the resolver knows of, and its servers. If a nearer
// one does not answer, the servers that are found refer to it.
func (a *audit) locate(ctx context.Context, name string) (zone string, hosts []string, err error) {
	ancestors := []string{}
	for n := name; n != "."; {
		n = resolver.ParentName(n)
		ancestors = append(ancestors, n)
	}
	for part := range slices.Chunk(ancestors, maxAncestors) {
		answers := make([]diag.Answer[*dns.NS], len(part))
		var g diag.Group
		for i, n := range part {
			g.Go(func() { answers[i] = lookup[*dns.NS](ctx, a, n) })
		}
		g.Wait()
		for i, answer := range answers {
			switch {
			case answer.Exists() && len(answer.Aliases) == 0:
				return part[i], HostsOf(answer.Records), nil
			case answer.Err() != nil && err == nil:
				if err = answer.Err(); !answer.Silent() {
					err = RcodeError(answer.RcodeName())
				}
			}
		}
	}
	if err == nil {
		err = ErrNoParent
	}
	return "", nil, err
}

func (a *audit) askParent(ctx context.Context) {
	zone, hosts, err := a.locate(ctx, a.Zone)
	a.aboveName = zone
	close(a.aboveKnown)
	p := Parent{Zone: zone, Err: err, Hosts: hosts}
	if a.will != nil {
		p, err = a.suppose(ctx, p), errSupposed
	}
	var glue map[string][]Glue
	for range maxDepth {
		if err != nil {
			break
		}
		p.Views = a.askViews(ctx, a.parentServers(ctx, p.Hosts, glue))
		nearer, hosts, addresses := between(p, a.Zone)
		if nearer == "" {
			break
		}
		p, glue = Parent{Zone: nearer, Hosts: hosts}, addresses
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Parent = p
	if p.Zone != "." && slices.ContainsFunc(p.Views, func(v View) bool { return p.withoutProof(v, a.Zone) }) {
		a.g.Go(func() {
			ds := lookup[*dns.DS](ctx, a, p.Zone)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.Parent.DS = ds
		})
	}
}

// errSupposed ends the walk to the parent zone, whose servers do not have the delegation.
var errSupposed = errors.New("the delegation is supposed")

// suppose answers in the place of the servers of the parent zone, with the delegation that the zone will have, and
// examines the servers.
func (a *audit) suppose(ctx context.Context, p Parent) Parent {
	ns, ds := new(dns.Msg).SetQuestion(a.Zone, dns.TypeNS), new(dns.Msg).SetQuestion(a.Zone, dns.TypeDS)
	ds.Authoritative = true
	header := dns.RR_Header{Name: a.Zone, Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: supposedTTL}
	for _, s := range a.will.Servers {
		ns.Ns = append(ns.Ns, &dns.NS{Hdr: header, Ns: s.Name})
		a.meet(ctx, s.Name)
		for _, ip := range s.Addrs {
			ns.Extra = append(ns.Extra, dnsmsg.AddressRecord(s.Name, ip, supposedTTL))
			a.visit(ctx, ip, s.Name)
		}
	}
	for _, record := range a.will.DS {
		ds.Answer = append(ds.Answer, record)
	}
	answered := func(m *dns.Msg) Reply { return Reply{Result: Answered, Msg: m, TCP: true} } // nothing is learned of UDP
	v := View{NS: answered(ns), DS: answered(ds)}
	return Parent{Zone: cmp.Or(p.Zone, resolver.ParentName(a.Zone)), Hosts: p.Hosts, Views: []View{v}}
}

// supposedTTL is the TTL of delegations at most registries, in seconds.
const supposedTTL = 86400

// askViews asks the servers of the parent zone, and examines the servers that they name.
func (a *audit) askViews(ctx context.Context, views []View) []View {
	var g diag.Group
	for i := range views {
		v := &views[i]
		g.Go(func() {
			v.NS = a.askUDP(ctx, v.IP, extended(a.Zone, dns.TypeNS))
			for _, host := range HostsOf(Delegation(v.NS, a.Zone)) {
				a.meet(ctx, host)
				for _, glue := range GlueFor(v.NS, host) {
					a.visit(ctx, glue.IP, host)
				}
			}
		})
		g.Go(func() { v.DS = a.askUDP(ctx, v.IP, extended(a.Zone, dns.TypeDS)) })
	}
	g.Wait()
	return views
}

// between returns a zone between the supposed parent and the domain, if its servers refer there: the resolver could
// not reveal it.
func between(p Parent, domain string) (zone string, hosts []string, glue map[string][]Glue) {
	glue = map[string][]Glue{}
	for _, v := range p.Views {
		if v.NS.Rcode() != dns.RcodeSuccess || v.NS.Msg.Authoritative {
			continue
		}
		for _, rr := range v.NS.Msg.Ns {
			ns, ok := rr.(*dns.NS)
			owner := dns.CanonicalName(rr.Header().Name)
			if !ok || owner == domain || owner == p.Zone || !dns.IsSubDomain(owner, domain) || !dns.IsSubDomain(p.Zone, owner) {
				continue
			}
			zone = owner
			host := dns.CanonicalName(ns.Ns)
			if glue[host] = append(glue[host], GlueFor(v.NS, host)...); !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		if zone != "" {
			break
		}
	}
	slices.Sort(hosts)
	return zone, hosts, glue
}

// parentServers lists addresses of the servers of the parent zone: one of each host, IPv4 first, because one answer
// per host matters; then the rest.
func (a *audit) parentServers(ctx context.Context, hosts []string, glue map[string][]Glue) []View {
	hosts = hosts[:min(len(hosts), maxParents)]
	found := make([][]netip.Addr, len(hosts))
	var g diag.Group
	for i, host := range hosts {
		g.Go(func() {
			found[i] = a.lookupHost(ctx, host).All()
			for _, g := range glue[host] {
				if !slices.Contains(found[i], g.IP) {
					found[i] = append(found[i], g.IP)
				}
			}
			slices.SortFunc(found[i], netip.Addr.Compare) // IPv4 comes first
		})
	}
	g.Wait()
	var views []View
	for round := range maxParents {
		for i, host := range hosts {
			if round < len(found[i]) && len(views) < maxParents {
				views = append(views, View{Host: host, IP: found[i][round]})
			}
		}
	}
	withIPv6(views, hosts, found)
	return views
}

// withIPv6 ensures that an IPv6 address is among those queried, if there is any: its answer shows whether IPv6 works
// from here.
func withIPv6(views []View, hosts []string, found [][]netip.Addr) {
	if slices.ContainsFunc(views, func(v View) bool { return v.IP.Is6() }) {
		return
	}
	for i, list := range found {
		if j := slices.IndexFunc(list, netip.Addr.Is6); j >= 0 {
			views[len(views)-1] = View{Host: hosts[i], IP: list[j]}
			return
		}
	}
}

// Delegation returns the NS records of a zone in a reply of the parent zone: in the authority section
// of a referral, or as the answer of a server that has both zones.
func Delegation(r Reply, zone string) []*dns.NS {
	if !r.OK() || r.Msg.Rcode != dns.RcodeSuccess {
		return nil
	}
	if records := Set[*dns.NS](r.Msg.Answer, zone); len(records) > 0 {
		return records
	}
	return Set[*dns.NS](r.Msg.Ns, zone)
}

// Glue is an address beside a delegation.
type Glue struct {
	IP  netip.Addr
	TTL uint32
}

// GlueFor returns the addresses of a host in the additional section of a reply.
func GlueFor(r Reply, host string) []Glue {
	if !r.OK() {
		return nil
	}
	var list []Glue
	for _, rr := range r.Msg.Extra {
		if !strings.EqualFold(rr.Header().Name, host) {
			continue
		}
		if ip := resolver.AddressIn(rr); ip.IsValid() {
			list = append(list, Glue{ip, rr.Header().Ttl})
		}
	}
	return list
}

// cycle follows delegations whose servers have no known address and returns the zones that wait for each other, the
// first of them again at the end, or nil. Path are the zones so far, hosts the servers of the last.
func (a *audit) cycle(ctx context.Context, path, hosts []string) []string {
	if len(path) > maxDepth {
		return nil
	}
	for _, host := range hosts[:min(len(hosts), maxDepth)] {
		for i, zone := range path {
			if dns.IsSubDomain(zone, host) && i < len(path)-1 {
				return append(slices.Clone(path[i:]), zone)
			}
		}
		if dns.IsSubDomain(path[len(path)-1], host) {
			continue
		}
		zone, next := a.referral(ctx, host)
		if zone == "" {
			continue
		}
		if found := a.cycle(ctx, append(slices.Clone(path), zone), next); found != nil {
			return found
		}
	}
	return nil
}

// referral asks the nearest parent zone a host that answers for the zone of the host, and returns its
// servers, unless there is glue for one of them.
func (a *audit) referral(ctx context.Context, host string) (zone string, hosts []string) {
	_, servers, err := a.locate(ctx, host)
	if err != nil {
		return "", nil
	}
	for _, v := range a.parentServers(ctx, servers, nil) {
		r := a.askUDP(ctx, v.IP, plain(host, dns.TypeA))
		if !r.OK() {
			continue
		}
		for _, rr := range r.Msg.Ns {
			if ns, ok := rr.(*dns.NS); ok && dns.IsSubDomain(ns.Hdr.Name, host) {
				zone = dns.CanonicalName(ns.Hdr.Name)
				hosts = append(hosts, dns.CanonicalName(ns.Ns))
				if len(GlueFor(r, ns.Ns)) > 0 {
					return "", nil
				}
			}
		}
		return zone, hosts
	}
	return "", nil
}
