package diagtest

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// authorityFor returns the zone of a server that holds the answer, or nil. The records DS of a zone are
// with the parent zone, if the server has that.
func authorityFor(zones map[string]*zone, q dns.Question) *zone {
	if z := enclosing(zones, q.Name, q.Qtype); z != nil {
		return z
	}
	return enclosing(zones, q.Name, dns.TypeNone)
}

// authoritative answers from zones as a server does that is authoritative for them (RFC 1034 section
// 4.3.2).
func (s *Server) authoritative(q *dns.Msg, zones map[string]*zone, config ServerConfig) *dns.Msg {
	question, do := q.Question[0], dnssecOK(q)
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = config.Recursive || config.RecursionFlag
	z := authorityFor(zones, question)
	if z == nil {
		if config.Upward {
			m.Ns = rootServers()
			return m
		}
		m.Rcode = dns.RcodeRefused
		return m
	}
	m.Authoritative = !config.NoAA
	seen := map[string]bool{}
	for z != nil && !seen[dns.CanonicalName(question.Name)] && len(seen) <= maxAliases {
		seen[dns.CanonicalName(question.Name)] = true
		r := z.lookup(question.Name, question.Qtype, true)
		if r.cut != "" {
			if len(m.Answer) == 0 {
				m.Authoritative = false // RFC 1034 section 6.2.6
			}
			s.refer(m, r, zones, do)
			return m
		}
		next := dns.Question{Name: r.next, Qtype: question.Qtype}
		if z = nil; r.next != "" {
			z = authorityFor(zones, next)
		}
		r.write(m, question.Qtype, do, z == nil)
		m.Rcode = r.rcode
		question = next
	}
	m.Extra = append(m.Extra, s.glue(m.Answer, zones)...)
	return m
}

// refer points to the servers of a zone below.
func (s *Server) refer(m *dns.Msg, r result, zones map[string]*zone, do bool) {
	m.Ns = append(m.Ns, copied(r.answer)...)
	if do && r.zone.signer != nil {
		if !s.faults.replaces(r.cut, dns.TypeDS) { // of which there is no proof either
			r.zone.signer.proveCut(m, r)
		}
	}
	m.Extra = append(m.Extra, s.glue(r.answer, zones)...)
}

// glue returns the addresses that a server knows of the hosts in NS records. One that answers for the
// zones of the world knows them all.
func (s *Server) glue(rrs []dns.RR, zones map[string]*zone) []dns.RR {
	s.mu.Lock()
	if s.zones == nil {
		zones = s.world.dns.current()
	}
	s.mu.Unlock()
	var list []dns.RR
	for _, rr := range rrs {
		ns, ok := rr.(*dns.NS)
		if !ok {
			continue
		}
		host := dns.CanonicalName(ns.Ns)
		for _, origin := range slices.Sorted(maps.Keys(zones)) {
			n := zones[origin].nodes[host]
			list = append(list, copied(n[dns.TypeA])...)
			list = append(list, copied(n[dns.TypeAAAA])...)
		}
	}
	return list
}

// transferSize is how many records go into one message of a transfer.
const transferSize = 100

// transfer hands out a zone: all its records between two copies of the SOA (RFC 5936 section 2.2).
func transfer(q *dns.Msg, zones map[string]*zone, allowed bool) []*dns.Msg {
	z := zones[dns.CanonicalName(q.Question[0].Name)]
	if z == nil || !allowed || len(z.apex()[dns.TypeSOA]) == 0 {
		return []*dns.Msg{new(dns.Msg).SetRcode(q, dns.RcodeRefused)}
	}
	soa := z.apex()[dns.TypeSOA][0]
	records := []dns.RR{soa}
	for _, owner := range slices.Sorted(maps.Keys(z.nodes)) {
		for _, rrtype := range slices.Sorted(maps.Keys(z.nodes[owner])) {
			if rrtype != dns.TypeSOA {
				records = append(records, z.nodes[owner][rrtype]...)
			}
		}
	}
	if z.signer != nil {
		records = append(records, z.signer.all()...)
	}
	var messages []*dns.Msg
	for part := range slices.Chunk(append(records, soa), transferSize) {
		m := new(dns.Msg).SetReply(q)
		m.Authoritative = true
		m.Answer = copied(part)
		messages = append(messages, m)
	}
	return messages
}

func rootServers() []dns.RR {
	var list []dns.RR
	for _, h := range resolver.RootServers() {
		header := dns.RR_Header{Name: ".", Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 518400}
		list = append(list, &dns.NS{Hdr: header, Ns: h.Name})
	}
	return list
}

// ServeZones opens the name servers of all zones in the world, so that names can be resolved from the root
// servers: of each zone with an SOA record or a signature, and of each parent zone. Missing records are
// added: SOA records, NS records for the host "ns" in the zone, its address, and delegations. The root
// servers have their well-known addresses.
//
// Servers that exist are left as they are; servers opened later replace those opened here.
func (w *World) ServeZones() {
	w.dns.completeAll()
	var records []dns.RR // published in one change: each change rebuilds all zones
	for _, h := range resolver.RootServers() {
		if len(w.known(h.Name)) == 0 {
			records = append(records, w.hosting(h.Name, h.Addrs...)...)
		}
	}
	w.dns.add(records...)
	var hosts []string
	zones := w.dns.current()
	for _, origin := range slices.Sorted(maps.Keys(zones)) {
		for _, rr := range zones[origin].apex()[dns.TypeNS] {
			hosts = append(hosts, rr.(*dns.NS).Ns)
		}
	}
	w.address(hosts)
	for _, host := range hosts {
		w.serverAt(host)
	}
}

// address allocates an address for each host that has none, in one change.
func (w *World) address(hosts []string) {
	var records []dns.RR
	given := map[string]bool{}
	for _, host := range hosts {
		name := w.aliased(host)
		if id := dns.CanonicalName(name); !given[id] && len(w.known(host)) == 0 {
			given[id] = true
			ip, err := w.net.allocate(false)
			w.check(err)
			records = append(records, w.hosting(name, ip)...)
		}
	}
	w.dns.add(records...)
}

// completeAll makes all zones real, up to the root.
func (n *names) completeAll() {
	n.change(func() {
		n.implied["."] = true
		for origin := range apexes(n.records) {
			n.asked[origin] = true
			n.implyAbove(origin)
		}
	})
}

// serverAt opens a server for the zones of the world at the addresses of a host that have none yet.
func (w *World) serverAt(host string) {
	for _, ip := range w.addresses(host, false) {
		if !w.net.listening("udp", netipPort(ip)) && !w.net.listening("tcp", netipPort(ip)) {
			w.Server(host, ip.String())
		}
	}
}

func netipPort(ip netip.Addr) netip.AddrPort { return netip.AddrPortFrom(ip, portDNS) }
