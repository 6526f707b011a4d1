package lint

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag/pki"
)

type extension = pkix.Extension

// The extensions that are examined (RFC 5280 section 4.2).
var (
	oidKeyUsage          = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidSAN               = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidBasicConstraints  = asn1.ObjectIdentifier{2, 5, 29, 19}
	oidCRLNumber         = asn1.ObjectIdentifier{2, 5, 29, 20}
	oidNameConstraints   = asn1.ObjectIdentifier{2, 5, 29, 30}
	oidAKI               = asn1.ObjectIdentifier{2, 5, 29, 35}
	oidPolicyConstraints = asn1.ObjectIdentifier{2, 5, 29, 36}
	oidExtKeyUsage       = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidAIA               = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 1}
)

func find(c *x509.Certificate, id asn1.ObjectIdentifier) *extension {
	if i := slices.IndexFunc(c.Extensions, func(e extension) bool { return e.Id.Equal(id) }); i >= 0 {
		return &c.Extensions[i]
	}
	return nil
}

func present(c *x509.Certificate, id asn1.ObjectIdentifier) bool { return find(c, id) != nil }

func critical(c *x509.Certificate, id asn1.ObjectIdentifier) bool {
	e := find(c, id)
	return e != nil && e.Critical
}

// A role is the place of a certificate in its path.
type role int

const (
	leaf      role = 1 << iota // the server's own
	authority                  // between leaf and root
	root                       // a trust anchor, unless it is the leaf itself
	issuers   = authority | root
	all       = leaf | issuers
)

func roleOf(i int, path []*x509.Certificate) role {
	switch {
	case i == 0:
		return leaf
	case i == len(path)-1:
		return root
	default:
		return authority
	}
}

// A rule holds for the certificates in some roles.
type rule struct {
	id, reference string
	roles         role
	broken        func(*x509.Certificate) bool
	detail        string
}

func certificate(c *x509.Certificate, r role, p Profile) []Fault {
	var faults []Fault
	for _, rule := range rules {
		if rule.roles&r != 0 && rule.broken(c) {
			faults = append(faults, Fault{rule.id, rule.detail, rule.reference, c})
		}
	}
	faults = append(faults, key(c)...)
	if r == leaf {
		faults = append(faults, names(c)...)
	}
	return append(faults, constraintsForm(c, p)...)
}

// BR means the Baseline Requirements for TLS server certificates of the CA/Browser Forum, version 2.2.6 of
// 2026-03-31 (cabforum.org/working-groups/server/baseline-requirements).
// What they alone demand is left out for [RFC5280]. What crypto/x509 refuses to read at all, such as a negative
// serial number, a duplicate extension or a critical key identifier, needs no rule here.
var rules = []rule{
	{"version.old", "BR section 7.1.1", all, func(c *x509.Certificate) bool { return c.Version != 3 },
		"The certificate is not of version 3"},
	{"serial.zero", "RFC 5280 section 4.1.2.2", all, func(c *x509.Certificate) bool { return c.SerialNumber.Sign() == 0 },
		"The serial number is zero"},
	{"serial.long", "RFC 5280 section 4.1.2.2", all,
		func(c *x509.Certificate) bool { return c.SerialNumber.BitLen() > 159 },
		"The serial number has more than 20 octets"},
	{"issuer.empty", "RFC 5280 section 4.1.2.4", all, func(c *x509.Certificate) bool { return emptyName(c.RawIssuer) },
		"The name of the issuer is empty"},
	{"subject.empty", "RFC 5280 section 4.1.2.6", issuers,
		func(c *x509.Certificate) bool { return emptyName(c.RawSubject) },
		"The name of a certificate authority is empty"},
	{"extension.critical", "RFC 5280 section 4.2", all, unknownCritical,
		"There is a critical extension that clients do not know"},

	{"aki.missing", "RFC 5280 section 4.2.1.1", all, akiMissing, "There is no authority key identifier"},
	// Intermediates from before 2023-09-15, when this was first forbidden, are in use until they expire, and left out.
	{"aki.form", "BR section 7.1.2.11.1", leaf | root,
		func(c *x509.Certificate) bool { return present(c, oidAKI) && !keyIDOnly(c) },
		"The authority key identifier holds something else than a key identifier"},
	{"aki.mismatch", "BR section 7.1.2.1.3", root, akiMismatch,
		"The key identifiers of the self-signed certificate's subject and authority differ"},
	{"ski.missing", "RFC 5280 section 4.2.1.2", issuers,
		func(c *x509.Certificate) bool { return len(c.SubjectKeyId) == 0 }, "There is no subject key identifier"},

	{"ca.missing", "RFC 5280 section 4.2.1.9", issuers,
		func(c *x509.Certificate) bool { return !c.BasicConstraintsValid || !c.IsCA },
		"The certificate is not one of a certificate authority, and signs others"},
	{"ca.noncritical", "RFC 5280 section 4.2.1.9", issuers,
		func(c *x509.Certificate) bool { return c.IsCA && !critical(c, oidBasicConstraints) },
		"The basic constraints of a certificate authority are not marked critical"},
	{"ca.usage", "RFC 5280 section 4.2.1.3", issuers,
		func(c *x509.Certificate) bool {
			return present(c, oidKeyUsage) && c.KeyUsage&x509.KeyUsageCertSign == 0
		},
		"The key usage of a certificate authority does not allow it to sign certificates"},
	{"leaf.ca", "BR section 7.1.2.7.8", leaf, func(c *x509.Certificate) bool { return c.BasicConstraintsValid && c.IsCA },
		"The server presents the certificate of a certificate authority as its own"},
	{"leaf.usage", "RFC 5280 section 4.2.1.9", leaf,
		func(c *x509.Certificate) bool { return !c.IsCA && c.KeyUsage&x509.KeyUsageCertSign != 0 },
		"The key usage allows the certificate to sign others, and it is not one of an authority"},

	{"eku.missing", "BR section 7.1.2.7.6", leaf, func(c *x509.Certificate) bool { return !present(c, oidExtKeyUsage) },
		"There is no extended key usage"},
	{"eku.any", "BR section 7.1.2.7.10", leaf,
		func(c *x509.Certificate) bool { return slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) },
		"The certificate allows any usage"},
	{"eku.critical", "BR section 7.1.2.7.6", leaf, func(c *x509.Certificate) bool { return critical(c, oidExtKeyUsage) },
		"The extended key usage is marked critical"},
	{"eku.root", "BR section 7.1.2.1.2", root, func(c *x509.Certificate) bool { return present(c, oidExtKeyUsage) },
		"The root certificate has an extended key usage"},

	{"constraints.leaf", "RFC 5280 section 4.2.1.10", leaf,
		func(c *x509.Certificate) bool { return present(c, oidNameConstraints) },
		"The certificate is not one of an authority, and has name constraints"},
	{"policy.noncritical", "RFC 5280 section 4.2.1.11", all,
		func(c *x509.Certificate) bool {
			return present(c, oidPolicyConstraints) && !critical(c, oidPolicyConstraints)
		},
		"The policy constraints are not marked critical"},
	{"aia.form", "RFC 5280 section 4.2.2.1", all, malformedAIA, "The authority information access cannot be read"},
}

