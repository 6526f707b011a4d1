package diagtest

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A node holds the record sets of one name by type.
type node map[uint16][]dns.RR

// A zone is the content of one zone. It does not change once it is asked.
type zone struct {
	origin string          // canonical
	nodes  map[string]node // by canonical owner
	exists map[string]bool // the owners and, up to the origin, their ancestors
	signer *signer         // nil if the zone is not signed
	around *zone           // has the SOA record, for contents that replace those of a name; may be nil
}

func newZone(origin string, records ...dns.RR) *zone {
	z := &zone{origin: origin, nodes: map[string]node{}, exists: map[string]bool{origin: true}}
	for _, rr := range records {
		z.add(rr)
	}
	return z
}

func (z *zone) add(rr dns.RR) {
	owner := dns.CanonicalName(rr.Header().Name)
	if z.nodes[owner] == nil {
		z.nodes[owner] = node{}
	}
	rrtype := rr.Header().Rrtype
	z.nodes[owner][rrtype] = append(z.nodes[owner][rrtype], rr)
	for name := owner; name != z.origin && name != "."; name = resolver.ParentName(name) {
		z.exists[name] = true
	}
}

// within returns contents that replace those of a name of another zone.
func (z *zone) within(around *zone) *zone {
	inside := *z
	inside.around = around
	return &inside
}

func (z *zone) apex() node { return z.nodes[z.origin] }

// parseZone reads records in master file format (RFC 1035 section 5). The time to live is 300 seconds
// unless the text says otherwise. Indentation that all lines share is ignored, for an indented line
// means that the owner is the same as before.
func parseZone(text, origin string) ([]dns.RR, error) {
	parser := dns.NewZoneParser(strings.NewReader(dedent(text)+"\n"), origin, "")
	parser.SetDefaultTTL(300)
	var records []dns.RR
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		records = append(records, rr)
	}
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	return records, nil
}

func dedent(text string) string {
	lines := strings.Split(text, "\n")
	common, first := "", true
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = indent, false
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, common)
	}
	return strings.Join(lines, "\n")
}

type result struct {
	zone     *zone
	name     string   // canonical
	rcode    int      // NXDOMAIN or NOERROR
	answer   []dns.RR // empty with NOERROR: the name exists without the type
	next     string   // where an alias among the answer leads
	cut      string   // the delegation found instead, with the NS records in answer
	wildcard string   // the wildcard that matched the name
	encloser string   // the closest ancestor that exists, if the name does not
	dname    []dns.RR // the records above the name from which an alias was made
}

// lookup answers from the data of one zone (RFC 1034 section 4.3.2). If cuts is set, data below a
// delegation is the business of the zone below.
func (z *zone) lookup(name string, qtype uint16, cuts bool) result {
	r := result{zone: z, name: dns.CanonicalName(name)}
	above := z.ancestors(r.name)
	for _, owner := range above {
		n := z.nodes[owner]
		if ns := n[dns.TypeNS]; cuts && owner != z.origin && len(ns) > 0 && (owner != r.name || qtype != dns.TypeDS) {
			r.cut, r.answer = owner, ns
			return r
		}
		if d := n[dns.TypeDNAME]; owner != r.name && len(d) > 0 {
			return r.redirect(d, name)
		}
	}
	if z.exists[r.name] {
		if r = r.fill(z.nodes[r.name], name, qtype); len(r.answer) == 0 && z.signer != nil {
			r.answer = z.signer.asked(r.name, qtype)
		}
		return r
	}
	r.encloser = r.name
	for !z.exists[r.encloser] {
		r.encloser = resolver.ParentName(r.encloser)
	}
	source := "*." + strings.TrimPrefix(r.encloser, ".")
	if !z.exists[source] {
		r.rcode = dns.RcodeNameError
		return r
	}
	r.wildcard = source // RFC 4592 section 3.3
	return r.fill(z.nodes[source], name, qtype)
}

func (z *zone) ancestors(name string) []string {
	var list []string
	for n := name; ; n = resolver.ParentName(n) {
		list = append([]string{n}, list...)
		if n == z.origin || n == "." {
			return list
		}
	}
}

// fill picks the records of a type, or the alias, out of a node. The owner is as it was asked for.
func (r result) fill(n node, owner string, qtype uint16) result {
	switch alias := n[dns.TypeCNAME]; {
	case qtype == dns.TypeANY:
		for _, rrs := range n {
			r.answer = append(r.answer, rrs...)
		}
	case len(n[qtype]) > 0:
		r.answer = n[qtype]
	case len(alias) > 0 && qtype != dns.TypeNSEC && qtype != dns.TypeRRSIG:
		r.answer = alias
		r.next = alias[0].(*dns.CNAME).Target
	}
	r.answer = renamed(r.answer, owner)
	return r
}

// redirect makes an alias from a DNAME above the name (RFC 6672 section 3.1).
func (r result) redirect(dname []dns.RR, name string) result {
	d := dname[0].(*dns.DNAME)
	r.dname = dname
	prefix := name[:len(name)-len(dns.CanonicalName(d.Hdr.Name))]
	if dns.CanonicalName(d.Hdr.Name) == "." {
		prefix = name
	}
	target := prefix + strings.TrimPrefix(d.Target, ".")
	if _, ok := dns.IsDomainName(target); !ok || len(target) > 254 {
		r.rcode = dns.RcodeYXDomain // section 2.2: the new name is too long
		return r
	}
	header := dns.RR_Header{Name: name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: d.Hdr.Ttl}
	r.answer = []dns.RR{&dns.CNAME{Hdr: header, Target: target}}
	r.next = target
	return r
}

func renamed(rrs []dns.RR, owner string) []dns.RR {
	list := copied(rrs)
	for _, rr := range list {
		rr.Header().Name = owner
	}
	return list
}

func copied(rrs []dns.RR) []dns.RR { return kit.Map(rrs, dns.Copy) }

func apexes(records []dns.RR) map[string]bool {
	origins := map[string]bool{}
	for _, rr := range records {
		if rr.Header().Rrtype == dns.TypeSOA {
			origins[dns.CanonicalName(rr.Header().Name)] = true
		}
	}
	return origins
}

// split sorts records into zones: one for each origin, and one for the root.
func split(records []dns.RR, origins map[string]bool) map[string]*zone {
	zones := map[string]*zone{".": newZone(".")}
	for origin := range origins {
		zones[origin] = newZone(origin)
	}
	for _, rr := range records {
		owner, rrtype := dns.CanonicalName(rr.Header().Name), rr.Header().Rrtype
		z := enclosing(zones, owner, rrtype)
		z.add(rr)
		if rrtype == dns.TypeNS && z.origin == owner && owner != "." { // the delegation above
			enclosing(zones, resolver.ParentName(owner), dns.TypeNS).add(rr)
		}
	}
	return zones
}

// enclosing returns the zone that answers for a name and type, or nil: the deepest, but for DS that above.
func enclosing(zones map[string]*zone, name string, qtype uint16) *zone {
	name = dns.CanonicalName(name)
	if qtype == dns.TypeDS && name != "." {
		name = resolver.ParentName(name)
	}
	for ; ; name = resolver.ParentName(name) {
		if z := zones[name]; z != nil || name == "." {
			return z
		}
	}
}
