package dnssec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/miekg/dns"
)

const (
	// maxDenials bounds the sets of NSEC or NSEC3 records of an answer whose signatures are checked.
	// The most that a proof needs is three (RFC 5155 section 7.2.1).
	maxDenials = 6
	// MaxIterations is the default maximum of additional NSEC3 iterations in a proof that counts. RFC 9276
	// section 3.2 lets validators choose. BIND 9.20, Knot Resolver and the PowerDNS Recursor stop at 50,
	// systemd-resolved at 100, Unbound at 150: a zone is reported as secure only if it is for all of them.
	MaxIterations = 50
)

// denials are the records of one answer with which a zone proves that something is not there, as far
// as their signatures are right.
type denials struct {
	nsec gaps
	hashed

	failed *ChainFault // why the signature of one of them is not right
	log    []Signature // the signatures examined
}

// checkDenial decides whether a zone proves that there are no records of a type at a name, or no such
// name (RFC 4035 section 5.4).
func (v *engine) checkDenial(msg *message, n name, rrtype uint16, z name, keys []*key, log *[]Signature) (
	statusCause, *denials) {
	if soa := msg.authority[setKey{z, dns.TypeSOA}]; soa != nil {
		if _, f := v.verify(soa, z, keys, nil, log); f != nil {
			return bogus(f), nil
		}
	}
	d := v.denials(msg, z, keys)
	if msg.rcode == dns.RcodeNameError {
		return d.nxdomain(n), d
	}
	return d.nodata(n, rrtype), d
}

// denials collects and validates the NSEC and NSEC3 records of a zone in the authority section.
func (v *engine) denials(msg *message, z name, keys []*key) *denials {
	d := &denials{hashed: hashed{v: v, zone: z, hashes: map[name]string{}}}
	count := 0
	for _, set := range sorted(msg.authority) {
		if set.rrtype != dns.TypeNSEC && set.rrtype != dns.TypeNSEC3 || !set.owner.within(z) {
			continue
		}
		if count++; count > maxDenials {
			break
		}
		sig, f := v.verify(set, z, keys, nil, &d.log)
		// A record expanded from a wildcard proves nothing about its owner (RFC 4035 section 5.4).
		if f == nil && int(sig.Labels) != set.owner.signedLabels() {
			f = fault(z, codeSigLabels, "The %s record comes from a wildcard, so it proves nothing", set)
		}
		if f != nil {
			if d.failed == nil {
				d.failed = f
			}
			continue
		}
		d.add(set)
	}
	return d
}

// sorted lists the sets of a section in canonical order, so that the same answer is always judged the same way.
func sorted(sets map[setKey]*rrset) []*rrset {
	return slices.SortedFunc(maps.Values(sets), func(a, b *rrset) int {
		return cmp.Or(compare(a.owner, b.owner), int(a.rrtype)-int(b.rrtype))
	})
}

func (d *denials) add(set *rrset) {
	if record, ok := first[*dns.NSEC](set); ok {
		if next, ok := parseName(record.NextDomain); ok && next.within(d.zone) {
			d.nsec = append(d.nsec, nsec{set.owner, next, record.TypeBitMap})
		}
		return
	}
	for _, record := range recordsOf[*dns.NSEC3](set) {
		d.hashed.add(set.owner, record)
	}
}

func (d *denials) any() bool { return len(d.nsec) > 0 || len(d.records) > 0 || d.excessive > 0 }

func (d *denials) facts(proven bool) *Denial {
	if len(d.nsec) > 0 {
		return &Denial{Type: NSEC, Proven: proven}
	}
	facts := &Denial{Type: NSEC3, Iterations: d.iterations, SaltLength: len(d.salt), Proven: proven}
	if d.excessive > 0 && len(d.records) == 0 {
		facts.Iterations = d.excessive
	}
	for _, r := range d.records {
		facts.OptOut = facts.OptOut || r.optOut
	}
	return facts
}

// A types is the list of types that a name has, as NSEC and NSEC3 records give it.
type types []uint16

func (t types) has(rrtype uint16) bool { return slices.Contains(t, rrtype) }

// delegates reports whether the types are those that the parent zone knows of a delegation.
func (t types) delegates() bool { return t.has(dns.TypeNS) && !t.has(dns.TypeSOA) }

// nothingBelow reports whether the zone of the record has no business below its owner, be that a
// delegation or a redirection: then it denies nothing there (RFC 6840 section 4.1).
func (t types) nothingBelow() bool { return t.delegates() || t.has(dns.TypeDNAME) }