func emptyName(der []byte) bool { return len(der) <= 2 } // an empty SEQUENCE

// unknownCritical leaves out the name constraints, which crypto/x509 reports when it does not know one
// kind of name in them: they are judged here.
func unknownCritical(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.UnhandledCriticalExtensions, func(id asn1.ObjectIdentifier) bool {
		return !id.Equal(oidNameConstraints) && !id.Equal(oidPolicyConstraints) && !id.Equal(oidSAN)
	})
}

// akiMissing: a certificate that is signed with its own key needs none (RFC 5280 section 4.2.1.1).
func akiMissing(c *x509.Certificate) bool {
	return !present(c, oidAKI) && !(selfIssued(c) && pki.SelfSigned(c))
}

// keyIDOnly reports whether the authority is named by the identifier of its key and by nothing else.
func keyIDOnly(c *x509.Certificate) bool {
	var id struct {
		Key    []byte        `asn1:"optional,tag:0"`
		Issuer asn1.RawValue `asn1:"optional,tag:1"`
		Serial asn1.RawValue `asn1:"optional,tag:2"`
	}
	rest, err := asn1.Unmarshal(find(c, oidAKI).Value, &id)
	return err == nil && len(rest) == 0 && len(id.Key) > 0 && len(id.Issuer.FullBytes) == 0 &&
		len(id.Serial.FullBytes) == 0
}

func akiMismatch(c *x509.Certificate) bool {
	return selfIssued(c) && len(c.AuthorityKeyId) > 0 && string(c.AuthorityKeyId) != string(c.SubjectKeyId) &&
		pki.SelfSigned(c)
}

func malformedAIA(c *x509.Certificate) bool {
	e := find(c, oidAIA)
	if e == nil {
		return false
	}
	var list []struct {
		Method   asn1.ObjectIdentifier
		Location asn1.RawValue
	}
	rest, err := asn1.Unmarshal(e.Value, &list)
	return err != nil || len(rest) > 0 || len(list) == 0
}

// key judges the kind and size of a key (BR section 6.1.5). That a key of the right size is weak is
// for [pki.DescribeKey] to say.
func key(c *x509.Certificate) []Fault {
	fault := func(id, format string, args ...any) []Fault {
		return []Fault{{id, fmt.Sprintf(format, args...), "BR section 6.1.5", c}}
	}
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		switch n := k.N.BitLen(); {
		case n < pki.MinRSABits:
			return fault("key.short", "The RSA key has %d bits, fewer than %d", n, pki.MinRSABits)
		case n%8 != 0:
			return fault("key.odd", "The size of the RSA key, %d bits, is not divisible by 8", n)
		}
	case *ecdsa.PublicKey:
		if k.Curve == nil || k.Curve.Params().BitSize < pki.MinCurveBits {
			return fault("key.curve", "The curve of the key is not P-256, P-384 or P-521")
		}
	case ed25519.PublicKey:
		return fault("key.kind", "The key is an Ed25519 key, which public authorities must not certify and browsers refuse")
	default:
		return fault("key.kind", "The key is of a kind or on a curve that clients do not know")
	}
	return nil
}

func selfIssued(c *x509.Certificate) bool { return string(c.RawSubject) == string(c.RawIssuer) }
