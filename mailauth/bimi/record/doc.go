// Package record finds and parses BIMI assertion records, which hold the URLs of a domain's logo and of its
// certificate (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Discover] with a
// domain and a selector, or [Parse] with the text of a record.
//
// # How the record works
//
// A domain publishes a TXT record at <selector>._bimi.<domain>:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// The tag l is the URL of the logo, a that of the certificate, both https. A record with empty l and a declines: no
// logo is shown. The tag avp says whether a mailbox shows the logo or the sender's avatar (brand or personal), and
// lps lets receivers look up another record, whose selector they derive from the local part of the sender's address.
//
// The selector is "default" unless the message names another in its BIMI-Selector field. Receivers query the domain
// of the From field and, if it has no record, its organizational domain, with the same selector. They never query
// names between the two, and never fall back from another selector to "default". They use none of several records at
// one name.
//
// # How to use the package
//
// [Discover] queries all names that may matter concurrently. [Discovery.Applies] returns the record that receivers
// use, given the organizational domain, which they determine in two ways (see [policy.View]); [Discovery.Record]
// returns the one by the public suffix list. A record is parsed as far as possible: [Record.Errors] says whether
// receivers can use it.
package record
