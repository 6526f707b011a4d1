package zonecheck

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// A reachability says whether any server of the domain can be reached.
type reachability int

const (
	reachable   reachability = 0
	unreachable reachability = 1 // none can, and it is their fault
	unmeasured  reachability = 2 // none did, and the fault may lie here
)

// reach returns whether any server is reachable, and else whether the servers are at fault: an address counts as
// dead if other servers are reachable from here over the same IP version, or if its answers are unusable for
// resolvers. Resolvers do not fall back to TCP if UDP is not answered.
func (e *evidence) reach() reachability {
	if slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool {
		return ad.Replies[survey.ProbeSOA].OK() && ad.SOA().OK()
	}) {
		return reachable
	}
	result := unmeasured
	for _, ad := range e.Addresses {
		switch udp := ad.Replies[survey.ProbeSOA]; {
		case udp.Result == survey.NotAsked:
			return unmeasured
		case udp.Result == survey.Unroutable:
		case udp.Result != survey.TimedOut, e.responds[ad.IP.Is6()], ad.Source().IsValid():
			result = unreachable
		}
	}
	if len(e.Addresses) == 0 && !slices.ContainsFunc(e.Servers, e.addressUnknown) {
		return unreachable
	}
	return result
}

// addressUnknown reports whether it could not be learned where a server is.
func (e *evidence) addressUnknown(s *survey.Server) bool {
	a, ok := e.Hosts[s.Name]
	return ok && a.Err() != nil && len(e.cut.glue[s.Name]) == 0
}

// glueMismatch compares glue with the addresses in the zone, where those are known.
func (e *evidence) glueMismatch() rule.Failures {
	var list rule.Failures
	for _, host := range e.cut.inBailiwick() {
		addresses, glue := e.Hosts[host], e.cut.glue[host]
		if !e.glueComparable(host) {
			continue
		}
		name := survey.BareName(host)
		fail := func(ip netip.Addr, has, lacks string) {
			list = append(list, rule.Failure{
				Detail: "For " + name + ", " + has + " has the address " + ip.String() + " and " + lacks + " does not.",
				Target: name,
			})
		}
		for _, g := range glue {
			if !slices.Contains(addresses.All(), g.IP) && answeredFor(addresses, g.IP) {
				fail(g.IP, e.parentName(), "the zone itself")
			}
		}
		for _, ip := range addresses.All() {
			if !slices.ContainsFunc(glue, func(g survey.Glue) bool { return g.IP == ip }) {
				fail(ip, "the zone", e.parentName())
			}
		}
	}
	return list
}

// glueComparable reports whether there is glue for a host, and the zone says where the host is.
func (e *evidence) glueComparable(host string) bool {
	a, ok := e.Hosts[host]
	return ok && len(e.cut.glue[host]) > 0 && len(a.All()) > 0 && len(a.V4.Aliases) == 0
}

func answeredFor(a diag.Addresses, ip netip.Addr) bool {
	if ip.Is6() {
		return a.V6.Err() == nil
	}
	return a.V4.Err() == nil
}

type zoneCut struct {
	zone        string
	known       bool     // at least one answered
	nxdomain    bool     // the domain does not exist
	undelegated bool     // the domain exists, and is not a zone of its own
	hosts       []string // servers, sorted
	ttl         uint32   // of the NS records
	glue        map[string][]survey.Glue
	views       map[string]string // by what servers say, a server that says it
	dsKnown     bool
	ds          []*dns.DS
}

// maxDS bounds the DS records that are checked.
const maxDS = 12

// noSuchName is the answer of the parent zone's servers for a domain that does not exist.
const noSuchName = "NXDOMAIN"

// cutOf puts together what the servers of the parent zone answered.
func cutOf(p survey.Parent, zone string) zoneCut {
	c := zoneCut{zone: zone, hosts: []string{}, glue: map[string][]survey.Glue{}, views: map[string]string{}}
	hosts := map[string]bool{}
	for _, v := range p.Views {
		switch v.NS.Rcode() {
		case dns.RcodeNameError:
			c.views[noSuchName] = v.Host
		case dns.RcodeSuccess:
			records := survey.Delegation(v.NS, zone)
			c.views[strings.Join(bareNames(survey.HostsOf(records)), ", ")] = v.Host
			for _, ns := range records {
				host := dns.CanonicalName(ns.Ns)
				hosts[host], c.ttl = true, ns.Hdr.Ttl
				c.addGlue(host, survey.GlueFor(v.NS, host))
			}
		default:
			continue
		}
		c.addDS(v.DS)
	}
	c.hosts = slices.Sorted(maps.Keys(hosts))
	c.known = len(c.views) > 0
	_, denied := c.views[noSuchName]
	c.nxdomain = denied && len(c.hosts) == 0
	c.undelegated = c.known && !denied && len(c.hosts) == 0
	return c
}

func (c *zoneCut) addGlue(host string, list []survey.Glue) {
	for _, g := range list {
		same := func(have survey.Glue) bool { return have.IP == g.IP }
		if !slices.ContainsFunc(c.glue[host], same) {
			c.glue[host] = append(c.glue[host], g)
		}
	}
	slices.SortFunc(c.glue[host], func(a, b survey.Glue) int { return a.IP.Compare(b.IP) })
}

func (c *zoneCut) addDS(r survey.Reply) {
	if !r.Settled() || !r.Msg.Authoritative {
		return
	}
	c.dsKnown = true
	for _, ds := range survey.Set[*dns.DS](r.Msg.Answer, c.zone) {
		same := func(have *dns.DS) bool { return sameDS(have, ds) }
		if !slices.ContainsFunc(c.ds, same) && len(c.ds) < maxDS {
			c.ds = append(c.ds, ds)
		}
	}
}

func sameDS(a, b *dns.DS) bool {
	return a.KeyTag == b.KeyTag && a.Algorithm == b.Algorithm && a.DigestType == b.DigestType &&
		strings.EqualFold(a.Digest, b.Digest)
}

// inBailiwick lists the servers in the parent zone whose names lie in the domain: they need glue.
func (c *zoneCut) inBailiwick() []string {
	return slices.DeleteFunc(slices.Clone(c.hosts), func(h string) bool {
		return !dns.IsSubDomain(c.zone, h) || survey.Literal(h).IsValid()
	})
}

// referralSize is the size of the reply with which the parent zone refers to the servers, for a question
// of the longest name: each server, and of those in the domain one address of each kind that has glue.
func (c *zoneCut) referralSize() int {
	longest := c.zone
	for room := 254 - len(longest); room > 1; room = 254 - len(longest) {
		longest = strings.Repeat("x", min(63, room-1)) + "." + longest
	}
	m := new(dns.Msg).SetQuestion(longest, dns.TypeAAAA)
	m.Compress = true
	for _, host := range c.hosts {
		header := dns.RR_Header{Name: c.zone, Rrtype: dns.TypeNS, Class: dns.ClassINET}
		m.Ns = append(m.Ns, &dns.NS{Hdr: header, Ns: host})
		if !dns.IsSubDomain(c.zone, host) {
			continue
		}
		seen := map[bool]bool{}
		for _, g := range c.glue[host] {
			if !seen[g.IP.Is6()] {
				seen[g.IP.Is6()] = true
				m.Extra = append(m.Extra, dnsmsg.AddressRecord(host, g.IP, 0))
			}
		}
	}
	return m.Len()
}
