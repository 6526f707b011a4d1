package dnssec

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/miekg/dns"
)

// maxHashes bounds the work for the proofs of one answer (CVE-2023-50868), in hashes with the highest accepted
// number of iterations, as in Unbound. With no iterations, as RFC 9276 section 3.1 demands, that is enough for any
// name there can be.
const maxHashes = 8

// An nsec3 denies the names that hash between two hashes, and lists the types of the owner of the first (RFC 5155
// section 3).
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

// base32hex is the encoding of hashes (RFC 5155 section 3.3, RFC 4648 section 7).
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
	if int(r.Iterations) > h.v.accepted() {
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
	if h.v.rounds+h.iterations+1 > maxHashes*(h.v.accepted()+1) {
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

func (h *hashed) match(n name) (types, bool) {
	if n == "" || len(h.records) == 0 {
		return nil, false
	}
	hash := h.of(n)
	for _, r := range h.records {
		if r.hash == hash && hash != "" {
			return r.types, true
		}
	}
	return nil, false
}

// empty is never so: empty names have records of their own.
func (h *hashed) empty(name) bool { return false }

func (h *hashed) cover(n name) (optOut, ok bool) {
	r, ok := h.covering(n)
	return r.optOut, ok
}

// covering looks for the record that denies a name. The last record of a zone points to the first.
func (h *hashed) covering(n name) (record nsec3, ok bool) {
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

// closest finds the closest encloser proof for a name that does not exist. The ancestors are tried from both ends,
// because the encloser is mostly close to the name or to the apex, and only attackers use long names in between.
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
	t, ok := h.match(encloser)
	if !ok || t.nothingBelow() {
		return encloserProof{}, false
	}
	optOut, ok := h.cover(n.ancestor(labels + 1))
	return encloserProof{encloser, optOut}, ok
}

// closer takes the encloser from the signature, so only the name one label longer must be denied (RFC 5155 section
// 8.8).
func (h *hashed) closer(n name, labels int) (encloserProof, bool) {
	optOut, ok := h.cover(n.ancestor(labels + 1))
	return encloserProof{optOut: optOut}, ok
}

func (h *hashed) without() outcome {
	if h.exhausted {
		return tooMuch
	}
	return nothing
}
