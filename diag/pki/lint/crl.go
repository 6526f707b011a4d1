package lint

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"
)

// revocation holds each certificate against the revocation lists of its issuer (RFC 5280 section 6.3.3). A list that
// breaks the rules says nothing, which is a fault of its own: clients that ask for lists refuse the certificate.
func revocation(path []*x509.Certificate, lists []*x509.RevocationList, now time.Time) []Fault {
	var faults []Fault
	for i, c := range path[:len(path)-1] {
		for _, list := range lists {
			if !bytes.Equal(list.RawIssuer, c.RawIssuer) {
				continue
			}
			if why := badList(list, path[i+1], now); why != "" {
				faults = append(faults, Fault{"crl.invalid", why, "RFC 5280 section 6.3.3", c})
			} else if revoked(list, c) {
				faults = append(faults, Fault{"crl.revoked", "The certificate has been revoked", "RFC 5280 section 5.3", c})
			}
		}
	}
	return faults
}

func badList(list *x509.RevocationList, issuer *x509.Certificate, now time.Time) string {
	number := slices.IndexFunc(list.Extensions, func(e extension) bool { return e.Id.Equal(oidCRLNumber) })
	switch {
	case number < 0:
		return "The revocation list has no number" // RFC 5280 section 5.2.3
	case list.Extensions[number].Critical:
		return "The number of the revocation list is marked critical"
	case present(issuer, oidKeyUsage) && issuer.KeyUsage&x509.KeyUsageCRLSign == 0:
		return "The issuer's key usage does not allow it to sign revocation lists"
	case issuer.CheckSignature(list.SignatureAlgorithm, list.RawTBSRevocationList, list.Signature) != nil:
		return "The signature of the revocation list is wrong"
	case !list.NextUpdate.IsZero() && now.After(list.NextUpdate):
		return "The revocation list expired on " + date(list.NextUpdate)
	default:
		return ""
	}
}

func revoked(list *x509.RevocationList, c *x509.Certificate) bool {
	return slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		return e.SerialNumber.Cmp(c.SerialNumber) == 0
	})
}
