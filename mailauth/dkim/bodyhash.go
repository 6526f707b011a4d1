package dkim

import (
	"crypto"
	_ "crypto/sha1" // the hash of historic signatures, which are verified to be told from forged ones
	_ "crypto/sha256"
	"hash"
	"slices"
)

// A bodyForm is what determines the hash of a body, but for the length.
type bodyForm struct {
	canonical Canonicalization
	hash      crypto.Hash
}

// Whole is the length that stands for all of a body.
const whole = -1

// bodyHashes computes the hashes of a body in the forms and up to the lengths that are asked for: one pass over
// the body for each form, however many lengths there are.
type bodyHashes struct {
	wanted map[bodyForm][]int64
	sums   map[bodyForm]map[int64][]byte
	sizes  map[Canonicalization]int64 // of the canonical bodies
}

// want asks for a hash, before compute.
func (b *bodyHashes) want(f bodyForm, length int64) {
	if b.wanted == nil {
		b.wanted = map[bodyForm][]int64{}
	}
	b.wanted[f] = append(b.wanted[f], length)
}

func (b *bodyHashes) compute(body []byte) {
	b.sums, b.sizes = map[bodyForm]map[int64][]byte{}, map[Canonicalization]int64{}
	for f, lengths := range b.wanted {
		slices.Sort(lengths)
		m := &marks{hash: f.hash.New(), pending: slices.Compact(lengths), sums: map[int64][]byte{}}
		if m.pending[0] == whole {
			m.pending = m.pending[1:]
		}
		m.Write(nil) // a length of nothing
		b.sizes[f.canonical] = f.canonical.WriteBody(m, body)
		m.sums[whole] = m.hash.Sum(nil)
		b.sums[f] = m.sums
	}
}

// sum returns a hash that was asked for; nil if the body is shorter than the length.
func (b *bodyHashes) sum(f bodyForm, length int64) []byte { return b.sums[f][length] }

// marks is a hash that remembers its value at certain lengths.
type marks struct {
	hash    hash.Hash
	written int64
	pending []int64 // ascending
	sums    map[int64][]byte
}

func (m *marks) Write(p []byte) (int, error) {
	n := len(p)
	for len(m.pending) > 0 && m.pending[0] <= m.written+int64(len(p)) {
		head := m.pending[0] - m.written
		m.hash.Write(p[:head])
		m.sums[m.pending[0]] = m.hash.Sum(nil)
		m.written, p, m.pending = m.pending[0], p[head:], m.pending[1:]
	}
	m.hash.Write(p)
	m.written += int64(len(p))
	return n, nil
}
