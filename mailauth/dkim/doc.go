// Package dkim examines DKIM keys, by which a domain vouches for mail (RFC 6376): call [Lookup] with a domain and
// a selector, [Validate] with the text of a record, or [ParseKey] for the typed key alone. [Verify] verifies the
// signatures of a message.
//
// # How DKIM works
//
// The server that sends a message signs its body and some of its header fields with a private key, and says in
// the field DKIM-Signature which domain (d=) and which selector (s=) the key has. Whoever receives the message
// looks up the public key in a TXT record of that domain:
//
//	s1._domainkey.example.com. TXT "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…"
//
// The selector lets a domain have several keys, one for each sending service, and replace a key while mail that
// was signed with the old one is still under way. The tags of the record say of which type the key is (k), what
// it may be used for (h, s, t), and hold the key itself in base64 (p): an RSA key as a SubjectPublicKeyInfo, an
// Ed25519 key as its bare 32 bytes (RFC 8463). An empty p revokes the key. Verifiers refuse RSA keys of less than
// 1024 bits (RFC 8301), and ignore a record in which anything essential is wrong: the message is then as good as
// unsigned, which costs it the alignment that DMARC asks for.
//
// # How to use the package
//
// [Lookup] asks all there is to ask at once and reports what is wrong; [Validate] judges a text and touches
// nothing. [ParseKey] reads a record as far as it can be read: [Key.Err] says why verifiers do not use it, and
// the list of tags has the position of each fault.
//
// [Verify] looks up the keys of all signatures at once and returns a [Result] for each. What cryptography says of
// the body and of the header fields is told apart, and apart from what policy says (RFC 8301 and others): a
// signature may be genuine and not acceptable. Where it fails, [Result.Reason] says what happened to the message,
// as far as that can be found out by undoing the usual changes. A [Checker] does the same for those who sign in
// other fields, which is ARC.
package dkim
