package zonecheck

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A standing is what a server is to the zone, by its answer for the SOA record.
type standing int

const (
	mute          standing = 0 // no reply, or none that can be read
	authoritative standing = 1
	modest        standing = 2 // gives the answer, and does not claim to be authoritative
	upward        standing = 3 // refers to the zones above
	lame          standing = 4 // anything else
)

func (a *audit) standingOf(r reply) standing { return standingOf(r, a.zone) }

func standingOf(r reply, zone string) standing {
	if !r.ok() {
		return mute
	}
	m := r.msg
	has := len(set[*dns.SOA](m.Answer, zone))+len(set[*dns.CNAME](m.Answer, zone)) > 0
	switch {
	case m.Rcode == dns.RcodeSuccess && m.Authoritative:
		return authoritative
	case m.Rcode == dns.RcodeSuccess && has:
		return modest
	case m.Rcode == dns.RcodeSuccess && refersUp(m, zone):
		return upward
	default:
		return lame
	}
}

// refersUp reports whether a reply refers to servers of a zone above.
func refersUp(m *dns.Msg, zone string) bool {
	return len(m.Answer) == 0 && slices.ContainsFunc(m.Ns, func(rr dns.RR) bool {
		owner := dns.CanonicalName(rr.Header().Name)
		return rr.Header().Rrtype == dns.TypeNS && owner != zone && inside(owner, zone)
	})
}

// A cut is what the servers of the zone above say of the domain.
type cut struct {
	known   bool     // at least one said anything
	missing bool     // the domain does not exist
	plain   bool     // the domain exists, and is no zone of its own
	hosts   []string // servers, sorted
	ttl     uint32   // of the NS records
	glue    map[string][]glueAddr
	differ  []string // how the servers contradict each other
	dsKnown bool
	ds      []*dns.DS
}

// Evidence is all that the rules look at.
type evidence struct {
	domain   diag.Domain
	zone     string
	now      time.Time
	parent   parentSide
	cut      cut
	resolver diag.Answer[*dns.NS]

	servers   []*server  // by name
	addresses []*address // IPv4 first
	hosts     map[string]diag.Addresses
	chases    []chase
	content   map[string]map[uint16]reply
	within    map[string]reply
	cyclic    []string
	surplus   int
	exhausted bool
	public    func(netip.Addr) bool
	heard     map[bool]bool // by whether it is IPv6: anybody answered

	serving []*address // those that are authoritative
	own     []string   // the servers that the zone names, of all answers
	ownTTL  uint32
	sec     security
}

// evidence orders what was heard.
func (a *audit) evidence(d diag.Domain, began time.Time) *evidence {
	e := &evidence{
		domain: d, zone: a.zone, now: began, parent: a.parent, resolver: a.resolver,
		hosts: map[string]diag.Addresses{}, chases: a.chases, content: map[string]map[uint16]reply{},
		within: a.within, cyclic: a.cyclic, surplus: a.surplus, exhausted: a.wire.exhausted(),
		public: a.wire.public, heard: map[bool]bool{},
	}
	for _, name := range slices.Sorted(maps.Keys(a.servers)) {
		s := a.servers[name]
		slices.SortFunc(s.ips, compareAddrs)
		e.servers = append(e.servers, s)
	}
	for _, ip := range slices.SortedFunc(maps.Keys(a.addresses), compareAddrs) {
		e.addresses = append(e.addresses, a.addresses[ip])
	}
	for name, h := range a.hosts {
		e.hosts[name] = h.addresses
	}
	for _, t := range a.tasks {
		if e.content[t.name] == nil {
			e.content[t.name] = map[uint16]reply{}
		}
		e.content[t.name][t.qtype] = t.reply
	}
	slices.SortFunc(e.chases, func(a, b chase) int { return strings.Compare(a.name, b.name) })
	e.digest()
	return e
}

// compareAddrs puts IPv4 before IPv6.
func compareAddrs(a, b netip.Addr) int { return a.Compare(b) }

// digest draws what follows from the answers. It touches nothing.
func (e *evidence) digest() {
	e.cut = e.parent.digest(e.zone)
	for _, v := range e.parent.views {
		e.hear(v.ip, v.ns, v.ds)
	}
	for _, ad := range e.addresses {
		e.hear(ad.ip, ad.replies[:]...)
		if standingOf(ad.soa(), e.zone) == authoritative {
			e.serving = append(e.serving, ad)
		}
	}
	own := map[string]bool{}
	for _, ad := range e.serving {
		records := e.records(ad, probeNS, dns.TypeNS)
		for _, rr := range records {
			own[dns.CanonicalName(rr.(*dns.NS).Ns)] = true
			e.ownTTL = rr.Header().Ttl
		}
	}
	e.own = slices.Sorted(maps.Keys(own))
	e.sec = e.secure()
}

func (e *evidence) hear(ip netip.Addr, replies ...reply) {
	for _, r := range replies {
		if r.ok() {
			e.heard[ip.Is6()] = true
		}
	}
}

