package dnssec

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/miekg/dns"
)

// maxHashes bounds what is spent on the proofs of one answer (CVE-2023-50868): as many rounds of SHA-1 as so many hashes
// with the most iterations that count take, which is what Unbound allows. With no iterations, as RFC 9276 section 3.1
// demands, that is enough for any name there can be.
const maxHashes = 8

// An nsec3 says that between two hashes there is none of a name, and which types the owner of the
// first has (RFC 5155 section 3).
type nsec3 struct {
	hash, next string
	types      types
	optOut     bool // delegations to unsigned zones are left out
}

// hashed are the NSEC3 records of an answer that share their parameters.
type hashed struct {
	v          *engine
	zone       name
	salt       string
	iterations int
	records    []nsec3
	excessive  int // iterations of a record that has too many
	hashes     map[name]string
	exhausted  bool // the bound of the work was met
}

// base32hex is how hashes are written (RFC 5155 section 3.3, RFC 4648 section 7).
var base32hex = base32.HexEncoding.WithPadding(base32.NoPadding)

// add takes a record if it can be understood. Unknown hashes and flags, and parameters other than
// those of the first record, are passed over (RFC 5155 sections 8.1 and 8.2).
func (h *hashed) add(owner name, r *dns.NSEC3) {
	if r.Hash != dns.SHA1 || r.Flags&^1 != 0 || owner == root || owner.parent() != h.zone {
		return
	}
	hash, errHash := base32hex.DecodeString(strings.ToUpper(owner.label(0)))
	next, errNext := base32hex.DecodeString(strings.ToUpper(r.NextDomain))
	salt, errSalt := hex.DecodeString(strings.Trim(r.Salt, "-"))
	if errHash != nil || errNext != nil || errSalt != nil || len(hash) != sha1.Size || len(next) != sha1.Size {
		return
	}
	if int(r.Iterations) > h.v.policy.iterations() {
		h.excessive = int(r.Iterations)
		return
	}
	if len(h.records) > 0 && (h.salt != string(salt) || h.iterations != int(r.Iterations)) {
		return
	}
	h.salt, h.iterations = string(salt), int(r.Iterations)
	h.records = append(h.records, nsec3{string(hash), string(next), r.TypeBitMap, r.Flags&1 != 0})
}

// of returns the hash of a name (RFC 5155 section 5). It is empty, and so matches and covers nothing,
// if that would be too much work.
func (h *hashed) of(n name) string {
	if hash, ok := h.hashes[n]; ok {
		return hash
	}
	if h.v.rounds+h.iterations+1 > maxHashes*(h.v.policy.iterations()+1) {
		h.exhausted = true
		return ""
	}
	h.v.rounds += h.iterations + 1
	h.v.work.Hashes++
	hash := hashName(n, h.salt, h.iterations)
	h.hashes[n] = hash
	return hash
}

func hashName(n name, salt string, iterations int) string {
	sum := sha1.Sum([]byte(string(n) + salt))
	buf := make([]byte, sha1.Size+len(salt))
	copy(buf[sha1.Size:], salt)
	for range iterations {
		copy(buf, sum[:])
		sum = sha1.Sum(buf)
	}
	return string(sum[:])
}

// match returns the record about a name, which may be empty.
func (h *hashed) match(n name) (nsec3, bool) {
	if n == "" || len(h.records) == 0 {
		return nsec3{}, false
	}
	hash := h.of(n)
	for _, r := range h.records {
		if r.hash == hash && hash != "" {
			return r, true
		}
	}
	return nsec3{}, false
}

// cover returns the record that denies a name. The last record of a zone points to the first.
func (h *hashed) cover(n name) (nsec3, bool) {
	if len(h.records) == 0 {
		return nsec3{}, false
	}
	hash := h.of(n)
	for _, r := range h.records {
		after, before := hash > r.hash, hash < r.next
		if hash != "" && hash != r.hash && (after && before || r.next <= r.hash && (after || before)) {
			return r, true
		}
	}
	return nsec3{}, false
}

