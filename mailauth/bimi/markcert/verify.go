package markcert

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// A trust is the result of following a chain to a root.
type trust struct {
	Trusted    bool // it leads to a root of the list, and every certificate is valid now
	Recognized bool // it leads there at a time at which all were or will be valid

	Reason pki.Reason          // why it is not trusted
	Text   string              // the same as a clause
	Chain  []*x509.Certificate // from the leaf to the root, if recognized; without the root if that is all there is
	Root   *x509.Certificate   // nil if not recognized
}

// verify follows the issuers of a certificate to one of the roots (RFC 5280 section 6.1). The others are certificates
// that may lie between, in any order.
func verify(leaf *x509.Certificate, others []*x509.Certificate, roots *RootSet, now time.Time) trust {
	chain := slices.Concat([]*x509.Certificate{handled(leaf)}, others)
	v := pki.Verifier{Roots: roots.pool, Now: now, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	err := v.Trust(chain)
	t := trust{Trusted: err == nil}
	if e, ok := errors.AsType[*pki.TrustError](err); ok {
		t.Reason, t.Text = explain(e, leaf, others)
	}
	if slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return !pki.Checkable(c) }) {
		return t
	}
	t.Chain = follow(chain, roots, now)
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

// follow finds a chain to a root, all of whose certificates are valid at some time: now, if there is such a one. The
// signatures are checked once, whatever the dates are, for strangers choose how long that takes.
func follow(chain []*x509.Certificate, roots *RootSet, now time.Time) []*x509.Certificate {
	chain = chain[:min(len(chain), pki.MaxChain)]
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(timeless(c))
	}
	found, err := timeless(chain[0]).Verify(x509.VerifyOptions{
		Roots: roots.timeless, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil
	}
	var other []*x509.Certificate
	for _, path := range found {
		path = dated(path, slices.Concat(chain, roots.Certificates))
		switch from, until := validity(path); {
		case !now.Before(from) && !now.After(until):
			return path
		case !from.After(until) && other == nil:
			other = path
		}
	}
	return other
}

// timeless returns a copy of a certificate that is always valid. Its signature is over bytes that stay as they are.
func timeless(c *x509.Certificate) *x509.Certificate {
	always := *c
	always.NotBefore, always.NotAfter = time.Time{}, time.Unix(1<<40, 0)
	return &always
}

// dated returns the certificates of which those of a path are copies.
func dated(path, originals []*x509.Certificate) []*x509.Certificate {
	list := make([]*x509.Certificate, len(path))
	for i, c := range path {
		list[i] = originals[slices.IndexFunc(originals, c.Equal)]
	}
	return list
}

// validity returns from when and until when all certificates of a path are valid.
func validity(path []*x509.Certificate) (from, until time.Time) {
	from, until = path[0].NotBefore, path[0].NotAfter
	for _, c := range path {
		if c.NotBefore.After(from) {
			from = c.NotBefore
		}
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	return from, until
}

// explain says why a chain is not trusted, in the words of mark certificates. Where not even the issuer of the
// certificate is there, nobody can tell where the chain leads; a root may be left out.
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
		return pki.UnknownAuthority, fmt.Sprintf("its chain leads to %s, which is no authority for mark certificates",
			issuer(top))
	}
}

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
		i := slices.IndexFunc(others, func(o *x509.Certificate) bool {
			return o != top && string(o.RawSubject) == string(top.RawIssuer)
		})
		if i < 0 || string(top.RawIssuer) == string(top.RawSubject) {
			break
		}
		top = others[i]
	}
	return top
}
