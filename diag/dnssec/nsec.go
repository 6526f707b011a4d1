package dnssec

import "slices"

// An nsec denies the names between its owner and the next name, and lists the types of its owner (RFC 4034 section
// 4).
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

// gaps are the NSEC records of an answer.
type gaps []nsec

func (g gaps) match(n name) (types, bool) {
	for _, r := range g {
		if r.owner == n {
			return r.types, true
		}
	}
	return nil, false
}

// emptyWildcard returns the wildcard in the place of a name that the records deny if one of them is of a name below it.
func (g gaps) emptyWildcard(n name) name {
	e, ok := g.closest(n)
	wildcard := e.encloser.wildcard()
	below := func(r nsec) bool { return r.owner.below(wildcard) }
	if !ok || wildcard == "" || !slices.ContainsFunc(g, below) {
		return ""
	}
	return wildcard
}

func (g gaps) empty(n name) bool {
	return slices.ContainsFunc(g, func(r nsec) bool { return r.empty(n) })
}

func (g gaps) cover(n name) (optOut, ok bool) {
	_, ok = g.closest(n)
	return false, ok
}

func (g gaps) closest(n name) (encloserProof, bool) {
	for _, r := range g {
		if r.denies(n) {
			return encloserProof{encloser: r.encloser(n)}, true
		}
	}
	return encloserProof{}, false
}

func (g gaps) closer(n name, labels int) (encloserProof, bool) {
	p, ok := g.closest(n)
	return p, ok && p.encloser.labels() == labels
}

func (g gaps) without() outcome { return nothing }
