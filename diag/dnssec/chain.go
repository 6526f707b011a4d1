package dnssec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// A validation is the work on one question. It belongs to one goroutine.
type validation struct {
	engine
	exempt  map[name]bool // negative trust anchors
	anchors anchorSet
	fetch   *fetcher

	nodes map[name]node
	chain []*zone // in the order in which they were reached
}

// A node is a place in the tree: the zone that a name belongs to, as seen from the parent zone, and whether that
// zone is trusted.
type node struct {
	zone *zone // the deepest known that encloses the name; nil above the trust anchors
	statusCause
	gone     bool // the zone proves that there is no such name, and so no zone below it either
	unproven bool // the zone does not prove that there is no DS record
}

// A zone is one whose delegation was reached.
type zone struct {
	name name
	keys []*key // trusted keys that may sign records
	info *Zone

	all []*key // all keys of the zone, once they were validated
}

// newZone adds a zone to the chain.
func (v *validation) newZone(n name, above *zone) *zone {
	z := &zone{name: n, info: newZoneInfo(n)}
	if above != nil {
		z.info.Parent = above.name.String()
	}
	v.chain = append(v.chain, z)
	return z
}

func (z *zone) settle(f statusCause) node {
	z.info.Status = f.status
	return node{zone: z, statusCause: f}
}

// at returns the node of a name: the way down from the closest trust anchor (RFC 4035 section 5).
func (v *validation) at(n name) node {
	if d, ok := v.nodes[n]; ok {
		return d
	}
	d := v.reach(n)
	v.nodes[n] = d
	return d
}

// reach descends to a name from the one above it. Names have at most 127 labels, so the depth of the
// recursion is bounded.
func (v *validation) reach(n name) node {
	switch {
	case v.exempt[n]:
		return v.newZone(n, nil).settle(insecure(fault(n, codeExempted, "Validation of the zone is switched off")))
	case len(v.anchors[n]) > 0:
		return v.prime(n)
	case n == root:
		return node{statusCause: indeterminate(fault(root, codeAnchorNone, "There is no trust anchor for the name"))}
	}
	above := v.at(n.parent())
	if above.status != diag.Secure || above.gone {
		return above
	}
	v.begin()
	return v.descend(above.zone, n)
}

func (v *validation) prime(n name) node {
	v.begin()
	z := v.newZone(n, nil)
	fits := func(k *key) bool {
		return slices.ContainsFunc(v.anchors[n], func(a *dns.DS) bool { return anchorMatches(a, k, n) && Usable(a) })
	}
	f := v.establish(z, fits, func(keys []*key) *ChainFault {
		return fault(n, codeAnchorMismatch, "None of the keys of the zone is a trust anchor")
	})
	if n == root && f.why != nil {
		f = v.withoutRoot(f)
	}
	return z.settle(f)
}

// withoutRoot returns the cause when the keys of the root zone cannot be validated. The root is known to be signed:
// a resolver that answers without its keys and signatures strips DNSSEC.
func (v *validation) withoutRoot(f statusCause) statusCause {
	switch f.why.Code {
	case codeKeysMissing, codeSigMissing:
		return indeterminate(fault(root, codeStripped,
			"The keys of the root zone came without signatures, or there was no answer"))
	case codeKeysUnavailable:
		return indeterminate(fault(root, codeAnswerUnavailable, "%s", f.why.Message))
	}
	return f
}

// descend goes from a zone that is trusted to a name below it, all names between the two having been
// found to belong to the zone: is there a delegation at the name, and what does it say?
func (v *validation) descend(z *zone, n name) node {
	msg, f := v.ask(z, n, dns.TypeDS, codeDSUnavailable)
	if f != nil {
		return node{zone: z, statusCause: *f}
	}
	if set := msg.answer[setKey{n, dns.TypeDS}]; set != nil {
		return v.delegation(z, n, set)
	}
	if redirected := v.alias(z, n, msg); redirected != nil {
		return *redirected
	}
	return v.withoutDS(z, n, msg)
}

// ask puts a question that the chain depends on. Silence and refusals are no facts about the zone, so
// what follows from them is unknown. Of the two only a refusal comes with a message.
func (v *validation) ask(z *zone, n name, rrtype uint16, code diag.Code) (*message, *statusCause) {
	msg, err := v.fetch.get(n, rrtype)
	what := setKey{n, rrtype}
	switch {
	case errors.Is(err, errTooMany):
		return nil, new(indeterminate(fault(z.name, codeWork, "The query for %s would be one more than the %d allowed",
			what, maxQueries)))
	case err != nil:
		return nil, new(indeterminate(fault(z.name, code, "There was no answer to the query for %s", what)))
	case msg.rcode != dns.RcodeSuccess && msg.rcode != dns.RcodeNameError:
		return msg, new(indeterminate(fault(z.name, code, "The query for %s was answered with %s", what, msg.rcodeText())))
	}
	return msg, nil
}

