// Package bimi examines BIMI records, which publish the logo to show next to a domain's mail
// (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Lookup] with a domain, or
// [Validate] with the text of a record.
//
// # How BIMI works
//
// A domain publishes the URL of its logo and, optionally, of a certificate that proves whose logo it is:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// A receiver that supports BIMI looks up the record when a message passes DMARC and the DMARC policy of the domain
// and of its organizational domain is enforced: quarantine or reject, for all mail and for subdomains, too. The logo
// is an SVG Tiny PS image. A mark certificate (VMC or CMC) contains the same logo and names the domain; Gmail and
// Apple Mail show no logo without one.
//
// A domain without a record inherits that of its organizational domain; an empty record declines. See package
// [record] for records, svg for logos and markcert for certificates.
//
// The report says whether a receiver can show the logo. Whether one does depends on the message and on the sender's
// reputation, which cannot be looked up.
package bimi
