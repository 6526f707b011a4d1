// Package bimi examines BIMI, by which a domain has its logo shown beside its mail
// (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Lookup] with a domain, or [Validate]
// with the text of a record.
//
// # How BIMI works
//
// A domain publishes where its logo is, and perhaps a certificate that says whose logo it is:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// A receiver that supports BIMI looks for the record when a message passes DMARC, and only if the DMARC policy of the
// domain and of its organizational domain is strong: quarantine or reject, for all mail and for subdomains, too. The logo
// is an SVG image of the profile Tiny PS. A mark certificate (VMC or CMC) holds the same logo and names the domain; Gmail
// and Apple Mail show no logo without one.
//
// A domain inherits the record of its organizational domain unless it has one of its own, which may be empty to decline.
// Package [record] says more about records, package svg about logos and package markcert about certificates.
//
// What is found says that a receiver can show the logo. Whether it does depends on the message and on the reputation of
// the sender, which nobody can look up.
package bimi
