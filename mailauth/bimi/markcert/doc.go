// Package markcert examines mark certificates, by which an authority vouches that a domain may show a logo beside its
// mail: call [Parse] with the text of a certificate, or [Lookup] with a URL or a domain.
//
// # How mark certificates work
//
// A BIMI record names a logo and, in its tag a, the URL of a certificate. Anybody can publish somebody else's logo, so
// that Gmail, Apple and others show one only if a certificate contains it: a verified mark certificate (VMC) for a
// registered trademark or the mark of a government, a common mark certificate (CMC) for a logo that has been in use for
// a year or departs from the registered form. The authority has checked who the applicant is, that the domain is theirs
// and that the mark is.
//
// The certificate is one of X.509 (RFC 5280) with three peculiarities: the purpose
// id-kp-BrandIndicatorforMessageIdentification, attributes of the subject that say which mark it is, and the logo
// itself, as a data URI in the logotype extension (RFC 9399). The URL serves a text of PEM blocks (RFC 7468), the
// certificate first and then those of its issuers. Receivers follow the signatures to a root that they trust for this
// purpose only; the roots of web browsers do not count. Then they compare the domain of the record with the names of
// the certificate, look for the proof that the certificate was logged publicly (RFC 6962), and compare the logo
// with the one that is published.
//
// The rules are those of draft-fetch-validation-vmc-wchuang ("the draft") for receivers, and of the Minimum Security
// Requirements for Issuance of Mark Certificates ("MCR"), which the AuthIndicators Working Group publishes, for
// authorities.
//
// # How to use the package
//
// [Parse] judges a text, [Lookup] fetches one and judges it. The steps are there one by one as well: [Fetch],
// readPEM, [Read] for one certificate, roots and verify for the chain, and coverage for its names.
package markcert
