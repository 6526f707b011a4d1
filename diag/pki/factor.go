package pki

import (
	"crypto/sha256"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
)

// Factorable returns why the private key for an RSA modulus can be computed, or the empty string if no way
// was found. It checks for the weaknesses in Baseline Requirements section 6.1.1.3 that are quick to detect.
//
// Results are cached by modulus.
func Factorable(n *big.Int) string {
	if n.Sign() <= 0 || n.BitLen() > maxFactorBits {
		return ""
	}
	sum := sha256.Sum256(n.Bytes())
	if why, ok := searched.get(sum); ok {
		return why
	}
	why := factorable(n)
	searched.put(sum, why)
	return why
}

func factorable(n *big.Int) string {
	switch {
	case smallFactor(n) != nil:
		return "the modulus has a small prime factor"
	case closeFactors(n):
		return "the two factors of the modulus are close together"
	case isROCA(n):
		return "the key comes from a chip with the flaw ROCA (CVE-2017-15361)"
	default:
		return ""
	}
}

// maxSearched bounds the outcomes of [Factorable] that are remembered, in each of two halves: some 100 bytes each.
const maxSearched = 1024

// searched remembers outcomes of [Factorable], for all callers: they depend on the modulus alone.
var searched memory

// memory holds outcomes by the SHA-256 of the modulus. When the newer half is full, the older one is forgotten: what
// is still asked for has moved to the newer half by then.
type memory struct {
	mu           sync.Mutex
	newer, older map[[sha256.Size]byte]string
}

func (m *memory) get(sum [sha256.Size]byte) (why string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if why, ok = m.newer[sum]; ok {
		return why, true
	}
	if why, ok = m.older[sum]; ok {
		m.keep(sum, why)
	}
	return why, ok
}

func (m *memory) put(sum [sha256.Size]byte, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(sum, why)
}

func (m *memory) keep(sum [sha256.Size]byte, why string) {
	if m.newer == nil || len(m.newer) >= maxSearched {
		m.newer, m.older = map[[sha256.Size]byte]string{}, m.newer
	}
	m.newer[sum] = why
}

// maxFactorBits bounds the moduli that are examined: the work grows with the size, and larger keys are refused for it.
const maxFactorBits = 16384

// maxSmallPrime is the largest prime factor that is called small. The Baseline Requirements ask for 752 in section
// 6.1.6, after NIST SP 800-89; one greatest common divisor finds many more.
const maxSmallPrime = 65537

var smallPrimes = sync.OnceValue(func() *big.Int { return product(primesUpTo(maxSmallPrime)) })

// smallFactor returns the product of the small prime factors of n, each once, or nil without one. The product of all
// of them is reduced first: n is much smaller.
func smallFactor(n *big.Int) *big.Int {
	rest := new(big.Int).Mod(smallPrimes(), n)
	if d := new(big.Int).GCD(nil, nil, n, rest); d.BitLen() > 1 {
		return d
	}
	return nil
}

// primesUpTo is the sieve of Eratosthenes.
func primesUpTo(end int) (list []int64) {
	composite := make([]bool, end+1)
	for i := 2; i <= end; i++ {
		if composite[i] {
			continue
		}
		list = append(list, int64(i))
		for j := i * i; j <= end; j += i {
			composite[j] = true
		}
	}
	return list
}

// product multiplies halves, so that the numbers stay short as long as possible.
func product[T int64 | *big.Int](list []T) *big.Int {
	switch len(list) {
	case 0:
		return big.NewInt(1)
	case 1:
		if n, ok := any(list[0]).(int64); ok {
			return big.NewInt(n)
		}
		return any(list[0]).(*big.Int)
	}
	half := len(list) / 2
	return new(big.Int).Mul(product(list[:half]), product(list[half:]))
}

// fermatRounds is how many steps Fermat's method makes. The Baseline Requirements ask for 100 in section 6.1.1.3. With
// sieves in front of the long arithmetic 64 steps cost a few nanoseconds.
const fermatRounds = 1 << 17

// ratios are those of two factors that Fermat's method is tried with, beside 1 to 1, in fewer steps.
var ratios = [][2]int64{{1, 2}, {1, 3}, {2, 3}, {1, 4}, {3, 4}, {1, 5}, {2, 5}, {3, 5}, {4, 5}}

// ratioRounds is how many steps Fermat's method makes for each of the ratios.
const ratioRounds = 1 << 12

