package resolver

import (
	crand "crypto/rand"
	"math/rand/v2"
	"sync"
)

// Each processor draws from a source of its own, so that drawing takes no lock.
var entropies = sync.Pool{New: func() any {
	var seed [32]byte
	crand.Read(seed[:]) // never fails: it ends the program instead
	return rand.NewChaCha8(seed)
}}

// randomUint64 returns a number that an observer of past ones cannot predict: it comes from ChaCha8,
// which erases its key as it goes, seeded by the operating system.
func randomUint64() uint64 {
	chacha := entropies.Get().(*rand.ChaCha8)
	defer entropies.Put(chacha)
	return chacha.Uint64()
}
