package revocation

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/ocsp"
)

var errorf = fmt.Errorf

// OCSP returns the status of a certificate according to an OCSP response in DER, at the time now. The issuer
// is the certificate of its authority.
func OCSP(der []byte, cert, issuer *x509.Certificate, now time.Time) Answer {
	r, err := ParseOCSP(der, cert, issuer, now)
	if err != nil {
		return unusable(err)
	}
	return FromOCSP(r, now)
}

// MaxResponse is the maximum size of an OCSP response in bytes. Real ones have up to 5 KB.
const MaxResponse = 16 << 10

// ParseOCSP parses an OCSP response for a certificate, and checks that it is signed by the issuer or its
// delegate (RFC 6960 section 3.2). It does not check times; see [FromOCSP]. The text of the error is a clause
// that describes the fault.
func ParseOCSP(der []byte, cert, issuer *x509.Certificate, now time.Time) (*ocsp.Response, error) {
	if len(der) > MaxResponse {
		return nil, fmt.Errorf("it is longer than %d KiB", MaxResponse>>10)
	}
	r, err := ocsp.ParseResponseForCert(der, cert, nil)
	refusal, refused := errors.AsType[ocsp.ResponseError](err)
	switch {
	case refused:
		return nil, fmt.Errorf("the responder answered %q", refusal.Status)
	case err != nil:
		return nil, errors.New("it cannot be read, or is not for this certificate")
	case !pki.Checkable(issuer) || !authorized(r, issuer, now):
		return nil, errors.New("neither the issuer nor a responder of the issuer signed it")
	}
	return r, nil
}

// authorized reports whether a response is signed by the issuer itself, whether its certificate is embedded or not,
// or by a delegate of the issuer with a valid certificate (RFC 6960 section 4.2.2.2).
func authorized(r *ocsp.Response, issuer *x509.Certificate, now time.Time) bool {
	by := r.Certificate // by which it is known to be signed
	switch {
	case by == nil:
		return r.CheckSignatureFrom(issuer) == nil
	case bytes.Equal(by.RawSubjectPublicKeyInfo, issuer.RawSubjectPublicKeyInfo):
		return true
	default:
		return slices.Contains(by.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) &&
			!now.After(by.NotAfter) && !now.Before(by.NotBefore.Add(-clockSkew)) &&
			issuer.CheckSignature(by.SignatureAlgorithm, by.RawTBSCertificate, by.Signature) == nil
	}
}

// FromOCSP returns the status according to a response from [ParseOCSP], at the time now (RFC 6960 sections
// 2.2 and 4.2.2.1).
func FromOCSP(r *ocsp.Response, now time.Time) Answer {
	a := Answer{Status: Unknown, ThisUpdate: r.ThisUpdate.UTC(), NextUpdate: r.NextUpdate.UTC()}
	switch r.Status {
	case ocsp.Good:
		a.Status = Good
	case ocsp.Revoked:
		a.Status, a.RevokedAt, a.Reason = Revoked, r.RevokedAt.UTC(), reasons[r.RevocationReason]
	}
	return a.current(now)
}