// An encloserProof is the proof of a closest ancestor that exists: the record about it, and the one
// that denies the name that is one label longer (RFC 5155 section 8.3).
type encloserProof struct {
	encloser name
	cover    nsec3
}

// closest finds the proof for a name that is not there itself. The ancestors are tried from both ends, for the encloser
// mostly is close to the name or to the apex, and long names in between are what attackers make.
func (h *hashed) closest(n name) (encloserProof, bool) {
	low, high := h.zone.labels(), n.labels()-1
	for low <= high {
		for _, labels := range []int{high, low} {
			if p, ok := h.enclosed(n, labels); ok {
				return p, true
			}
		}
		low, high = low+1, high-1
	}
	return encloserProof{}, false
}

// enclosed reports whether the ancestor of a name with so many labels is proven to be the closest.
func (h *hashed) enclosed(n name, labels int) (encloserProof, bool) {
	encloser := n.ancestor(labels)
	r, ok := h.match(encloser)
	if !ok || r.types.nothingBelow() {
		return encloserProof{}, false
	}
	cover, ok := h.cover(n.ancestor(labels + 1))
	return encloserProof{encloser, cover}, ok
}

// outcome returns what a proof by the covering record is worth.
func (p encloserProof) outcome() outcome {
	if p.cover.optOut {
		return optedOut
	}
	return proof
}

// without returns what the lack of a proof means.
func (h *hashed) without() outcome {
	if h.exhausted {
		return tooMuch
	}
	return nothing
}

// delegationHashed decides what may be at a name without DS record (RFC 5155 section 8.9).
func (d *denials) delegationHashed(n name) (delegationKind, *ChainFault) {
	if r, ok := d.match(n); ok {
		return d.delegationTypes(n, r.types)
	}
	p, ok := d.closest(n)
	switch {
	case ok && p.cover.optOut:
		return insecureDelegation, fault(d.zone, codeOptOut,
			"The zone leaves delegations to unsigned zones out of its proofs (opt-out), and %s lies in such a gap", n)
	case ok:
		return noName, nil
	case d.exhausted:
		return notProven, fault(d.zone, codeWork,
			"The proof that there is no DS record for %s asks for more hashes than any real zone does", n)
	case d.excessive > 0:
		return insecureDelegation, d.iterationFault()
	}
	return notProven, nil
}

// nodataHashed follows RFC 5155 sections 8.5 to 8.7. A gap with opt-out may hide a name that exists
// only because of unsigned delegations below it, whichever the type (erratum 3441).
func (d *denials) nodataHashed(n name, rrtype uint16) outcome {
	if r, ok := d.match(n); ok {
		return outcomeOf(r.types.lacks(n, rrtype))
	}
	p, ok := d.closest(n)
	if !ok {
		return d.without()
	}
	if w, ok := d.match(p.encloser.wildcard()); ok {
		if o := outcomeOf(w.types.lacks(n, rrtype)); o != proof {
			return o
		}
		return p.outcome()
	}
	if p.cover.optOut {
		return optedOut
	}
	return d.without()
}

// nxdomainHashed follows RFC 5155 section 8.4.
func (d *denials) nxdomainHashed(n name) outcome {
	if r, ok := d.match(n); ok {
		if r.types.has(typeNXNAME) {
			return proof
		}
		return contrary
	}
	p, ok := d.closest(n)
	if !ok {
		return d.without()
	}
	wildcard := p.encloser.wildcard()
	if wildcard == "" {
		return p.outcome()
	}
	if _, exists := d.match(wildcard); exists {
		return contrary
	}
	if _, ok := d.cover(wildcard); ok {
		return p.outcome()
	}
	return d.without()
}

// wildcardHashed follows RFC 5155 section 8.8: the encloser is known from the signature, so only the
// name that is one label longer is to be denied.
func (d *denials) wildcardHashed(n name, labels int) outcome {
	cover, ok := d.cover(n.ancestor(labels + 1))
	if !ok {
		return d.without()
	}
	return encloserProof{cover: cover}.outcome()
}