// lacks says whether a record about the very name in question, or about the wildcard in its place,
// proves that there are no records of a type. A record of the wrong side of a delegation proves
// nothing; one that has the type contradicts the answer.
func (t types) lacks(n name, rrtype uint16) (proven, contradicted bool) {
	if rrtype == dns.TypeDS {
		if t.has(dns.TypeSOA) && n != root {
			return false, false // from the zone below (RFC 4035 section 5.2)
		}
	} else if t.delegates() {
		return false, false // from the parent zone (RFC 6840 section 4.1)
	}
	if t.has(rrtype) || t.has(dns.TypeCNAME) {
		return false, true
	}
	return true, false
}

// typeNXNAME is a pseudo type that says that the owner does not exist (RFC 9824 section 2).
const typeNXNAME = 128

// A delegationKind is the proof of a zone about a possible delegation.
type delegationKind int

const (
	notProven          delegationKind = iota
	noDelegation                      // the name is there, and no delegation
	noName                            // there is neither the name nor anything below it
	insecureDelegation                // there is a delegation without DS record, or may be one
)

// A prover is the records of one kind, which prove the same things in different ways.
type prover interface {
	match(n name) (types, bool)     // the types of a name, if a record is about it; it may be empty
	empty(n name) bool              // that a name exists only because there are names below it
	cover(n name) (optOut, ok bool) // that there is neither a name nor anything below it
	closest(n name) (encloserProof, bool)
	closer(n name, labels int) (encloserProof, bool) // nothing is closer than the ancestor with so many labels
	without() outcome                                // what the lack of a proof means
}

// An encloserProof is the proof of a closest ancestor that exists: the records deny the name that is one label longer
// (RFC 5155 section 8.3), but for delegations to unsigned zones if they have the flag of opt-out.
type encloserProof struct {
	encloser name
	optOut   bool
}

// outcome returns what the proof is worth.
func (p encloserProof) outcome() outcome {
	if p.optOut {
		return optedOut
	}
	return proof
}

// delegation says what the zone proves of a name that has no DS record (RFC 4035 section 5.2, RFC 5155 section 8.9).
// The reason belongs to insecureDelegation and notProven.
func (d *denials) delegation(n name) (delegationKind, *ChainFault) {
	for _, p := range []prover{d.nsec, &d.hashed} {
		if t, ok := p.match(n); ok {
			return d.delegationTypes(n, t)
		}
		if p.empty(n) {
			return noDelegation, nil
		}
		switch e, ok := p.closest(n); {
		case ok && e.optOut:
			return insecureDelegation, fault(d.zone, codeOptOut,
				"The zone leaves delegations to unsigned zones out of its proofs (opt-out), and %s lies in such a gap", n)
		case ok:
			return noName, nil
		}
	}
	switch {
	case d.exhausted:
		return notProven, fault(d.zone, codeWork,
			"The proof that there is no DS record for %s asks for more hashes than any real zone does", n)
	case d.excessive > 0:
		return insecureDelegation, d.iterationFault()
	}
	return notProven, d.unproven(codeDelegation, "that there is no DS record for "+n.String())
}

// nodata says whether the zone proves that a name has no records of a type: by a record about the name, one that shows
// that the name has but others below it, or a denial of the name with a record about the wildcard in its place (RFC
// 4035 section 5.4, RFC 5155 sections 8.5 to 8.7). A gap with opt-out may hide a name that exists only because of
// unsigned delegations below it, whichever the type (erratum 3441).
func (d *denials) nodata(n name, rrtype uint16) statusCause {
	what := setKey{n, rrtype}.String()
	f := d.judge("that there is no "+what, what, func(p prover) outcome {
		if t, ok := p.match(n); ok {
			return outcomeOf(t.lacks(n, rrtype))
		}
		if p.empty(n) {
			return proof
		}
		e, ok := p.closest(n)
		if !ok {
			return p.without()
		}
		wildcard := e.encloser.wildcard()
		if t, ok := p.match(wildcard); ok {
			if o := outcomeOf(t.lacks(n, rrtype)); o != proof {
				return o
			}
			return e.outcome()
		}
		if wildcard != "" && p.empty(wildcard) { // it exists, and so matches, without records (RFC 4592 section 4.9)
			return e.outcome()
		}
		if e.optOut {
			return optedOut
		}
		return p.without()
	})
	if wildcard := d.nsec.emptyWildcard(n); f.why != nil && f.why.Code == codeDenialIncomplete && wildcard != "" {
		f.why.Message = fmt.Sprintf("The NSEC records do not prove that there is no %s: the wildcard %s exists, because "+
			"there are names below it, and the record that proves that it has no records is missing", what, wildcard)
		f.why.advice = "Update the name servers, sign the zone with NSEC3, or give the wildcard a record: they leave an " +
			"NSEC record out, as BIND 9.18 and Knot DNS 3.2 do, where a wildcard exists because of names below it alone."
	}
	return f
}

