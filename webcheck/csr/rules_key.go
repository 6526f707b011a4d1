package csr

import (
	"math/big"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// newPair is the advice about a key that no authority accepts.
const newPair = "Generate a new key pair, as the suggested command does, and never use this one."

// largestExponent is the upper end of the range that the Baseline Requirements recommend in section 6.1.6: 2^256 - 1.
const largestExponent = 256

// isRSA reports whether there is an RSA key whose numbers can be read.
func isRSA(e *evidence) bool {
	return e.csr != nil && e.csr.Key.Algorithm == pki.RSA && e.csr.Key.Fault == ""
}

func isCurve(e *evidence) bool { return e.csr != nil && e.csr.Key.Algorithm == pki.ECDSA }

// allowedCurves are those of the Baseline Requirements, section 6.1.5.
var allowedCurves = map[string]bool{"P-256": true, "P-384": true, "P-521": true}

// usualSize reports whether all authorities take an RSA modulus of so many bits (Let's Encrypt, "Supported Key
// Algorithms").
func usualSize(bits int) bool { return bits == 2048 || bits == 3072 || bits == 4096 }

// searchRule makes a rule about a weakness for which keys are searched.
func searchRule(code diag.Code, severity diag.Severity, ref, title, requirement, advice string,
	check pki.CheckCode) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: severity, Ref: ref, Title: title, Requirement: requirement, Advice: advice,
		When: func(e *evidence) bool {
			return e.csr != nil && e.checks[check].Status != pki.CheckSkipped && e.checks[check].Code != ""
		},
		Fails: func(e *evidence) rule.Failures {
			found := e.checks[check]
			return rule.FailIf(found.Status == pki.CheckFailed, "%s", found.Detail).Suggesting(e.correction())
		},
	}
}

var keyRules = rule.Rules[*evidence]{
	{
		Code: "csr.key.algorithm", Severity: diag.Error, Ref: br + "6.1.5",
		Title: "Key type that public authorities do not accept", Requirement: "The key is one of RSA or ECDSA",
		Advice: "Generate an RSA key of at least 2048 bits or a key on the curve P-256, as the suggested command does.",
		When:   readable,
		Fails: func(e *evidence) rule.Failures {
			k := e.csr.Key
			return rule.FailIf(k.Algorithm != pki.RSA && k.Algorithm != pki.ECDSA,
				"The key type is %s. Certificates for servers are issued for RSA and ECDSA keys only.", phrase.Quote(k.Name)).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.identifier", Severity: diag.Error, DependsOn: []diag.Code{"csr.key.algorithm"},
		Ref:   br + "7.1.3.1.1",
		Title: "RSA key is labeled for one scheme only", Requirement: "The algorithm of an RSA key is rsaEncryption",
		Advice: newPair, When: isRSA,
		Fails: func(e *evidence) rule.Failures {
			k := e.csr.Key
			if k.Name == "RSA" {
				return rule.FailIf(k.Absent, "The algorithm of the key lacks its parameter NULL.").Suggesting(e.correction())
			}
			return rule.Fail("The algorithm of the key is %s. Authorities must use rsaEncryption for all RSA keys.", k.Name).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.malformed", Severity: diag.Critical, Ref: br + "6.1.6",
		Title: "Public key is malformed", Requirement: "The public key is well formed",
		Advice: newPair, When: readable,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.csr.Key.Fault != "", "The public key is malformed: %s.", e.csr.Key.Fault).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.rsa.size", Severity: diag.Error, Ref: br + "6.1.5",
		Title: "RSA key too small", Requirement: "The RSA modulus has at least 2048 bits",
		Advice: "Generate a key of at least 2048 bits, as the suggested command does.", When: isRSA,
		Fails: func(e *evidence) rule.Failures {
			n := e.csr.Key.Size()
			return rule.FailIf(n < pki.MinRSABits,
				"The RSA key is too small: its modulus has %d bits, and at least %d are required.", n, pki.MinRSABits).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.rsa.multiple", Severity: diag.Error, Ref: br + "6.1.5",
		Title:       "RSA modulus length is not a multiple of 8 bits",
		Requirement: "The number of bits of the RSA modulus is a multiple of 8",
		Advice:      newPair, When: isRSA,
		Fails: func(e *evidence) rule.Failures {
			n := e.csr.Key.Size()
			return rule.FailIf(n%8 != 0, "The RSA modulus has %d bits, which is not a multiple of 8.", n).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.rsa.unusual", Severity: diag.Warning,
		DependsOn: []diag.Code{"csr.key.rsa.size", "csr.key.rsa.multiple"}, Ref: br + "6.1.5",
		Title: "RSA key of an unusual size", Requirement: "The RSA key has 2048, 3072 or 4096 bits",
		Advice: "Generate a key of 2048, 3072 or 4096 bits, as the suggested command does: " +
			"Let's Encrypt and others accept no other size.",
		When: isRSA,
		Fails: func(e *evidence) rule.Failures {
			n := e.csr.Key.Size()
			return rule.FailIf(!usualSize(n), "The RSA modulus has %d bits.", n).Suggesting(e.renewal())
		},
	},
	{
		Code: "csr.key.rsa.exponent.invalid", Severity: diag.Critical, Ref: br + "6.1.6",
		Title:       "RSA exponent is not an odd number above 2",
		Requirement: "The public exponent is an odd number from 3 on",
		Advice:      newPair, When: isRSA,
		Fails: func(e *evidence) rule.Failures {
			k := e.csr.Key
			return rule.FailIf(k.E.Cmp(big.NewInt(3)) < 0 || k.E.Bit(0) == 0 || k.E.Cmp(k.N) >= 0, "%s",
				e.checks[pki.CheckExponent].Detail).Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.rsa.exponent.unusual", Severity: diag.Warning,
		DependsOn: []diag.Code{"csr.key.rsa.exponent.invalid"}, Ref: br + "6.1.6",
		Title: "Unusual RSA exponent", Requirement: "The public exponent is 65537",
		Advice: "Generate a key with the exponent 65537, as the suggested command does: many authorities accept no other.",
		When:   isRSA,
		Fails: func(e *evidence) rule.Failures {
			x := e.csr.Key.E
			switch {
			case x.BitLen() > largestExponent:
				return rule.Fail("The public exponent has %d bits, and should be below 2^256.", x.BitLen()).
					Suggesting(e.correction())
			case x.Cmp(big.NewInt(pki.MinExponent)) < 0:
				return rule.Fail("The public exponent is %s: with a small exponent, mistakes in other software are fatal.", x).
					Suggesting(e.correction())
			case x.BitLen() > 64:
				return rule.Fail("The public exponent is an unusual number of %d bits.", x.BitLen()).Suggesting(e.correction())
			default:
				return rule.FailIf(x.Cmp(big.NewInt(pki.MinExponent)) != 0, "The public exponent is %s, which is unusual.", x).
					Suggesting(e.correction())
			}
		},
	},
	{
		Code: "csr.key.curve.forbidden", Severity: diag.Error, Ref: br + "6.1.5",
		Title:       "Elliptic curve that public authorities do not accept",
		Requirement: "The curve is P-256, P-384 or P-521",
		Advice:      "Generate a key on the curve P-256, as the suggested command does.", When: isCurve,
		Fails: func(e *evidence) rule.Failures {
			k := e.csr.Key
			name := k.CurveName()
			if name == "" {
				name = "not named"
			}
			return rule.FailIf(k.Curve == nil || !allowedCurves[k.Curve.Name],
				"The elliptic curve (EC) of the key is %s, which is not allowed.", name).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.curve.explicit", Severity: diag.Error, Ref: br + "7.1.3.1.2, RFC 5480 section 2.1.1",
		Title: "Elliptic curve given by its parameters", Requirement: "The curve is given by its name",
		Advice: "Generate the key with a named curve, as the suggested command does.", When: isCurve,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.csr.Key.Explicit,
				"The key has explicit parameters of an elliptic curve (EC) instead of the name of the curve, "+
					"which is not allowed.").
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.curve.compressed", Severity: diag.Warning,
		DependsOn: []diag.Code{"csr.key.curve.forbidden", "csr.key.malformed"}, Ref: "RFC 5480 section 2.2",
		Title: "Public key is a compressed point", Requirement: "The point of the key is uncompressed",
		Advice: "Generate a new key, as the suggested command does: some authorities, Let's Encrypt among them, " +
			"cannot read compressed points.",
		When: isCurve,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.csr.Key.Compressed(),
				"The key is a point on the curve %s in a form other than the uncompressed one.", e.csr.Key.CurveName()).
				Suggesting(e.correction())
		},
	},
	{
		Code: "csr.key.curve.p521", Severity: diag.Warning, DependsOn: []diag.Code{"csr.key.curve.forbidden"},
		Ref:   "Mozilla Root Store Policy section 5.1",
		Title: "Curve P-521 is not accepted everywhere", Requirement: "The curve is P-256 or P-384",
		Advice: "Generate a key on P-256 or P-384, as the suggested command does, unless your authority offers P-521: " +
			"Mozilla's policy, and with it most authorities, excludes it.",
		When: isCurve,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.csr.Key.Curve.Name == "P-521", "The key is on the curve P-521.").Suggesting(e.renewal())
		},
	},
}

