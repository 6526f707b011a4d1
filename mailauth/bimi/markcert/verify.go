package markcert

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// A Trust is what became of following a chain to a root.
type Trust struct {
	Trusted    bool // it leads to a root of the list, and every certificate is valid now
	Recognized bool // it leads there at a time at which all were or will be valid

	Reason pki.Reason          // why it is not trusted
	Text   string              // the same as a clause
	Chain  []*x509.Certificate // from the leaf to the root, if recognized; without the root if that is all there is
	Root   *x509.Certificate   // nil if not recognized
}

// Verify follows the issuers of a certificate to one of the roots (RFC 5280 section 6.1). The others are certificates
// that may lie between, in any order.
func Verify(leaf *x509.Certificate, others []*x509.Certificate, roots *RootSet, now time.Time) Trust {
	chain := slices.Concat([]*x509.Certificate{handled(leaf)}, others)
	v := pki.Verifier{Roots: roots.pool, Now: now, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	err := v.Trust(chain)
	t := Trust{Trusted: err == nil}
	if e, ok := errors.AsType[*pki.TrustError](err); ok {
		t.Reason, t.Text = explain(e, leaf, others)
	}
	if slices.ContainsFunc(chain, unverifiable) {
		return t
	}
	t.Chain = follow(chain, roots, times(now, chain))
	if t.Recognized = len(t.Chain) > 0; t.Recognized {
		t.Root, t.Chain[0] = t.Chain[len(t.Chain)-1], leaf
	} else if !t.Trusted && (t.Reason == pki.Expired || t.Reason == pki.NotYetValid) {
		// A chain that leads nowhere is not made better by waiting for it.
		t.Reason, t.Text = pki.BadChain, "the validity of its certificates does not overlap"
	}
	return t
}

// handled returns a copy of a certificate without the extensions among its unhandled critical ones that this package
// handles, which crypto/x509 does not know.
func handled(c *x509.Certificate) *x509.Certificate {
	known := *c
	known.UnhandledCriticalExtensions = slices.DeleteFunc(slices.Clone(c.UnhandledCriticalExtensions),
		func(oid objectIdentifier) bool { return oid.Equal(oidPilot) || oid.Equal(oidLogotype) })
	return &known
}

// times are moments at which a chain may be valid: now, and where a validity begins or ends.
func times(now time.Time, chain []*x509.Certificate) []time.Time {
	list := []time.Time{now}
	for _, c := range chain[:min(len(chain), pki.MaxChain)] {
		list = append(list, c.NotAfter, c.NotBefore)
	}
	return list
}

// maxRSABits bounds the keys with which signatures are checked, for the work grows with their square and strangers choose
// them. It is the bound of [pki.Verifier].
const maxRSABits = 16384

// unverifiable reports whether signatures of the key of a certificate take too long to be checked.
func unverifiable(c *x509.Certificate) bool {
	key, ok := c.PublicKey.(*rsa.PublicKey)
	return ok && key.N.BitLen() > maxRSABits
}

// follow finds a chain to a root at one of the times.
func follow(chain []*x509.Certificate, roots *RootSet, at []time.Time) []*x509.Certificate {
	between := x509.NewCertPool()
	for _, c := range chain[1:min(len(chain), pki.MaxChain)] {
		between.AddCert(c)
	}
	for _, moment := range at {
		found, err := chain[0].Verify(x509.VerifyOptions{
			Roots: roots.pool, Intermediates: between, CurrentTime: moment,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		if err == nil {
			return found[0]
		}
	}
	return nil
}

// explain says why a chain is not trusted, in the words of mark certificates. Where not even the issuer of the certificate
// is there, nobody can tell where the chain leads; a root may be left out.
func explain(e *pki.TrustError, leaf *x509.Certificate, others []*x509.Certificate) (pki.Reason, string) {
	top := topOf(leaf, others)
	switch {
	case e.Reason == pki.SelfSignedLeaf:
		return e.Reason, "the certificate is signed with its own key, not by an authority"
	case e.Reason != pki.Incomplete && e.Reason != pki.UnknownAuthority:
		return e.Reason, e.Text
	case top == leaf:
		return pki.Incomplete, fmt.Sprintf("the certificate of its issuer %s is missing from the text", issuer(leaf))
	default:
		return pki.UnknownAuthority, fmt.Sprintf("its chain leads to %s, which is no authority for mark certificates", issuer(top))
	}
}

// name shows the subject of a certificate in a sentence.
func name(c *x509.Certificate) string { return label(pki.ParseName(c.RawSubject)) }

func issuer(c *x509.Certificate) string { return label(pki.ParseName(c.RawIssuer)) }

func label(n pki.Name) string {
	switch {
	case n.CommonName != "":
		return "“" + diag.Quote(n.CommonName) + "”"
	case len(n.Organization) > 0:
		return "“" + diag.Quote(n.Organization[0]) + "”"
	default:
		return "“" + diag.Quote(n.Raw) + "”"
	}
}

// topOf follows the names of the issuers from a certificate as far as the others have them.
func topOf(leaf *x509.Certificate, others []*x509.Certificate) *x509.Certificate {
	top := leaf
	for range others {
		i := slices.IndexFunc(others, func(o *x509.Certificate) bool { return o != top && string(o.RawSubject) == string(top.RawIssuer) })
		if i < 0 || string(top.RawIssuer) == string(top.RawSubject) {
			break
		}
		top = others[i]
	}
	return top
}
