package overlay

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Record is a record of a zone file.
type Record struct {
	RR   dns.RR
	Line int // line of the file at which it begins, from 1
}

// A Zone is the future version of one zone, as returned by [Parse] or [Delegated].
type Zone struct {
	Name     string // in lower case, with the final dot
	File     string // name of the file, as given to Parse
	Records  []Record
	Partial  bool      // the file has no SOA record: anything else comes from the real DNS
	Warnings []Warning // about records that name servers ignore

	nodes      map[string]node // by name; those without records have names below them
	soa        *dns.SOA
	delegation diag.Delegation
	ask        *resolver.Iterator // of its new servers, instead of the records
}

// A node holds the record sets at a name by type.
type node map[uint16][]dns.RR

func (z *Zone) build() {
	z.nodes = map[string]node{}
	seen := map[string]bool{}
	for _, r := range z.Records {
		h := r.RR.Header()
		for name := h.Name; ; name = resolver.ParentName(name) {
			if z.nodes[name] == nil {
				z.nodes[name] = node{} // above the record an empty non-terminal (RFC 4592 section 2.2.2), so far
			}
			if name == z.Name {
				break
			}
		}
		n := z.nodes[h.Name]
		data := h.Name + dns.TypeToString[h.Rrtype] + strings.TrimPrefix(r.RR.String(), h.String())
		if !seen[data] {
			n[h.Rrtype] = append(n[h.Rrtype], r.RR)
			seen[data] = true
		}
	}
	for _, n := range z.nodes {
		for _, set := range n {
			ttl := func(a, b dns.RR) int { return cmp.Compare(a.Header().Ttl, b.Header().Ttl) }
			least := slices.MinFunc(set, ttl).Header().Ttl // RFC 2181 section 5.2
			for _, rr := range set {
				rr.Header().Ttl = least
			}
		}
	}
	if set := z.nodes[z.Name][dns.TypeSOA]; len(set) > 0 {
		z.soa = set[0].(*dns.SOA)
	}
	z.Partial = z.soa == nil
	z.delegation.Zone = z.Name
}

// Line returns the line of the file at which the first record of a name and type begins; type 0 matches any.
// It returns 0 if there is no such record.
func (z *Zone) Line(name string, qtype uint16) int {
	name = dns.CanonicalName(name)
	for _, r := range z.Records {
		if h := r.RR.Header(); h.Name == name && (qtype == 0 || h.Rrtype == qtype) {
			return r.Line
		}
	}
	return 0
}

type outcome int

const (
	outside  outcome = 0 // none of the zone: ask the real DNS
	found    outcome = 1 // records, or an alias
	nothing  outcome = 2 // NODATA, or NXDOMAIN
	absent   outcome = 3 // NXDOMAIN
	unsigned outcome = 4 // what there is only once the zone is signed
	beneath  outcome = 5 // the servers of a zone below are responsible
	wild     outcome = 6 // records of a wildcard, if the name does not exist in the world
)

// lookup finds what the zone says to a question for a name in it (RFC 1034 section 4.3.2).
func (z *Zone) lookup(name string, qtype uint16) (outcome, []dns.RR) {
	if slices.Contains(signing, qtype) {
		return unsigned, nil
	}
	if cut := z.cut(name); cut != "" && (name != cut || qtype != dns.TypeDS && qtype != dns.TypeNS) {
		return beneath, nil
	}
	n, exists := z.nodes[name]
	if !exists {
		if dname := z.redirected(name); dname != nil {
			return found, dname
		}
		encloser := resolver.ParentName(name)
		for z.nodes[encloser] == nil {
			encloser = resolver.ParentName(encloser)
		}
		source := z.nodes["*."+encloser] // RFC 4592 section 3.3.1
		rrs := renamed(source.answer(qtype), name)
		switch {
		case z.Partial && rrs != nil:
			return wild, rrs
		case rrs != nil:
			return found, rrs
		case source == nil && !z.Partial:
			return absent, nil
		}
	} else if rrs := n.answer(qtype); rrs != nil {
		return found, rrs
	}
	if z.Partial {
		return outside, nil
	}
	return nothing, nil
}

// answer picks the records of a type, or the alias, which replaces all types.
func (n node) answer(qtype uint16) []dns.RR {
	if qtype == dns.TypeANY {
		var all []dns.RR
		for _, t := range slices.Sorted(maps.Keys(n)) {
			all = append(all, n[t]...)
		}
		return all
	}
	if set := n[qtype]; set != nil {
		return set
	}
	return n[dns.TypeCNAME]
}

// cut is the name at which the zone delegates what holds a name, or empty.
func (z *Zone) cut(name string) (top string) {
	for ; name != z.Name; name = resolver.ParentName(name) {
		if len(z.nodes[name][dns.TypeNS]) > 0 {
			top = name
		}
	}
	return top
}

// redirected is the DNAME above a name, and the alias that it makes (RFC 6672 section 3.1), or nil.
func (z *Zone) redirected(name string) []dns.RR {
	for above := name; above != z.Name; {
		above = resolver.ParentName(above)
		if set := z.nodes[above][dns.TypeDNAME]; len(set) > 0 {
			d := set[0].(*dns.DNAME)
			target := strings.TrimSuffix(name, above) + strings.TrimPrefix(d.Target, ".")
			header := dns.RR_Header{Name: name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: d.Hdr.Ttl}
			return []dns.RR{d, &dns.CNAME{Hdr: header, Target: target}}
		}
	}
	return nil
}

// renamed are copies of the records of a wildcard for the name that was asked for.
func renamed(rrs []dns.RR, name string) (list []dns.RR) {
	for _, rr := range rrs {
		rr = dns.Copy(rr)
		rr.Header().Name = name
		list = append(list, rr)
	}
	return list
}

// denial is the SOA record of a negative answer, with the time for which that may be kept (RFC 2308 section 5).
func (z *Zone) denial() []dns.RR {
	if z.soa == nil {
		return nil
	}
	soa := *z.soa
	soa.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	return []dns.RR{&soa}
}

func (z *Zone) holds(name string) bool {
	return z.ask != nil || !z.Partial && z.cut(name) == "" || z.Partial && z.nodes[name] != nil
}
