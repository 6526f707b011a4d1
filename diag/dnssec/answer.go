package dnssec

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/miekg/dns"
)

// maxAliases bounds the aliases that are followed, as BIND and unbound do.
const maxAliases = 11

// A conclusion is the outcome of a query.
type conclusion struct {
	statusCause
	rcode   int
	heard   bool // there was an answer, whatever it is worth
	aliases []name
	sets    []*rrset // what answers the question, aliases included
	signed  bool     // there are signatures in the answer
}

// add joins what an answer says about one name to what was learned before.
func (c *conclusion) add(s step) {
	c.statusCause = worse(c.statusCause, s.statusCause)
	c.sets = append(c.sets, s.sets...)
}

// stop ends a chain of aliases that leads nowhere. If it is not signed anyway, that is no fault of DNSSEC.
func (c *conclusion) stop(why *ChainFault) {
	if c.status == diag.Secure {
		c.statusCause = bogus(why)
	}
}

// run follows the chain of aliases from a name to the records of a type, or to the proof of their absence. Each part
// of the chain is validated in the zone that it belongs to.
func (v *validation) run(n name, rrtype uint16) *conclusion {
	c := &conclusion{statusCause: secure}
	v.prefetch(n, rrtype)
	msg, s := v.question(c, n, rrtype)
	if msg != nil {
		s = v.step(msg, n, rrtype)
	}
	for seen := (map[name]bool{n: true}); ; seen[n] = true {
		c.add(s)
		if s.next == "" {
			return c
		}
		c.aliases = append(c.aliases, s.next)
		switch {
		case seen[s.next]:
			c.stop(fault(v.zoneOf(n), codeAliasLoop, "Following the aliases leads to %s again", s.next))
			return c
		case len(c.aliases) > maxAliases:
			c.stop(fault(v.zoneOf(n), codeAliasLong, "More than %d aliases in a row", maxAliases))
			return c
		}
		n = s.next
		msg, s = v.onward(c, msg, n, rrtype)
	}
}

// onward validates what an answer says about the target of an alias in it. Servers answer aliases into
// foreign zones with the alias alone, and resolvers may leave out proofs on the way: if the answer
// does not suffice, the question for the target itself decides, provided that it makes things better.
func (v *validation) onward(c *conclusion, msg *message, n name, rrtype uint16) (*message, step) {
	before := step{statusCause: bogus(nil)}
	if msg.speaksOf(n, rrtype) {
		before = v.step(msg, n, rrtype)
		if before.status == diag.Secure || before.status == diag.Insecure && len(before.sets) > 0 {
			return msg, before
		}
	}
	heard := c.rcode
	own, s := v.question(c, n, rrtype)
	if own != nil {
		s = v.step(own, n, rrtype)
	}
	if before.why != nil && gravity[s.status] > gravity[before.status] && !v.closerAnchor(before.why, n) {
		c.rcode = heard
		return msg, before
	}
	return own, s
}

// closerAnchor reports whether a trust anchor lies between a name and the zone of a fault. A parent zone of the
// anchor that leaves the name out of its proofs does not excuse faults below.
func (v *validation) closerAnchor(why *ChainFault, n name) bool {
	anchor, ok := v.anchors.closest(n)
	zone, known := parseName(why.Zone)
	return ok && known && anchor.below(zone)
}

func (v *validation) zoneOf(n name) name {
	if d := v.at(n); d.zone != nil {
		return d.zone.name
	}
	return root
}

// question puts a question for data and starts fetching what validating the answer will take. If there
// is no answer that could be validated, the message is nil and the step says why.
func (v *validation) question(c *conclusion, n name, rrtype uint16) (*message, step) {
	msg, err := v.fetch.get(n, rrtype)
	what := setKey{n, rrtype}
	var f *ChainFault
	switch {
	case err != nil:
		f = fault(root, codeAnswerUnavailable, "There was no answer to the query for %s", what)
	case msg.rcode != dns.RcodeSuccess && msg.rcode != dns.RcodeNameError && msg.rcode != dns.RcodeYXDomain:
		c.heard, c.rcode = true, msg.rcode
		f = fault(root, codeAnswerUnavailable, "The query for %s was answered with %s", what, msg.rcodeText())
	default:
		c.heard, c.rcode = true, msg.rcode
		c.signed = c.signed || msg.signed()
		v.follow(msg, n, rrtype)
		return msg, step{}
	}
	if d := v.at(n); d.status == diag.Bogus {
		return nil, step{statusCause: d.statusCause} // resolvers that validate say no more than SERVFAIL
	}
	f.Zone = v.zoneOf(n).String()
	return nil, step{statusCause: indeterminate(f)}
}

