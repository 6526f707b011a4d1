// Package record finds and reads BIMI assertion records, which say where a domain has its logo and the certificate that
// vouches for it (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Discover] with a
// domain and a selector, or [Parse] with the text of a record.
//
// # How the record works
//
// A domain publishes a TXT record at <selector>._bimi.<domain>:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// The tag l is the address of the logo, a that of the certificate; both by https only. A record with an empty l and an
// empty a declines: no logo is to be shown. The tag avp says whether a mailbox shows the logo or the avatar of the
// person (brand or personal), and lps lets receivers look for another record, whose selector they make of the local part
// of the sender's address.
//
// The selector is "default" unless a message names another one in its field BIMI-Selector. Receivers look at the domain
// of the From field, and where it has no record at its organizational domain, with the same selector. They never look at
// the names between the two, and never from a selector of their own back to "default". Of several records at a name they
// use none.
//
// # How to use the package
//
// [Discover] asks for all names that may matter at once. [Discovery.Applies] tells the record that receivers use, given
// the organizational domain, of which there are two ideas (see [policy.View]); [Discovery.Record] tells the same for the
// list of public suffixes. A record is read as far as it can be read: [Record.Errors] says whether receivers can use it.
package record
