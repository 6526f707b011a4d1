// Package csr examines certificate signing requests as a certificate authority does: call [Parse] with the
// text of one.
//
// # How signing requests work
//
// To get a certificate, the owner of a server creates a key pair, keeps the private key, and sends the
// authority a request (PKCS #10, RFC 2986) with a subject, the public key, and attributes, one of which has
// the requested extensions. The request is signed with the private key, which proves possession of it and
// protects the request from changes. As text it is Base64 between the lines BEGIN CERTIFICATE REQUEST and END
// CERTIFICATE REQUEST (RFC 7468 section 7).
//
// Browsers use only the names in the subjectAltName extension; the common name of the subject is obsolete and
// must repeat one of them. Publicly trusted authorities follow the Baseline Requirements of the CA/Browser
// Forum: they certify only names in the public DNS and public addresses, RSA keys of at least 2048 bits and
// keys on three elliptic curves, and no key that is compromised or easy to break. They use little more than
// the key and the names of a request; most other parts have no effect.
//
// # How to use the package
//
// [Parse] finds the request in pasted text, even with broken lines, and judges it. If authorities would not
// accept the text as it is, the report has a clean copy. A private key in the text is reported and never
// repeated. Keys are checked by package diag/pki.
package csr