var weaknessRules = rule.Rules[*evidence]{
	searchRule("csr.key.debian", diag.Critical, br+"6.1.1.3",
		"Key made by the broken Debian OpenSSL of 2006 to 2008",
		"The key was not made by Debian's OpenSSL of 2006 to 2008", newPair, pki.CheckDebian),
	searchRule("csr.key.blocklist", diag.Critical, br+"6.1.1.3",
		"Private key of this request is public", "The private key is on no list of published keys", newPair,
		pki.CheckBlocklist),
	searchRule("csr.key.roca", diag.Critical, br+"6.1.1.3",
		"Key has the ROCA flaw", "The key does not have the ROCA fingerprint",
		"Generate the key in software rather than on the chip that made this one, and update the chip.",
		pki.CheckROCA),
	searchRule("csr.key.fermat", diag.Critical, br+"6.1.1.3",
		"Factors of the RSA modulus are close together", "Fermat's method does not factor the modulus", newPair,
		pki.CheckFermat),
	searchRule("csr.key.small_factor", diag.Critical, br+"6.1.6",
		"RSA modulus has a small factor", "The modulus has no small prime factor", newPair, pki.CheckSmallFactor),
	searchRule("csr.key.shared_prime", diag.Critical, br+"6.1.1.3",
		"RSA modulus shares a prime with another key", "The modulus shares no prime with known ones", newPair,
		pki.CheckSharedPrime),
	searchRule("csr.key.small_secret", diag.Critical, br+"6.1.1.3",
		"Private exponent follows from the public one", "The private exponent is not small", newPair,
		pki.CheckSmallSecret),
	searchRule("csr.key.pattern", diag.Warning, br+"6.1.1.3",
		"RSA modulus is not random", "The bits of the modulus look random",
		"Generate the key with other software: this modulus is not a product of random primes.", pki.CheckPattern),
}
