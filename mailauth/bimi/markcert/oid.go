package markcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
)

// The extensions and purposes that make a certificate one for marks.
var (
	oidLogotype = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 12}       // RFC 9399 section 4.1
	oidPilot    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 53087, 4, 1}    // of certificates from before the MCR had CMCs
	oidUsage    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 31}       // id-kp-BrandIndicatorforMessageIdentification
	oidPolicy   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 53087, 1, 1}    // Mark Certificate General Policy Identifier
	oidPoison   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 3} // of a precertificate (RFC 6962 section 3.1)
	oidNames    = asn1.ObjectIdentifier{2, 5, 29, 30}                     // name constraints
)

// extension returns an extension of a certificate, or nil.
func extension(c *x509.Certificate, oid asn1.ObjectIdentifier) *pkix.Extension {
	for i := range c.Extensions {
		if c.Extensions[i].Id.Equal(oid) {
			return &c.Extensions[i]
		}
	}
	return nil
}

// forMarks reports whether a certificate has the purpose of mark certificates.
func forMarks(c *x509.Certificate) bool {
	for _, usage := range c.UnknownExtKeyUsage {
		if usage.Equal(oidUsage) {
			return true
		}
	}
	return false
}

// objectIdentifier is the type of the identifiers, where its package's name is taken.
type objectIdentifier = asn1.ObjectIdentifier
