// Package csr examines certificate signing requests as a certificate authority does: call [Parse] with the text of one.
//
// # How signing requests work
//
// To get a certificate one creates a key pair, keeps the private key, and sends the authority a request (PKCS #10,
// RFC 2986): a subject, the public key, and attributes, one of which holds the requested extensions. The request is
// signed with the private key, which proves possession of it and protects the request from changes. As text it is
// Base64 between the lines BEGIN CERTIFICATE REQUEST and END CERTIFICATE REQUEST (RFC 7468 section 7).
//
// Browsers look only at the names in the subjectAltName extension; the common name of the subject is a relic that
// must repeat one of them. Publicly trusted authorities follow the Baseline Requirements of the CA/Browser Forum:
// they certify only names in the public DNS and public addresses, RSA keys from 2048 bits and three elliptic curves,
// and no key that is known or easy to break. From the request they take little more than the key and the names, so
// much in a request is not wrong but without effect.
//
// # How to use the package
//
// [Parse] finds the request in pasted text, however its lines were broken, and judges it. Where the text is not a file
// that authorities read, the report has a clean copy. A private key in the text is reported and never repeated. Keys
// are examined by [github.com/diagkit/diagkit/diag/pki].
package csr
