package pki

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A CheckCode names a check of a key for a weakness: size, exponent, small_factor, fermat, roca,
// small_private_exponent, pattern, shared_prime, curve, debian_openssl or blocklist.
type CheckCode string

// The weaknesses.
const (
	CheckSize        CheckCode = "size"
	CheckExponent    CheckCode = "exponent"
	CheckSmallFactor CheckCode = "small_factor"
	CheckFermat      CheckCode = "fermat"
	CheckROCA        CheckCode = "roca"
	CheckSmallSecret CheckCode = "small_private_exponent"
	CheckPattern     CheckCode = "pattern"
	CheckSharedPrime CheckCode = "shared_prime"
	CheckCurve       CheckCode = "curve"
	CheckDebian      CheckCode = "debian_openssl"
	CheckBlocklist   CheckCode = "blocklist"
)

// Values lists the weaknesses.
func (CheckCode) Values() []string {
	return kit.Values(CheckSize, CheckExponent, CheckDebian, CheckROCA, CheckFermat, CheckCurve, CheckSmallFactor,
		CheckSmallSecret, CheckSharedPrime, CheckPattern, CheckBlocklist)
}

// A CheckStatus is the outcome of a check for a weakness: pass, fail or skipped.
type CheckStatus string

// The outcomes.
const (
	CheckPassed  CheckStatus = "pass"
	CheckFailed  CheckStatus = "fail"
	CheckSkipped CheckStatus = "skipped"
)

// Values lists the outcomes.
func (CheckStatus) Values() []string { return kit.Values(CheckPassed, CheckFailed, CheckSkipped) }

// A KeyCheck is the outcome of one check for a weakness of a key.
type KeyCheck struct {
	Code   CheckCode   `json:"code" doc:"what was looked for"`
	Status CheckStatus `json:"status" doc:"skipped: it does not apply to the key, or there is no data to compare with"`
	Detail string      `json:"detail" doc:"what was found, or why it was not looked for"`
}

// Checks checks the key for all known weaknesses, in a fixed order; known may be nil. The work is bounded: a
// check for which the key is too large is skipped, and reported as such.
func (k *Key) Checks(known *KnownKeys) ([]KeyCheck, error) {
	if known == nil {
		known = &KnownKeys{}
	}
	list := []KeyCheck{k.checkSize(), k.checkExponent(), k.checkCurve()}
	list = append(list, k.searches()...)
	list = append(list, k.checkShared(known))
	listed, err := k.checkLists(known)
	return append(list, listed...), err
}

// rsa reports whether the key is an RSA key with usable numbers.
func (k *Key) rsa() bool { return k.N != nil && k.N.Sign() > 0 && k.E.Sign() > 0 }

func pass(code CheckCode, format string, args ...any) KeyCheck {
	return KeyCheck{code, CheckPassed, fmt.Sprintf(format, args...)}
}

func fail(code CheckCode, format string, args ...any) KeyCheck {
	return KeyCheck{code, CheckFailed, fmt.Sprintf(format, args...)}
}

func skip(code CheckCode, why string) KeyCheck { return KeyCheck{code, CheckSkipped, why} }

const (
	onlyRSA   = "This weakness concerns RSA keys only."
	onlyCurve = "This weakness concerns elliptic curves only."
)

func (k *Key) checkSize() KeyCheck {
	bits := k.Size()
	switch {
	case bits == 0:
		return skip(CheckSize, "The size of the key is not known.")
	case (k.N != nil || k.P != nil) && bits < MinRSABits:
		return fail(CheckSize, "The modulus has %d bits; at least %d are required.", bits, MinRSABits)
	case k.N == nil && k.P == nil && bits < MinCurveBits:
		return fail(CheckSize, "The field has %d bits; at least %d are required.", bits, MinCurveBits)
	default:
		return pass(CheckSize, "The key has %d bits.", bits)
	}
}

func (k *Key) checkExponent() KeyCheck {
	switch {
	case !k.rsa():
		return skip(CheckExponent, onlyRSA)
	case k.E.Cmp(big.NewInt(3)) < 0 || k.E.Bit(0) == 0:
		return fail(CheckExponent, "The public exponent is %s, not an odd number above 2.", short(k.E))
	case k.E.Cmp(k.N) >= 0:
		return fail(CheckExponent, "The public exponent is not below the modulus.")
	case k.E.Cmp(big.NewInt(MinExponent)) < 0:
		return fail(CheckExponent, "The public exponent is %s; at least %d is asked for.", short(k.E), MinExponent)
	default:
		return pass(CheckExponent, "The public exponent is %s.", short(k.E))
	}
}

