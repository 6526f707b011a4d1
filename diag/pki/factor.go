package pki

import (
	"math/big"
	"sync"
)

// Factorable says why anybody can compute the private key of an RSA modulus, whatever its size; empty if that
// is not known. It looks for what the Baseline Requirements name in section 6.1.1.3 and can be told at once.
func Factorable(n *big.Int) string {
	switch {
	case new(big.Int).GCD(nil, nil, n, smallPrimes()).Cmp(big.NewInt(1)) != 0:
		return "the modulus has a small prime factor"
	case closeFactors(n):
		return "the two factors of the modulus are close together"
	case isROCA(n):
		return "the key comes from a chip with the flaw ROCA (CVE-2017-15361)"
	default:
		return ""
	}
}

// smallPrimes is the product of all primes below 752, as the Baseline Requirements suggest in section
// 6.1.6 after NIST SP 800-89.
var smallPrimes = sync.OnceValue(func() *big.Int { return product(primesBelow(752)) })

func primesBelow(end int64) []int64 {
	var list []int64
	for i := int64(2); i < end; i++ {
		if big.NewInt(i).ProbablyPrime(0) {
			list = append(list, i)
		}
	}
	return list
}

func product(primes []int64) *big.Int {
	p := big.NewInt(1)
	for _, prime := range primes {
		p.Mul(p, big.NewInt(prime))
	}
	return p
}

// The bounds of Fermat's method: how many steps it makes (Baseline Requirements section 6.1.1.3), and up to which
// size, for the work grows with it and larger keys are refused for their size.
const (
	fermatRounds  = 100
	maxFermatBits = 8192
)

// closeFactors reports whether n = a² - b² for an a just above the root of n (Fermat's method).
func closeFactors(n *big.Int) bool {
	if n.BitLen() > maxFermatBits || n.Bit(0) == 0 {
		return false
	}
	a := new(big.Int).Sqrt(n)
	if square := new(big.Int).Mul(a, a); square.Cmp(n) < 0 {
		a.Add(a, big.NewInt(1))
	}
	rest, root := new(big.Int), new(big.Int)
	step := new(big.Int)
	for rest.Sub(rest.Mul(a, a), n); ; {
		if square(rest, root) {
			return true
		}
		if step.Add(step, big.NewInt(1)); step.Int64() >= fermatRounds {
			return false
		}
		// (a+1)² - n = a² - n + 2a + 1
		rest.Add(rest, a).Add(rest, a).Add(rest, big.NewInt(1))
		a.Add(a, big.NewInt(1))
	}
}

// square reports whether a number is a square. Three of four numbers cannot be one by their last bits.
func square(n, root *big.Int) bool {
	const squaresModulo16 = 1<<0 | 1<<1 | 1<<4 | 1<<9
	last := n.Bit(0) | n.Bit(1)<<1 | n.Bit(2)<<2 | n.Bit(3)<<3
	if squaresModulo16>>last&1 == 0 {
		return false
	}
	root.Sqrt(n)
	return new(big.Int).Mul(root, root).Cmp(n) == 0
}

// rocaGenerator is of what the primes of the flawed chips are powers, modulo a product of small primes (Nemec et
// al., "The Return of Coppersmith's Attack", section 2).
const rocaGenerator = 65537

// rocaResidues holds, for each prime up to 167 save 2, the residues that the modulus of such a key can have.
var rocaResidues = sync.OnceValue(func() map[int64][]bool {
	table := map[int64][]bool{}
	for _, p := range primesBelow(168)[1:] {
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
