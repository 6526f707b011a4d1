// Package markcert examines mark certificates, by which a certificate authority confirms that a domain may show a logo
// next to its mail: call [Parse] with the text of a certificate, or [Lookup] with a URL or a domain.
//
// # How mark certificates work
//
// A BIMI record names a logo and, in its tag a, the URL of a certificate. Anyone can publish another company's logo,
// so Gmail, Apple and others show one only if a certificate contains it: a verified mark certificate (VMC) for a
// registered trademark or a government mark, or a common mark certificate (CMC) for a logo that has been in use for a
// year or departs from the registered form. The authority has verified who the applicant is and that the domain and
// the mark are theirs.
//
// The certificate is an X.509 certificate (RFC 5280) with three additions: the key purpose
// id-kp-BrandIndicatorforMessageIdentification, subject attributes that identify the mark, and the logo itself, as a
// data URI in the logotype extension (RFC 9399). The URL serves PEM blocks (RFC 7468), the certificate first, then
// those of its issuers. Receivers follow the signatures to a root that they trust for this purpose; the roots of web
// browsers do not count. They then compare the domain of the record with the names in the certificate, check the
// proof that the certificate was logged publicly (RFC 6962), and compare the logo with the published one.
//
// The rules are those of draft-fetch-validation-vmc-wchuang ("the draft") for receivers, and of the Minimum Security
// Requirements for Issuance of Mark Certificates ("MCR"), which the AuthIndicators Working Group publishes, for
// authorities.
//
// # How to use the package
//
// [Parse] judges a text; [Lookup] fetches one and judges it. [Check] does so for callers that have read the record.
package markcert
