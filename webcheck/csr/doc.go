// Package csr examines certificate signing requests as a certificate authority does: call [Parse] with the text of one.
//
// # How signing requests work
//
// Whoever wants a certificate makes a key pair, keeps the private key, and sends the authority a request in the form of
// PKCS #10 (RFC 2986): a subject, the public key, and attributes, of which one holds the extensions that the
// certificate is to have. All of it is signed with the private key, which shows that the requester has it, and that
// nobody has changed the request since. In text the request stands between two lines, BEGIN CERTIFICATE REQUEST and
// END CERTIFICATE REQUEST, in Base64 (RFC 7468 section 7).
//
// Names that browsers look at are those of the extension subjectAltName; the common name of the subject is a relic
// that must repeat one of them. An authority whose certificates browsers trust follows the Baseline Requirements of
// the CA/Browser Forum: it certifies names that exist in the public DNS and public addresses only, keys of RSA from
// 2048 bits on and on three elliptic curves, and no key that is known or easy to break. It takes from the request
// little more than the key and the names, and makes the rest of the certificate itself, so that much in a request is
// not wrong but without effect.
//
// # How to use the package
//
// [Parse] finds the request in a text as people paste it, however its lines were bent, and judges it. Text that holds
// a private key is told so, and nothing of it is ever repeated. The steps are there one by one as well: find looks
// for blocks in a text, [Read] takes the bytes of a request apart, judgeName judges one name. Keys are examined by
// [github.com/diagkit/diagkit/diag/pki].
package csr
