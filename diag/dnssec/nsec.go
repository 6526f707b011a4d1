package dnssec

import "github.com/miekg/dns"

// An nsec says that between its owner and the next name there is none, and which types its owner has
// (RFC 4034 section 4).
type nsec struct {
	owner, next name
	types       types
}

// covers reports whether the record proves that a name is not there. The next name of the last record
// is the apex of the zone (RFC 4034 section 4.1.1).
func (r nsec) covers(n name) bool {
	if compare(r.owner, n) >= 0 || n.below(r.owner) && r.types.nothingBelow() {
		return false
	}
	return compare(n, r.next) < 0 || compare(r.next, r.owner) <= 0
}

// empty reports whether the record proves that a name exists only because there are names below it.
func (r nsec) empty(n name) bool { return r.covers(n) && r.next.below(n) }

// denies reports whether the record proves that there is neither a name nor anything below it.
func (r nsec) denies(n name) bool { return r.covers(n) && !r.next.within(n) }

// encloser returns the closest ancestor that exists of a name that the record denies: one that it
// shares with either end of the gap.
func (r nsec) encloser(n name) name {
	a, b := common(n, r.owner), common(n, r.next)
	if a.within(b) {
		return a
	}
	return b
}

func (d *denials) find(n name) (nsec, bool) {
	for _, r := range d.nsec {
		if r.owner == n {
			return r, true
		}
	}
	return nsec{}, false
}

func (d *denials) denier(n name) (nsec, bool) {
	for _, r := range d.nsec {
		if r.denies(n) {
			return r, true
		}
	}
	return nsec{}, false
}

// delegationNSEC decides what may be at a name without DS record (RFC 4035 section 5.2).
func (d *denials) delegationNSEC(n name) (delegationKind, *ChainFault) {
	if r, ok := d.find(n); ok {
		return d.delegationTypes(n, r.types)
	}
	for _, r := range d.nsec {
		if r.empty(n) {
			return noDelegation, nil
		}
		if r.denies(n) {
			return noName, nil
		}
	}
	return notProven, nil
}

func (d *denials) delegationTypes(n name, t types) (delegationKind, *ChainFault) {
	switch {
	case t.has(dns.TypeDS):
		return notProven, fault(d.zone, codeDenialContradict,
			"The zone proves that there is a DS record for %s, contrary to the answer", n)
	case t.has(dns.TypeSOA):
		return notProven, fault(d.zone, codeDelegation,
			"The proof that there is no DS record for %s is from below the delegation", n)
	case t.has(dns.TypeNS):
		return insecureDelegation, fault(n, codeDSMissing,
			"There is no DS record for %s in %s, and that is proven", n, parentName(d.zone))
	default:
		return noDelegation, nil
	}
}

// nodataNSEC follows RFC 4035 section 5.4: a record about the name, one that shows that the name has
// but others below it, or a denial of the name with a record about the wildcard in its place.
func (d *denials) nodataNSEC(n name, rrtype uint16) outcome {
	if r, ok := d.find(n); ok {
		return outcomeOf(r.types.lacks(n, rrtype))
	}
	for _, r := range d.nsec {
		if r.empty(n) {
			return proof
		}
	}
	r, ok := d.denier(n)
	if !ok {
		return nothing
	}
	if w, ok := d.find(r.encloser(n).wildcard()); ok {
		return outcomeOf(w.types.lacks(n, rrtype))
	}
	return nothing
}

func outcomeOf(proven, contradicted bool) outcome {
	switch {
	case contradicted:
		return contrary
	case proven:
		return proof
	default:
		return nothing
	}
}

// nxdomainNSEC follows RFC 4035 section 5.4: one record denies the name, and one the wildcard that
// could stand in for it.
func (d *denials) nxdomainNSEC(n name) outcome {
	if r, ok := d.find(n); ok {
		if r.types.has(typeNXNAME) {
			return proof
		}
		return contrary
	}
	r, ok := d.denier(n)
	if !ok {
		return nothing
	}
	wildcard := r.encloser(n).wildcard()
	if wildcard == "" {
		return proof
	}
	if _, exists := d.find(wildcard); exists {
		return contrary
	}
	if _, ok := d.denier(wildcard); ok {
		return proof
	}
	return nothing
}

// wildcardNSEC demands that the closest ancestor that exists is the one that the signature names.
func (d *denials) wildcardNSEC(n name, labels int) outcome {
	if r, ok := d.denier(n); ok && r.encloser(n).labels() == labels {
		return proof
	}
	return nothing
}

func parentName(z name) string {
	if z == root {
		return "the root zone"
	}
	return "the parent zone " + z.String()
}
