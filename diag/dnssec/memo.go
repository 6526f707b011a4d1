package dnssec

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// memoSize bounds each half of a memo: the signatures that a busy server meets again within minutes,
// in less than a megabyte.
const memoSize = 4096

// A memo remembers signatures that are right. Whether one is depends on nothing but the key, the data
// and the signature, so what it remembers is never out of date: expiry, the choice of keys and all
// the rest are examined each time. Its zero value is ready, and may be used by several goroutines.
type memo struct {
	mu       sync.Mutex
	old, new map[[sha256.Size]byte]struct{}
}

// shared is the memo of all validators.
var shared memo

// check reports whether a key made a signature over data.
func (m *memo) check(k *key, data, signature []byte) bool {
	sum := digestOf(k, data, signature)
	if m.knows(sum) {
		return true
	}
	if !k.public.verify(data, signature) {
		return false
	}
	m.remember(sum)
	return true
}

func (m *memo) knows(sum [sha256.Size]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.new[sum]; ok {
		return true
	}
	_, ok := m.old[sum]
	if ok {
		m.keep(sum)
	}
	return ok
}

func (m *memo) remember(sum [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(sum)
}

// keep adds to the new half; when that is full it becomes the old one, and what nobody has asked for
// since the last time is forgotten. The memo is locked.
func (m *memo) keep(sum [sha256.Size]byte) {
	if m.new == nil || len(m.new) >= memoSize {
		m.old, m.new = m.new, map[[sha256.Size]byte]struct{}{}
	}
	m.new[sum] = struct{}{}
}

// digestOf hashes all that the check depends on, with lengths so that nothing can be shifted.
func digestOf(k *key, data, signature []byte) [sha256.Size]byte {
	h := sha256.New()
	parts := [][]byte{{k.rr.Algorithm}, []byte(k.rr.PublicKey), signature, data}
	for _, p := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write(p)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