// nxdomain says whether the zone proves that there is no name, nor a wildcard in its place (RFC 4035 section 5.4, RFC
// 5155 section 8.4).
func (d *denials) nxdomain(n name) statusCause {
	return d.judge("that there is no name "+n.String(), "the name "+n.String(), func(p prover) outcome {
		if t, ok := p.match(n); ok {
			if t.has(typeNXNAME) {
				return proof
			}
			return contrary
		}
		if p.empty(n) {
			return contrary
		}
		e, ok := p.closest(n)
		if !ok {
			return p.without()
		}
		wildcard := e.encloser.wildcard()
		if wildcard == "" {
			return e.outcome()
		}
		if _, exists := p.match(wildcard); exists || p.empty(wildcard) {
			return contrary
		}
		if _, ok := p.cover(wildcard); ok {
			return e.outcome()
		}
		return p.without()
	})
}

// wildcard says whether the zone proves that there is nothing closer to a name than the wildcard below
// its ancestor with so many labels (RFC 4035 section 5.3.4, RFC 5155 section 8.8).
func (d *denials) wildcard(n name, labels int) statusCause {
	f := d.judge("that the wildcard may answer for "+n.String(), n.String(), func(p prover) outcome {
		if e, ok := p.closer(n, labels); ok {
			return e.outcome()
		}
		return p.without()
	})
	if f.why != nil && (f.why.Code == codeDenialMissing || f.why.Code == codeDenialIncomplete) {
		f.why.Code = codeWildcard
	}
	return f
}

// An outcome is the proof by the records of one kind.
type outcome int

const (
	nothing  outcome = iota
	proof            // that what is asked for is not there
	optedOut         // the same, but there may be a delegation to an unsigned zone (RFC 5155 section 9.2)
	contrary         // that what is asked for is there
	tooMuch          // the work for the proof exceeds all bounds
)

func (d *denials) judge(aim, thing string, ask func(prover) outcome) statusCause {
	o := ask(d.nsec)
	if o == nothing {
		o = ask(&d.hashed)
	}
	switch {
	case o == proof:
		return secure
	case o == optedOut:
		return insecure(fault(d.zone, codeOptOut,
			"The proof %s leaves delegations to unsigned zones out (opt-out), so one may be hidden there", aim))
	case o == contrary:
		return bogus(fault(d.zone, codeDenialContradict, "The zone proves that there is %s, contrary to the answer", thing))
	case o == tooMuch:
		return bogus(fault(d.zone, codeWork, "The proof %s asks for more hashes than any real zone does", aim))
	case d.excessive > 0:
		return insecure(d.iterationFault())
	}
	return bogus(d.unproven(codeDenialIncomplete, aim))
}

func (d *denials) iterationFault() *ChainFault {
	return fault(d.zone, codeDenialIterations,
		"The NSEC3 records have %d additional iterations; many resolvers ignore proofs with more than %d",
		d.excessive, d.v.accepted())
}

// unproven says why there is no proof: no records at all, none with a right signature, or the wrong ones.
func (d *denials) unproven(code diag.Code, aim string) *ChainFault {
	switch {
	case d.failed != nil && !d.any():
		return d.failed
	case !d.any() && code == codeDenialIncomplete:
		return fault(d.zone, codeDenialMissing, "There is no NSEC or NSEC3 record to prove %s", aim)
	case !d.any():
		return fault(d.zone, code, "There is no NSEC or NSEC3 record to prove %s", aim)
	case d.failed != nil:
		return d.failed
	default:
		return fault(d.zone, code, "The NSEC or NSEC3 records do not prove %s", aim)
	}
}

// objection says why there is no proof that a delegation has no DS record.
func (d *denials) objection(n name) string {
	kind, why := d.delegation(n)
	switch {
	case kind == noName:
		return "its NSEC or NSEC3 records say that the name does not exist"
	case kind == noDelegation:
		return "its NSEC or NSEC3 records say that there is no delegation"
	case d.failed != nil && why == d.failed:
		return strings.ToLower(why.Message[:1]) + why.Message[1:]
	case !d.any():
		return "its answer has no NSEC or NSEC3 record"
	}
	return "the NSEC or NSEC3 records of its answer are about other names"
}

func (d *denials) delegationTypes(n name, t types) (delegationKind, *ChainFault) {
	switch {
	case t.has(dns.TypeDS):
		return notProven, fault(d.zone, codeDenialContradict,
			"%s proves that there is a DS record for %s, contrary to its answer", phrase.Capitalize(parentName(d.zone)), n)
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

func parentName(z name) string {
	if z == root {
		return "the root zone"
	}
	return "the parent zone " + z.String()
}
