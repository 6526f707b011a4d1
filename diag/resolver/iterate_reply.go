package resolver

import (
	"fmt"
	"slices"

	"github.com/miekg/dns"
)

// read takes a hop's reply for what it means to the walk: an answer, a referral, or nothing of use.
func (h *Hop) read() {
	m := h.Reply
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError {
		h.Err = fmt.Errorf("%w: it answers %s", ErrLame, rcodeName(m.Rcode))
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

func rcodeName(rcode int) string {
	if name, ok := dns.RcodeToString[rcode]; ok {
		return name
	}
	return fmt.Sprintf("RCODE%d", rcode)
}

// holdsAnswer reports whether there is a record of the name that was asked for, or an alias of it.
func (h *Hop) holdsAnswer() bool {
	c := chain{zone: h.Zone, qtype: h.Question.Qtype, seen: map[string]bool{}}
	c.follow(h.Reply, h.Question.Name)
	return len(c.records) > 0
}

// refer reads a referral: NS records of a zone that is below the present one and holds the name (RFC
// 1034 section 4.3.2). Addresses count as glue for the hosts that they name, and if the present zone
// holds those: others are none of its business (RFC 5452 section 6).
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

// A chain is what has been found of an answer: records, and the aliases that led to them.
type chain struct {
	zone    string // whose server is being believed
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