// A step is the content of an answer for one name of a chain of aliases.
type step struct {
	statusCause
	next name // where an alias leads; empty at the end
	sets []*rrset
}

func (v *validation) step(msg *message, n name, rrtype uint16) step {
	switch rrtype {
	case dns.TypeRRSIG:
		if d := v.at(n); d.status != diag.Secure {
			return step{statusCause: d.statusCause}
		}
		return step{statusCause: indeterminate(fault(v.zoneOf(n), codeAnswerUnsignable,
			"Signatures are not signed themselves, so those of %s cannot be validated", n))}
	case dns.TypeANY:
		return v.everything(msg, n)
	}
	set, dname := msg.answer[setKey{n, rrtype}], msg.dname(n)
	cname := msg.answer[setKey{n, dns.TypeCNAME}]
	switch {
	case dname != nil && (cname == nil || len(cname.sigs) == 0) && (set == nil || set == cname):
		return v.redirected(msg, n, rrtype, dname, cname)
	case msg.rcode == dns.RcodeYXDomain && (set != nil || cname == nil), set != nil && msg.rcode == dns.RcodeNameError:
		return step{statusCause: v.known(n, fault(v.zoneOf(n), codeAnswerContradict,
			"The answer for %s has the code %s, which does not fit its records", n, dnsmsg.RcodeName(msg.rcode)))}
	case set != nil:
		return step{statusCause: v.positive(msg, set), sets: []*rrset{set}}
	case cname != nil:
		s := step{statusCause: v.positive(msg, cname), sets: []*rrset{cname}}
		if record, ok := first[*dns.CNAME](cname); ok {
			s.next, _ = parseName(record.Target)
		}
		return s
	default:
		return v.negative(msg, n, rrtype)
	}
}

// lastLook bounds how far below the zone that signed a wrong answer another is looked for which may be
// unsigned, for each label takes a question.
const lastLook = 3

// known interprets a fault of an answer at the name where it occurred: faults in an unsigned zone do not count, even
// if its records are signed.
func (v *validation) known(n name, f *ChainFault) statusCause {
	if explanation[f.Code] > 0 { // it is signed, if not correctly
		return bogus(f)
	}
	if zone, ok := parseName(f.Zone); ok && n.within(zone) && n.labels() > zone.labels()+lastLook {
		return bogus(f)
	}
	if d := v.at(n); d.status == diag.Insecure {
		return d.statusCause
	}
	return bogus(f)
}

func (v *validation) everything(msg *message, n name) step {
	s := step{statusCause: secure}
	for _, set := range sorted(msg.answer) {
		if set.owner == n && set.rrtype != dns.TypeRRSIG {
			s.statusCause = worse(s.statusCause, v.positive(msg, set))
			s.sets = append(s.sets, set)
		}
	}
	if len(s.sets) == 0 {
		return v.negative(msg, n, dns.TypeANY)
	}
	return s
}