// alias handles an alias in place of a DS record: the name is not a delegation then, because an alias excludes other
// records (RFC 1034 section 3.6.2), and below a DNAME record there is nothing (RFC 6672 section 2.4).
func (v *validation) alias(z *zone, n name, msg *message) *node {
	for _, key := range []setKey{{n, dns.TypeCNAME}, {n.parent(), dns.TypeDNAME}} {
		set := msg.answer[key]
		if set == nil || !key.owner.within(z.name) {
			continue
		}
		if key.rrtype == dns.TypeCNAME && len(set.sigs) == 0 {
			continue // it may be made from a DNAME
		}
		sig, f := v.verify(set, z.name, z.keys, nil, nil)
		if f == nil && int(sig.Labels) < key.owner.signedLabels() && key.rrtype == dns.TypeDNAME {
			f = fault(z.name, codeWildcard, "A wildcard stood in for the DNAME record of %s", key.owner)
		}
		if f != nil {
			return &node{zone: z, statusCause: bogus(f)}
		}
		return &node{zone: z, statusCause: secure, gone: key.rrtype == dns.TypeDNAME}
	}
	return nil
}

// withoutDS handles a name that has no DS record, which must be proven.
func (v *validation) withoutDS(z *zone, n name, msg *message) node {
	d := v.denials(msg, z.name, z.keys)
	kind, why := d.delegation(n)
	switch kind {
	case noDelegation:
		return node{zone: z, statusCause: secure}
	case noName:
		return node{zone: z, statusCause: secure, gone: true}
	case insecureDelegation:
		child := v.newZone(n, z)
		child.info.deny(d, insecure(why))
		return v.unsigned(child, insecure(why))
	}
	z.info.deny(d, bogus(why))
	return node{zone: z, statusCause: bogus(why), unproven: true}
}

// unsigned lists the keys that an insecure zone may have nonetheless, for a report.
func (v *validation) unsigned(z *zone, f statusCause) node {
	if v.thorough {
		if msg := v.fetch.glance(z.name, dns.TypeDNSKEY); msg != nil {
			keys := keysOf(msg, z.name)
			z.info.listKeys(keys, nil, nil)
			v.selfSigned(z, msg, keys)
		}
	}
	return z.settle(f)
}

func (v *validation) delegation(z *zone, n name, set *rrset) node {
	child := v.newZone(n, z)
	sig, f := v.verify(set, z.name, z.keys, nil, &child.info.Signatures)
	if f == nil && int(sig.Labels) < n.signedLabels() {
		f = fault(z.name, codeDSWildcard, "The DS record of %s comes from a wildcard, which cannot delegate", n)
	}
	records := recordsOf[*dns.DS](set)
	child.info.listDS(records, f == nil)
	if f != nil {
		f.advice = fmt.Sprintf("Ask the operator of %s to repair the DS records of %s there, or their signatures. Until "+
			"then validating resolvers reject %s.", parentName(z.name), n, n)
		return child.settle(bogus(f))
	}
	usable := usableOf(records)
	if len(usable) == 0 { // RFC 4035 section 5.2, RFC 6840 section 5.2
		return v.unsigned(child, insecure(fault(n, codeDSUnsupported,
			"The DS records only have algorithms or digests that cannot be checked, such as %s with digest type %d",
			resolve.AlgorithmName(records[0].Algorithm), records[0].DigestType)))
	}
	m := matcher{usable: usable, zone: n}
	return child.settle(v.establish(child, m.fits, m.explain))
}

// establish fetches the keys of a zone and validates them: one that fits what the parent zone says
// must have signed all of them (RFC 4035 section 5.2).
func (v *validation) establish(z *zone, fits func(*key) bool, explain func([]*key) *ChainFault) statusCause {
	msg, f := v.ask(z, z.name, dns.TypeDNSKEY, codeKeysUnavailable)
	if f != nil {
		// The parent zone says that there are keys. A server that answers without them withholds what must be there,
		// which is bogus; if no server answers, it cannot be determined (RFC 4035 section 4.3). A report does not
		// blame the zone for SERVFAIL either.
		if msg != nil && !v.thorough {
			f.status = diag.Bogus
		}
		return *f
	}
	all := keysOf(msg, z.name)
	if len(all) == 0 {
		return bogus(fault(z.name, codeKeysMissing, "The zone has no DNSKEY record, although it must be signed"))
	}
	var keys, anchored []*key
	for _, k := range all {
		if !k.forZone() {
			continue
		}
		keys = append(keys, k)
		if fits(k) {
			anchored = append(anchored, k)
		}
	}
	failure := (*ChainFault)(nil)
	if len(anchored) == 0 {
		failure = explain(all)
		v.selfSigned(z, msg, keys)
	} else {
		_, failure = v.verify(msg.answer[setKey{z.name, dns.TypeDNSKEY}], z.name, anchored, keys, &z.info.Signatures)
	}
	if failure != nil {
		z.info.listKeys(all, nil, nil)
		return bogus(failure)
	}
	z.keys, z.all = keys, all
	z.info.listKeys(all, keys, anchored)
	return secure
}

// maxKeys bounds the keys of a zone that are read, which costs little. A message holds some hundreds; a zone in the
// midst of changing algorithms has about ten.
const maxKeys = 1024

// keysOf returns the keys of a zone.
func keysOf(msg *message, n name) []*key {
	records := recordsOf[*dns.DNSKEY](msg.answer[setKey{n, dns.TypeDNSKEY}])
	return kit.Map(records[:min(len(records), maxKeys)], newKey)
}

// recordsOf returns the records of a set as what they are.
func recordsOf[R dns.RR](set *rrset) []R {
	if set == nil {
		return nil
	}
	var list []R
	for _, rr := range set.rrs {
		if r, ok := rr.(R); ok {
			list = append(list, r)
		}
	}
	return list
}
