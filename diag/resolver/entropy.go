package resolver

import (
	crand "crypto/rand"
	"math/rand/v2"
	"sync"
)

// entropy is a source of numbers that an observer of past ones cannot predict: ChaCha8, which erases
// its key as it goes, seeded by the operating system.
type entropy struct{ chacha *rand.ChaCha8 }

// Each processor draws from a source of its own, so that drawing takes no lock.
var entropies = sync.Pool{New: func() any {
	var seed [32]byte
	crand.Read(seed[:]) // never fails: it ends the program instead
	return &entropy{rand.NewChaCha8(seed)}
}}

func (e *entropy) uint64() uint64 { return e.chacha.Uint64() }

// intn returns a number below n, which is small and a power of two.
func (e *entropy) intn(n int) int { return int(e.uint64()) & (n - 1) }

func takeEntropy() *entropy  { return entropies.Get().(*entropy) }
func (e *entropy) giveBack() { entropies.Put(e) }