// redirected validates a DNAME record above the name, and that the alias is the one synthesized from it. That alias
// itself is not signed (RFC 6672 section 5.3.1).
func (v *validation) redirected(msg *message, n name, rrtype uint16, dname, cname *rrset) step {
	s := step{statusCause: v.positive(msg, dname), sets: []*rrset{dname}}
	record, _ := first[*dns.DNAME](dname)
	target, ok := parseName(record.Target)
	next, fits := n.replace(dname.owner, target)
	switch {
	case !ok || fits == (msg.rcode == dns.RcodeYXDomain):
		f := fault(v.zoneOf(dname.owner), codeDNAME, "The DNAME record of %s and the answer for %s do not match",
			dname.owner, n)
		return step{statusCause: worse(s.statusCause, v.known(dname.owner, f)), sets: s.sets}
	case !fits:
		return s // RFC 6672 section 2.2: YXDOMAIN says that the new name would be too long
	}
	if record, ok := first[*dns.CNAME](cname); ok {
		s.sets = append(s.sets, cname)
		if said, _ := parseName(record.Target); said != next {
			f := fault(v.zoneOf(dname.owner), codeDNAME,
				"The answer says that %s is an alias of %s, but the DNAME record of %s makes it %s",
				n, quoteName(record.Target), dname.owner, next)
			return step{statusCause: worse(s.statusCause, v.known(dname.owner, f)), sets: s.sets}
		}
	}
	if rrtype != dns.TypeCNAME {
		s.next = next
	}
	return s
}

func (m *message) dname(n name) *rrset {
	for n != root {
		n = n.parent()
		if set := m.answer[setKey{n, dns.TypeDNAME}]; set != nil {
			return set
		}
	}
	return nil
}

func (v *validation) positive(msg *message, set *rrset) statusCause {
	f := v.prove(msg, set)
	if f.status == diag.Bogus {
		return v.known(v.place(set.owner, set.rrtype, ""), f.why)
	}
	return f
}

// prove looks for a signature over a set in the zone that it names (RFC 4035 section 5.3).
func (v *validation) prove(msg *message, set *rrset) statusCause {
	signer := set.signer()
	place := v.place(set.owner, set.rrtype, signer)
	d := v.at(place)
	if owed := v.unprovenDelegation(d, place, signer, msg); owed != nil {
		return bogus(owed)
	}
	if d.unproven && d.why.Code == codeDelegation && signer == "" {
		return bogus(fault(d.zone.name, codeSigMissing,
			"There is no signature over %s, nor a proof that none is needed", set))
	}
	if d.status != diag.Secure {
		return d.statusCause
	}
	v.begin()
	f, proofs := v.checkSet(msg, set, d.zone.name, d.zone.keys, &d.zone.info.Signatures)
	if proofs != nil {
		d.zone.info.deny(proofs, f)
	}
	return f
}

// unprovenDelegation is the fault of a zone that does not prove of a zone below it, whose servers have answered, that
// it has no DS record. It is nil if the zone is the one that has answered for the name, or if it was proven not to be
// signed.
func (v *validation) unprovenDelegation(d node, n, signer name, msg *message) *ChainFault {
	above := d.zone
	contrary := d.unproven && d.why.Code == codeDenialContradict // something filters its answers
	if contrary || !d.unproven && (d.status != diag.Secure || signer != "" && !signer.below(above.name)) {
		return nil
	}
	child := msg.apex(n)
	for _, rrtype := range []uint16{dns.TypeSOA, dns.TypeNS} {
		if child != "" {
			break
		}
		if own := v.fetch.glance(n, rrtype); own != nil {
			child = own.apex(n)
		}
	}
	if child == "" || !child.below(above.name) {
		return nil
	}
	asked := v.fetch.glance(child, dns.TypeDS)
	if asked == nil {
		return nil
	}
	v.begin()
	proofs := v.denials(asked, above.name, above.keys)
	f := fault(above.name, codeDelegation, "%s does not prove that there is no DS record for %s: %s",
		phrase.Capitalize(v.served(above.name)), child, proofs.objection(child))
	f.advice = fmt.Sprintf("Ask the operator of %s to repair its proof: its name servers must return signed NSEC or "+
		"NSEC3 records that show the delegation of %s and no DS record. Until then validating resolvers reject %s.",
		parentName(above.name), child, child)
	return f
}

