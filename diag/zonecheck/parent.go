package zonecheck

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A parentSide is the zone above, and what its servers say of the domain.
type parentSide struct {
	zone  string // absolute; empty if it is not known
	err   error  // why not
	hosts []string
	views []parentView
}

// A parentView is what one server of the zone above says.
type parentView struct {
	host   string
	ip     netip.Addr
	ns, ds reply
}

var errNoParent = errors.New("no zone above was found")

// locate finds the nearest zone above a name that the resolver knows of, and its servers. If a nearer
// one does not answer, the servers that are found refer to it.
func (a *audit) locate(ctx context.Context, name string) (zone string, hosts []string, err error) {
	ancestors := []string{}
	for n := name; n != "."; {
		n = above(n)
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
				return part[i], hostsOf(answer.Records), nil
			case answer.Err() != nil && err == nil:
				err = answer.Err()
			}
		}
	}
	if err == nil {
		err = errNoParent
	}
	return "", nil, err
}

// hostsOf lists the names in NS records, in lower case, sorted, without duplicates.
func hostsOf(records []*dns.NS) []string {
	hosts := []string{}
	for _, r := range records {
		hosts = append(hosts, dns.CanonicalName(r.Ns))
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// askParent finds the zone above and asks its servers for the delegation.
func (a *audit) askParent(ctx context.Context) {
	zone, hosts, err := a.locate(ctx, a.zone)
	a.aboveName = zone
	close(a.aboveKnown)
	p := parentSide{zone: zone, hosts: hosts}
	var glue map[string][]glueAddr
	for range maxDepth {
		if err != nil {
			break
		}
		p.views = a.askViews(ctx, a.parentServers(ctx, p.hosts, glue))
		nearer, hosts, addresses := between(p, a.zone)
		if nearer == "" {
			break
		}
		p, glue = parentSide{zone: nearer, hosts: hosts}, addresses
	}
	if err != nil {
		p.err = fmt.Errorf("finding the zone above %s: %w", bareName(a.zone), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parent = p
}

// askViews asks the servers of the zone above, and examines the servers that they name.
func (a *audit) askViews(ctx context.Context, views []parentView) []parentView {
	var g diag.Group
	for i := range views {
		v := &views[i]
		g.Go(func() {
			v.ns = a.askUDP(ctx, v.ip, extended(a.zone, dns.TypeNS))
			for _, host := range hostsOf(delegation(v.ns, a.zone)) {
				a.meet(ctx, host)
				for _, glue := range glueFor(v.ns, host) {
					a.visit(ctx, glue.ip, host)
				}
			}
		})
		g.Go(func() { v.ds = a.askUDP(ctx, v.ip, extended(a.zone, dns.TypeDS)) })
	}
	g.Wait()
	return views
}

// between returns a zone between the one that was taken for the parent and the domain, if its servers
// refer there: the resolver could not tell of it.
func between(p parentSide, domain string) (zone string, hosts []string, glue map[string][]glueAddr) {
	glue = map[string][]glueAddr{}
	for _, v := range p.views {
		if v.ns.rcode() != dns.RcodeSuccess || v.ns.msg.Authoritative {
			continue
		}
		for _, rr := range v.ns.msg.Ns {
			ns, ok := rr.(*dns.NS)
			owner := dns.CanonicalName(rr.Header().Name)
			if !ok || owner == domain || owner == p.zone || !inside(owner, domain) || !inside(p.zone, owner) {
				continue
			}
			zone = owner
			host := dns.CanonicalName(ns.Ns)
			if glue[host] = append(glue[host], glueFor(v.ns, host)...); !slices.Contains(hosts, host) {
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

// parentServers lists addresses of the servers of the zone above: of each host one, IPv4 first, for
// what matters is what the hosts say; then those that are left.
func (a *audit) parentServers(ctx context.Context, hosts []string, glue map[string][]glueAddr) []parentView {
	hosts = hosts[:min(len(hosts), maxParents)]
	found := make([][]netip.Addr, len(hosts))
	var g diag.Group
	for i, host := range hosts {
		g.Go(func() {
			found[i] = a.lookupHost(ctx, host).All()
			for _, g := range glue[host] {
				if !slices.Contains(found[i], g.ip) {
					found[i] = append(found[i], g.ip)
				}
			}
			slices.SortFunc(found[i], netip.Addr.Compare) // IPv4 comes first
		})
	}
	g.Wait()
	var views []parentView
	for round := 0; len(views) < maxParents; round++ {
		more := false
		for i, host := range hosts {
			if round < len(found[i]) && len(views) < maxParents {
				views = append(views, parentView{host: host, ip: found[i][round]})
				more = true
			}
		}
		if !more {
			break
		}
	}
	withIPv6(views, hosts, found)
	return views
}

// withIPv6 sees that an IPv6 address is among those that are asked, if there is any: whether it answers
// tells whether IPv6 works from here.
func withIPv6(views []parentView, hosts []string, found [][]netip.Addr) {
	if slices.ContainsFunc(views, func(v parentView) bool { return v.ip.Is6() }) {
		return
	}
	for i, list := range found {
		if j := slices.IndexFunc(list, netip.Addr.Is6); j >= 0 {
			views[len(views)-1] = parentView{host: hosts[i], ip: list[j]}
			return
		}
	}
}

// delegation returns the NS records of a zone in a reply of the zone above: in the authority section
// of a referral, or as the answer of a server that has both zones.
func delegation(r reply, zone string) []*dns.NS {
	if !r.ok() || r.msg.Rcode != dns.RcodeSuccess {
		return nil
	}
	if records := set[*dns.NS](r.msg.Answer, zone); len(records) > 0 {
		return records
	}
	return set[*dns.NS](r.msg.Ns, zone)
}

// A glueAddr is an address beside a delegation.
type glueAddr struct {
	ip  netip.Addr
	ttl uint32
}

// glueFor returns the addresses of a host in the additional section of a reply.
func glueFor(r reply, host string) []glueAddr {
	if !r.ok() {
		return nil
	}
	var list []glueAddr
	for _, rr := range r.msg.Extra {
		if !strings.EqualFold(rr.Header().Name, host) {
			continue
		}
		if ip := addressIn(rr); ip.IsValid() {
			list = append(list, glueAddr{ip, rr.Header().Ttl})
		}
	}
	return list
}

// addressIn returns the address in an A or AAAA record.
func addressIn(rr dns.RR) netip.Addr {
	var ip netip.Addr
	switch rr := rr.(type) {
	case *dns.A:
		ip, _ = netip.AddrFromSlice(rr.A.To4())
	case *dns.AAAA:
		ip, _ = netip.AddrFromSlice(rr.AAAA.To16())
	}
	return ip
}

// cycle follows delegations whose servers have no known address and returns the zones that wait for
// each other, the first of them again at the end, or nil. Path are the zones so far, hosts the servers
// of the last.
func (a *audit) cycle(ctx context.Context, path, hosts []string) []string {
	if len(path) > maxDepth {
		return nil
	}
	for _, host := range hosts[:min(len(hosts), maxDepth)] {
		for i, zone := range path {
			if inside(zone, host) && i < len(path)-1 {
				return append(slices.Clone(path[i:]), zone)
			}
		}
		if inside(path[len(path)-1], host) {
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

// referral asks the nearest zone above a host that answers for the zone of the host, and returns its
// servers, unless there is glue for one of them.
func (a *audit) referral(ctx context.Context, host string) (zone string, hosts []string) {
	_, servers, err := a.locate(ctx, host)
	if err != nil {
		return "", nil
	}
	for _, v := range a.parentServers(ctx, servers, nil) {
		r := a.askUDP(ctx, v.ip, plain(host, dns.TypeA))
		if !r.ok() {
			continue
		}
		for _, rr := range r.msg.Ns {
			if ns, ok := rr.(*dns.NS); ok && inside(ns.Hdr.Name, host) {
				zone = dns.CanonicalName(ns.Hdr.Name)
				hosts = append(hosts, dns.CanonicalName(ns.Ns))
				if len(glueFor(r, ns.Ns)) > 0 {
					return "", nil
				}
			}
		}
		return zone, hosts
	}
	return "", nil
}