// closeFactors reports whether n has two factors that are close together, or nearly in a simple ratio.
func closeFactors(n *big.Int) bool {
	if n.Bit(0) == 0 || n.BitLen() < 8 {
		return false
	}
	if fermat(n, 1, new(big.Int).Sqrt(n), fermatRounds) {
		return true
	}
	precise := new(big.Int).Lsh(n, 2*rootExtra)
	precise.Sqrt(precise)
	size := uint(precise.BitLen()) + rootExtra
	scaled := new(big.Int)
	for i, r := range ratios { // 4rs·n = (2r·p)(2s·q), whose factors are close if p:q is s:r
		scaled.Rsh(ratioRoots()[i], ratioRootBits-size)
		scaled.Mul(scaled, precise).Rsh(scaled, size+rootExtra)
		if fermat(n, 4*r[0]*r[1], scaled, ratioRounds) {
			return true
		}
	}
	return false
}

// The root of 4rs·n is the product of that of n with rootExtra bits after the point, and of that of 4rs with
// ratioRootBits, enough for the largest modulus: that is quicker than ten roots.
const (
	rootExtra     = 32
	ratioRootBits = maxFactorBits/2 + 4*rootExtra
)

var ratioRoots = sync.OnceValue(func() []*big.Int {
	return kit.Map(ratios, func(r [2]int64) *big.Int {
		root := new(big.Int).Lsh(big.NewInt(4*r[0]*r[1]), 2*ratioRootBits)
		return root.Sqrt(root)
	})
})

// sieves are moduli modulo which few numbers are squares, in two groups whose products fit into 64 bits. None is above
// 64: see sieve.
var sieves = [2][]uint64{{64, 63, 55, 13, 17, 19, 23, 29, 31, 37, 41}, {43, 47, 53, 59, 61}}

// differences holds by modulus and remainder, in a bit for each x, whether x² minus the remainder is a square.
var differences = sync.OnceValue(func() (table [65][]uint64) {
	for _, modulus := range slices.Concat(sieves[:]...) {
		var squares uint64
		for x := range modulus {
			squares |= 1 << (x * x % modulus)
		}
		table[modulus] = make([]uint64, modulus)
		for rest := range modulus {
			for x := range modulus {
				table[modulus][rest] |= squares >> ((x*x + modulus - rest) % modulus) & 1 << x
			}
		}
	}
	return table
})

// A sieve holds by step, modulo a number of at most 64, whether a square is possible: a bit each of two or more
// periods.
type sieve struct {
	modulus, inverse uint32 // inverse is 2^32 divided by the modulus, rounded up
	low, high        uint64
}

// from returns the bits of the 64 steps that begin with a step below fermatRounds.
func (s *sieve) from(step uint32) uint64 {
	step = uint32(uint64(s.inverse*step) * uint64(s.modulus) >> 32) // the remainder (Lemire, "Faster remainders")
	return s.low>>step | s.high<<(64-step)
}

// newSieve computes for which k (a+k)² - m can be a square; start and rest are a and m modulo the modulus.
func newSieve(modulus, start, rest uint64) sieve {
	s := sieve{modulus: uint32(modulus), inverse: uint32((1<<32 + modulus - 1) / modulus)}
	period := differences()[modulus][rest]
	period = (period>>start | period<<(modulus-start)) & (1<<modulus - 1)
	for at := uint64(0); at < 128; at += modulus {
		s.low |= period << at
		s.high |= period>>(64-at) | period<<(at-64)
	}
	return s
}

// fermat reports whether times·n = a² - b² for one of the first numbers a from the root of times·n on, and that
// this splits n. Near is that root, or a little less.
func fermat(n *big.Int, times int64, near *big.Int, rounds uint32) bool {
	m := new(big.Int).Mul(n, big.NewInt(times))
	a := new(big.Int).Set(near)
	rest, root, step, word := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	for word.Mul(a, a).Cmp(m) < 0 {
		a.Add(a, one)
	}
	possible := make([]sieve, 0, 16)
	for _, group := range sieves {
		all := uint64(1)
		for _, modulus := range group {
			all *= modulus
		}
		word.SetUint64(all)
		start, residue := rest.Mod(a, word).Uint64(), root.Mod(m, word).Uint64()
		for _, modulus := range group {
			possible = append(possible, newSieve(modulus, start%modulus, residue%modulus))
		}
	}
	for first := uint32(0); first < rounds; first += 64 {
		left := ^uint64(0)
		for i := 0; i < len(possible) && left != 0; i++ {
			left &= possible[i].from(first)
		}
		for ; left != 0; left &= left - 1 {
			step.Add(a, word.SetInt64(int64(first)+int64(bits.TrailingZeros64(left))))
			rest.Sub(rest.Mul(step, step), m)
			if root.Sqrt(rest); word.Mul(root, root).Cmp(rest) != 0 {
				continue
			}
			d := word.GCD(nil, nil, n, word.Add(step, root))
			if d.BitLen() > 1 && (d.Cmp(n) < 0 || root.Sign() == 0) {
				return true
			}
		}
	}
	return false
}