// silence reports whether nothing at all was learned: neither of the zone above nor of the domain.
func (e *evidence) silence() bool {
	return e.parent.zone == "" && e.resolver.Silent() && len(e.addresses) == 0
}

// records returns what an address answered to a probe: the records of a type at the apex. They are nil
// if it did not say.
func (e *evidence) records(ad *address, p probe, qtype uint16) []dns.RR {
	r := ad.replies[p]
	if r.rcode() != dns.RcodeSuccess {
		return nil
	}
	return rrset(r.msg.Answer, e.zone, qtype)
}

// rrset picks the records of a name and type. It is empty and not nil if there are none.
func rrset(section []dns.RR, name string, qtype uint16) []dns.RR {
	list := []dns.RR{}
	for _, rr := range section {
		h := rr.Header()
		if h.Rrtype == qtype && h.Class == dns.ClassINET && strings.EqualFold(h.Name, name) {
			list = append(list, rr)
		}
	}
	return list
}

// digest draws what the zone above says from what its servers said.
func (p *parentSide) digest(zone string) cut {
	c := cut{hosts: []string{}, glue: map[string][]glueAddr{}}
	hosts, said := map[string]bool{}, map[string]string{}
	for _, v := range p.views {
		switch r := v.ns; {
		case !r.ok():
			continue
		case r.msg.Rcode == dns.RcodeNameError:
			c.known, said["there is no such name"] = true, v.host
		case r.msg.Rcode != dns.RcodeSuccess:
			continue
		default:
			c.known = true
			records := delegation(r, zone)
			said[strings.Join(hostsOf(records), " ")] = v.host
			for _, ns := range records {
				host := dns.CanonicalName(ns.Ns)
				hosts[host], c.ttl = true, ns.Hdr.Ttl
				c.addGlue(host, glueFor(r, host))
			}
		}
		c.addDS(v.ds, zone)
	}
	c.hosts = slices.Sorted(maps.Keys(hosts))
	if len(said) > 1 {
		for _, text := range slices.Sorted(maps.Keys(said)) {
			c.differ = append(c.differ, said[text]+" says: "+cmp.Or(text, "no name servers"))
		}
	}
	_, c.missing = said["there is no such name"]
	c.missing = c.missing && len(c.hosts) == 0
	c.plain = c.known && !c.missing && len(c.hosts) == 0
	return c
}

func (c *cut) addGlue(host string, list []glueAddr) {
	for _, g := range list {
		same := func(have glueAddr) bool { return have.ip == g.ip }
		if !slices.ContainsFunc(c.glue[host], same) {
			c.glue[host] = append(c.glue[host], g)
		}
	}
	slices.SortFunc(c.glue[host], func(a, b glueAddr) int { return a.ip.Compare(b.ip) })
}

func (c *cut) addDS(r reply, zone string) {
	if rcode := r.rcode(); rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError || !r.msg.Authoritative {
		return
	}
	c.dsKnown = true
	for _, ds := range set[*dns.DS](r.msg.Answer, zone) {
		same := func(have *dns.DS) bool { return sameDS(have, ds) }
		if !slices.ContainsFunc(c.ds, same) && len(c.ds) < maxListed {
			c.ds = append(c.ds, ds)
		}
	}
}

func sameDS(a, b *dns.DS) bool {
	return a.KeyTag == b.KeyTag && a.Algorithm == b.Algorithm && a.DigestType == b.DigestType &&
		strings.EqualFold(a.Digest, b.Digest)
}

// at returns the reply about contents of the zone.
func (e *evidence) at(name string, qtype uint16) reply { return e.content[name][qtype] }

// hostsOn lists the names of the servers at an address.
func (e *evidence) hostsOn(ip netip.Addr) []string {
	var list []string
	for _, s := range e.servers {
		if slices.Contains(s.ips, ip) {
			list = append(list, bareName(s.name))
		}
	}
	return list
}

// target names an address in findings.
func (e *evidence) target(ad *address) string {
	return strings.Join(append(e.hostsOn(ad.ip), ad.ip.String()), " ")
}

// soas returns the SOA record of each server that has one.
func (e *evidence) soas() map[*address]*dns.SOA {
	list := map[*address]*dns.SOA{}
	for _, ad := range e.serving {
		if records := set[*dns.SOA](ad.soa().msg.Answer, e.zone); len(records) > 0 {
			list[ad] = records[0]
		}
	}
	return list
}

// soa returns the SOA record with the highest serial number, or nil.
func (e *evidence) soa() *dns.SOA {
	var best *dns.SOA
	soas := e.soas()
	for _, ad := range e.serving {
		// RFC 1982 section 3.2: numbers run in a circle.
		if s := soas[ad]; s != nil && (best == nil || int32(s.Serial-best.Serial) > 0) {
			best = s
		}
	}
	return best
}