// short writes a number, or how long it is.
func short(n *big.Int) string {
	if n.BitLen() > 64 {
		return fmt.Sprintf("a number of %d bits", n.BitLen())
	}
	return n.String()
}

func (k *Key) checkCurve() KeyCheck {
	switch {
	case k.Algorithm != ECDSA:
		return skip(CheckCurve, onlyCurve)
	case k.Curve == nil:
		return skip(CheckCurve, "The curve is not known.")
	case k.Fault != "":
		return fail(CheckCurve, "%s.", phrase.Capitalize(k.Fault))
	case k.Curve.OID == "" || k.Y == nil:
		return skip(CheckCurve, "The curve has no name by which its properties could be known, or the point is compressed.")
	default:
		return pass(CheckCurve, "The point lies on the curve %s.", k.Curve.Name)
	}
}

func (k *Key) searches() []KeyCheck {
	codes := []CheckCode{CheckSmallFactor, CheckFermat, CheckROCA, CheckSmallSecret, CheckPattern}
	return kit.Map(codes, func(code CheckCode) KeyCheck {
		if skipped := k.unsearchable(code); skipped.Code != "" {
			return skipped
		}
		return k.search(code)
	})
}

// unsearchable is the outcome where a modulus cannot be searched, if there is any.
func (k *Key) unsearchable(code CheckCode) KeyCheck {
	switch {
	case !k.rsa():
		return skip(code, onlyRSA)
	case k.N.BitLen() > maxFactorBits:
		return skip(code, fmt.Sprintf("The modulus has more than %d bits.", maxFactorBits))
	}
	return KeyCheck{}
}

func (k *Key) search(code CheckCode) KeyCheck {
	switch code {
	case CheckSmallFactor:
		d := smallFactor(k.N)
		switch {
		case d == nil:
			return pass(code, "The modulus has no prime factor up to %d.", maxSmallPrime)
		case d.BitLen() > 32:
			return fail(code, "The modulus has several small prime factors.")
		}
		return fail(code, "The modulus is divisible by %s.", d)
	case CheckFermat:
		if closeFactors(k.N) {
			return fail(code, "The two factors of the modulus are close together, or nearly in a simple ratio.")
		}
		return pass(code, "Fermat's method finds no factors in %d steps.", fermatRounds)
	case CheckROCA:
		if isROCA(k.N) {
			return fail(code, "The modulus has the fingerprint of Infineon's flawed chips (CVE-2017-15361).")
		}
		return pass(code, "The modulus lacks the fingerprint of Infineon's flawed chips.")
	case CheckSmallSecret:
		if k.E.Cmp(k.N) < 0 && smallSecret(k.N, k.E) {
			return fail(code, "The private exponent is so small that it follows from the public one (Wiener's attack).")
		}
		return pass(code, "Wiener's attack does not find the private exponent.")
	default:
		if why := patterned(k.N); why != "" {
			return fail(code, "The modulus was not made of random primes: %s.", why)
		}
		return pass(code, "The bits of the modulus look random.")
	}
}

func (k *Key) checkShared(known *KnownKeys) KeyCheck {
	switch skipped := k.unsearchable(CheckSharedPrime); {
	case skipped.Code != "":
		return skipped
	case !known.moduli():
		return skip(CheckSharedPrime, "There is no list of moduli to compare with.")
	}
	if name, ok := known.shares(k.N); ok {
		return fail(CheckSharedPrime, "Another key has a prime factor in common with this one (%s).", name)
	}
	return pass(CheckSharedPrime, "No modulus of the lists has a factor in common with this one.")
}

// checkLists looks the key up in the lists of published private keys.
func (k *Key) checkLists(known *KnownKeys) ([]KeyCheck, error) {
	if !known.keys() {
		const why = "There is no list of known keys to compare with."
		return []KeyCheck{skip(CheckDebian, why), skip(CheckBlocklist, why)}, nil
	}
	name, found, err := known.find(k)
	if err != nil {
		return nil, err
	}
	debian := pass(CheckDebian, "The key is not among those of Debian's OpenSSL of 2006 to 2008.")
	switch {
	case found && strings.Contains(strings.ToLower(name), debianOpenSSL):
		debian = fail(
			CheckDebian,
			"The key was made by Debian's OpenSSL of 2006 to 2008, which knew few others (CVE-2008-0166).",
		)
	case !known.covers(debianOpenSSL):
		debian = skip(CheckDebian, "There is no list of these keys to compare with.")
	}
	if found {
		return []KeyCheck{debian, fail(CheckBlocklist, "The private key is public: it is on the list %s.", name)}, nil
	}
	return []KeyCheck{debian, pass(CheckBlocklist, "The key is on no list of published private keys.")}, nil
}
