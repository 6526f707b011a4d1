// Package revocation reads the revocation status of a certificate: from a revocation list (RFC 5280 section 5) with
// [CRL], from an OCSP response (RFC 6960) with [OCSP]. It fetches nothing.
//
// # How an authority revokes a certificate
//
// A certificate stays valid until its last day unless its authority revokes it, because its key was stolen or its
// holder wants another. The authority publishes that in one or both of two ways. A certificate revocation list (CRL)
// holds the serial numbers of all that are revoked, at the URL of a distribution point in the certificate. An OCSP
// responder, at the URL in its authority information access, answers for one certificate at a time; a server may
// staple that answer to its handshakes. Both are signed by the authority or its delegate, and are valid for some
// days.
//
// Unreliable answers do not count: a list of another authority or another part of its certificates, one with a
// critical extension that is unknown here, one that is not signed by the authority, or one that is outdated. Such an
// answer is [Unusable], and [Answer].Err says why. An entry in an outdated list still counts: only a hold is ever
// lifted.
//
//	answer := revocation.CRL(body, leaf, issuer, env.Now())
//	if answer.Status == revocation.Revoked {
//		…
//	}
package revocation
