// Package revocation reads what an authority says of whether a certificate was revoked: a revocation list (RFC 5280
// section 5) with [CRL], an OCSP response (RFC 6960) with [OCSP]. It fetches nothing.
//
// # How an authority takes a certificate back
//
// A certificate stays valid until its last day unless its authority revokes it, because its key was stolen or its
// holder wants another. The authority publishes that in one or both of two ways. A certificate revocation list (CRL)
// holds the serial numbers of all that are revoked, at the URL that stands in the certificate as a distribution point.
// An OCSP responder, at the URL in its authority information access, answers for one certificate at a time; a server
// may staple that answer to its handshakes. Both are signed by the authority, or by somebody to whom it delegated
// that, and are valid for some days.
//
// What must not be relied on says nothing: a list of another authority or another part of its certificates, one with
// a critical extension that is unknown here, one that is not signed by the authority, or one that is outdated. Such an
// answer is [Unusable], and [Answer].Err says why. That a certificate stands in an outdated list still counts: only a
// hold is ever lifted.
//
//	answer := revocation.CRL(body, leaf, issuer, env.Now())
//	if answer.Status == revocation.Revoked {
//		…
//	}
package revocation
