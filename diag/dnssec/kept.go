package dnssec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// KeptProofs are the NSEC and NSEC3 records in the answers of a zone. Resolvers cache them and use them to
// answer further queries (RFC 8198): a record that denies too much makes names and records unreachable that
// the zone does have.
type KeptProofs struct {
	c *Checker
	d denials
}

// maxKept bounds the records that are kept, for a question is held against each.
const maxKept = 64

// NewKeptProofs returns an empty set of proofs.
func (c *Checker) NewKeptProofs() *KeptProofs {
	return &KeptProofs{c, denials{hashed: hashed{v: &c.engine, zone: c.zone, hashes: map[name]string{}}}}
}

// Keep adds the records of a reply that have a valid signature.
func (p *KeptProofs) Keep(r Reply) {
	p.c.engine.begin()
	d := r.c.engine.denials(r.msg, p.c.zone, p.c.keys)
	for _, one := range d.nsec {
		same := func(o nsec) bool {
			return o.owner == one.owner && o.next == one.next && slices.Equal(o.types, one.types)
		}
		if len(p.d.nsec) < maxKept && !slices.ContainsFunc(p.d.nsec, same) {
			p.d.nsec = append(p.d.nsec, one)
		}
	}
	other := d.salt != p.d.salt || d.hashed.iterations != p.d.hashed.iterations
	if len(d.records) == 0 || len(p.d.records) > 0 && other {
		return
	}
	p.d.salt, p.d.hashed.iterations = d.salt, d.hashed.iterations
	for _, one := range d.records {
		same := func(o nsec3) bool {
			return o.hash == one.hash && o.next == one.next && slices.Equal(o.types, one.types)
		}
		if len(p.d.records) < maxKept && !slices.ContainsFunc(p.d.records, same) {
			p.d.records = append(p.d.records, one)
		}
	}
}

// Denies returns the record from which resolvers conclude that a name has no records of a type, or does not
// exist, described as the start of a sentence. It returns the empty string if there is no such record.
func (p *KeptProofs) Denies(owner string, rrtype uint16) string {
	n, ok := parseName(owner)
	if !ok || !n.within(p.c.zone) {
		return ""
	}
	p.c.engine.begin()
	what := dns.Type(rrtype).String()
	rest := p.d
	rest.nsec = nil
	for _, r := range p.d.nsec {
		if r.owner != n {
			rest.nsec = append(rest.nsec, r)
		} else if proven, _ := r.types.lacks(n, rrtype); proven {
			return fmt.Sprintf("The NSEC record of %s does not list %s", n, what)
		}
	}
	rest.records = nil
	for _, r := range p.d.records {
		if r.hash != p.d.of(n) {
			rest.records = append(rest.records, r)
		} else if proven, _ := r.types.lacks(n, rrtype); proven {
			return fmt.Sprintf("The NSEC3 record of %s (%s) does not list %s", n, textOf(r.hash), what)
		}
	}
	if rest.nodata(n, rrtype).status != diag.Secure && rest.nxdomain(n).status != diag.Secure {
		return ""
	}
	text := rest.gapAt(n)
	for _, p := range []prover{rest.nsec, &rest.hashed} {
		if e, ok := p.closest(n); ok {
			if _, stands := p.match(e.encloser.wildcard()); stands {
				text += fmt.Sprintf(", and that of %s does not list %s", e.encloser.wildcard(), what)
			}
		}
	}
	return text
}

// gapAt names the record that denies a name, or one above it.
func (d *denials) gapAt(n name) string {
	for _, r := range d.nsec {
		if r.covers(n) {
			return fmt.Sprintf("The NSEC record of %s says that the next name is %s, and so denies %s", r.owner, r.next, n)
		}
	}
	for labels := n.labels(); labels > d.zone.labels(); labels-- {
		if r, ok := d.covering(n.ancestor(labels)); ok {
			return fmt.Sprintf("The NSEC3 record %s denies the hash of %s", textOf(r.hash), n.ancestor(labels))
		}
	}
	return ""
}

// textOf writes a hash as the name of its record begins.
func textOf(hash string) string { return strings.ToLower(base32hex.EncodeToString([]byte(hash))) }