// served names a zone, in a report with its servers.
func (v *validation) served(z name) string {
	if !v.thorough {
		return parentName(z)
	}
	msg := v.fetch.glance(z, dns.TypeNS)
	if msg == nil || msg.answer[setKey{z, dns.TypeNS}] == nil {
		return parentName(z)
	}
	records := recordsOf[*dns.NS](msg.answer[setKey{z, dns.TypeNS}])
	hosts := kit.Map(records, func(r *dns.NS) string { return quoteName(r.Ns) })
	slices.Sort(hosts)
	return fmt.Sprintf("%s (name servers: %s)", parentName(z), phrase.Series(hosts, 3))
}

// apex returns the zone that a message is from which answers for a name, by its SOA record or NS records, or nothing.
func (m *message) apex(n name) name {
	if m.answer[setKey{n, dns.TypeNS}] != nil {
		return n
	}
	for _, sets := range []map[setKey]*rrset{m.answer, m.authority} {
		for key := range sets {
			if key.rrtype == dns.TypeSOA && n.within(key.owner) {
				return key.owner
			}
		}
	}
	return ""
}

// place returns the name at which to look for the zone of records: the signer, if they are signed.
func (v *validation) place(owner name, rrtype uint16, signer name) name {
	switch {
	case signer != "":
		return signer
	case rrtype == dns.TypeDS: // lies above the delegation (RFC 4035 section 2.4)
		return owner.parent()
	default:
		return owner
	}
}

// signer returns the deepest zone that could have signed a set, by what its signatures say, or nothing.
func (s *rrset) signer() name { return deepest("", s.sigs, s.owner, s.rrtype) }

// deepest returns the deepest of the zones that signed something and enclose a name.
func deepest(best name, sigs []*dns.RRSIG, n name, rrtype uint16) name {
	for _, sig := range sigs {
		signer, ok := parseName(sig.SignerName)
		if !ok || !n.within(signer) || rrtype == dns.TypeDS && signer == n && n != root {
			continue
		}
		if best == "" || signer.below(best) {
			best = signer
		}
	}
	return best
}

// negative validates that there are no records of a type at a name, or no such name.
func (v *validation) negative(msg *message, n name, rrtype uint16) step {
	signer, _ := msg.denier(n, rrtype)
	f := v.disprove(msg, n, rrtype, signer)
	if f.status == diag.Bogus {
		f = v.known(v.place(n, rrtype, ""), f.why)
	}
	return step{statusCause: f}
}

// disprove looks for the proof in the zone that signed it (RFC 4035 section 5.4).
func (v *validation) disprove(msg *message, n name, rrtype uint16, signer name) statusCause {
	place := v.place(n, rrtype, signer)
	d := v.at(place)
	if owed := v.unprovenDelegation(d, place, signer, msg); owed != nil {
		return bogus(owed)
	}
	if d.status != diag.Secure {
		return d.statusCause
	}
	v.begin()
	if signer == "" {
		return bogus(fault(d.zone.name, codeDenialMissing, "There is no signed proof that there is no %s", setKey{n, rrtype}))
	}
	f, proofs := v.checkDenial(msg, n, rrtype, d.zone.name, d.zone.keys, &d.zone.info.Signatures)
	if proofs != nil {
		d.zone.info.deny(proofs, f)
	}
	return f
}

// denier returns the zone that denies something about a name, by what the signatures say, and whether
// the message speaks of the name at all.
func (m *message) denier(n name, rrtype uint16) (signer name, about bool) {
	for key, set := range m.authority {
		if key.rrtype != dns.TypeNSEC && key.rrtype != dns.TypeNSEC3 && key.rrtype != dns.TypeSOA {
			continue
		}
		about = about || key.rrtype != dns.TypeSOA || n.within(key.owner)
		for _, sig := range set.sigs {
			if zone, ok := parseName(sig.SignerName); ok && key.owner.within(zone) {
				signer = deepest(signer, []*dns.RRSIG{sig}, n, rrtype)
			}
		}
	}
	return signer, about
}

// speaksOf reports whether a message has anything to say about a name that is not the one asked for.
func (m *message) speaksOf(n name, rrtype uint16) bool {
	_, about := m.denier(n, rrtype)
	return about || m.answer[setKey{n, rrtype}] != nil || m.answer[setKey{n, dns.TypeCNAME}] != nil || m.dname(n) != nil
}
