package tlscert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// expiredPeers lists the certificates beside that of the server that were sent and have expired.
func (e *evidence) expiredPeers() (list []*x509.Certificate) {
	for _, c := range e.tls.Peers[1:] {
		if e.now.After(c.NotAfter) {
			list = append(list, c)
		}
	}
	return list
}

// stale lists the expired certificates that a client which follows the chain as sent encounters, although a valid
// path leads elsewhere: another certificate over name and key of an authority of that path, such as a cross-signed
// root, and its issuers.
func (e *evidence) stale() (list []*x509.Certificate) {
	follows := func(c *x509.Certificate) bool {
		return slices.ContainsFunc(e.verified[1:], func(v *x509.Certificate) bool { return sameHolder(v, c) }) ||
			slices.ContainsFunc(list, func(below *x509.Certificate) bool { return issued(c, below) })
	}
	if len(e.verified) == 0 {
		return nil
	}
	for range e.tls.Peers { // each round finds the issuers of those of the last
		for _, c := range e.expiredPeers() {
			if !slices.ContainsFunc(list, func(known *x509.Certificate) bool { return same(known, c) }) && follows(c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// sameHolder reports whether two certificates are over one name and one key.
func sameHolder(a, b *x509.Certificate) bool {
	return bytes.Equal(a.RawSubject, b.RawSubject) && bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo)
}

// sendsStale reports the certificates of stale, which have one cause and one remedy.
func (e *evidence) sendsStale() rule.Failures {
	var names []string
	for _, c := range e.stale() {
		name := subject(c)
		if !bytes.Equal(c.RawSubject, c.RawIssuer) {
			name += " by " + nameOf(pki.ParseName(c.RawIssuer))
		}
		names = append(names, fmt.Sprintf("%s (expired on %s)", name, c.NotAfter.UTC().Format(time.DateOnly)))
	}
	if len(names) == 0 {
		return nil
	}
	what := map[bool]string{true: "an expired certificate", false: "expired certificates"}[len(names) == 1]
	return rule.Fail("The server sends %s over the key of an authority of the chain: %s. Browsers take another path, "+
		"to a root that they trust; clients that follow the chain as it is sent, such as OpenSSL 1.0.2 and GnuTLS before "+
		"3.6.14, refuse the connection.", what, strings.Join(names, ", "))
}

// misnamed reports whether the chain is refused because an authority may not certify a name in it.
func (e *evidence) misnamed() bool {
	if e.tls == nil || e.tls.Trust == nil {
		return false
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](e.tls.Trust)
	return ok && invalid.Reason == x509.CANotAuthorizedForThisName
}