var one = big.NewInt(1)

// rocaGenerator is of what the primes of the flawed chips are powers, modulo a product of small primes (Nemec et
// al., "The Return of Coppersmith's Attack", section 2).
const rocaGenerator = 65537

// rocaResidues holds, for each prime up to 167 save 2, the residues that the modulus of such a key can have.
var rocaResidues = sync.OnceValue(func() map[int64][]bool {
	table := map[int64][]bool{}
	for _, p := range primesUpTo(167)[1:] {
		powers := make([]bool, p)
		for x := int64(1); !powers[x]; x = x * rocaGenerator % p {
			powers[x] = true
		}
		table[p] = powers
	}
	return table
})

// isROCA reports whether a modulus has the fingerprint of the chips. One of 2^27 others has it by chance.
func isROCA(n *big.Int) bool {
	rest := new(big.Int)
	for p, powers := range rocaResidues() {
		if !powers[rest.Mod(n, big.NewInt(p)).Int64()] {
			return false
		}
	}
	return true
}

// smallSecret reports whether the private exponent of an RSA key is so small that it follows from the public one
// (Wiener, "Cryptanalysis of Short RSA Secret Exponents"): it is a denominator of a convergent of e/n.
func smallSecret(n, e *big.Int) bool {
	if e.BitLen() < n.BitLen()*5/8 { // the private exponent is below the fourth root of n only if e is above n^(3/4)
		return false
	}
	x, y := new(big.Int).Mod(e, n), new(big.Int).Set(n)
	k0, k1, d0, d1 := big.NewInt(1), big.NewInt(0), big.NewInt(0), big.NewInt(1) // of 0/1, the integer part
	quotient, phi, sum, square := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	for x.Sign() > 0 && d1.BitLen() <= n.BitLen()/4+2 {
		quotient.QuoRem(y, x, phi)
		x, y, phi = phi, x, y
		k0.Add(k0, square.Mul(quotient, k1))
		d0.Add(d0, square.Mul(quotient, d1))
		k0, k1, d0, d1 = k1, k0, d1, d0
		if k1.Sign() == 0 || phi.Sub(square.Mul(e, d1), big.NewInt(1)).Sign() <= 0 {
			continue
		}
		if _, rest := quotient.QuoRem(phi, k1, sum); rest.Sign() != 0 {
			continue
		}
		sum.Sub(n, quotient).Add(sum, big.NewInt(1)) // p + q, if the quotient is (p-1)(q-1)
		square.Mul(sum, sum).Sub(square, phi.Lsh(n, 2))
		if square.Sign() >= 0 && phi.Mul(phi.Sqrt(square), phi).Cmp(square) == 0 {
			return true
		}
	}
	return false
}

// patterned says what shows that a modulus was not made of random primes; empty if nothing does. The bounds are
// those of badkeys: chance does not reach them.
func patterned(n *big.Int) string {
	if n.BitLen() < 512 {
		return ""
	}
	ones, run, last := 0, 0, -1
	for _, b := range n.Bytes() {
		for bit := range 8 {
			ones += int(b >> bit & 1)
		}
		if run++; int(b) != last {
			run, last = 1, int(b)
		}
		if run == 16 {
			return "it holds the same byte 16 times in a row"
		}
	}
	deviation := 10
	if n.BitLen() < 1024 {
		deviation = 17
	} else if n.BitLen() < 2048 {
		deviation = 12
	}
	if percent := ones * 100 / n.BitLen(); percent <= 50-deviation || percent > 50+deviation {
		return "far more of its bits are equal than of a random number"
	}
	return ""
}
