// Package revocation reads the revocation status of a certificate: call [CRL] with a certificate revocation
// list (RFC 5280 section 5), or [OCSP] with an OCSP response (RFC 6960). It fetches nothing.
//
// # How an authority revokes a certificate
//
// A certificate is valid until it expires unless its authority revokes it, for example because its key was
// stolen. The authority publishes that in one or both of two ways. A certificate revocation list (CRL), at a
// URL in the certificate's distribution points, has the serial numbers of all revoked certificates. An OCSP
// responder, at a URL in the certificate's authority information access, answers for one certificate at a
// time; a server may staple that answer to its handshakes. Both are signed by the authority or its delegate,
// and are valid for some days.
//
// An answer that cannot be relied on is [Unusable], and Err of the [Answer] says why: the list is of another
// authority or covers other certificates, has an unknown critical extension, is not signed by the authority,
// or is outdated. An entry in an outdated list still counts, because no revocation but a hold is ever lifted.
//
//	answer := revocation.CRL(body, leaf, issuer, env.Now())
//	if answer.Status == revocation.Revoked {
//		…
//	}
package revocation
