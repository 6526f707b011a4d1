// Package dmarc examines DMARC records, which request how receivers treat mail that forges a domain's From address
// (RFC 9989): call [Lookup] with a domain, or [Validate] with the text of a record.
//
// # How DMARC works
//
// SPF and DKIM authenticate domains that readers never see. DMARC ties them to the one they do see: mail passes if
// one of the two authenticates a domain aligned with that of the From field. A TXT record requests a treatment for
// mail that fails:
//
//	_dmarc.example.com. TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"
//
// Receivers send daily reports to rua, from which the owner learns who sends mail in the domain's name. A domain
// therefore starts with p=none, which only requests reports, sets up SPF and DKIM for all of its services, and moves
// on to p=quarantine and p=reject. Subdomains follow the record of their organizational domain, with policies of their
// own in sp and np, unless they have a record themselves.
//
// Reports to an address of another domain need that domain's consent: a TXT record at
// <domain>._report._dmarc.<destination> (RFC 9990 section 4).
//
// # How to use the package
//
// [Lookup] finds the record that applies, judges it, and checks the report destinations, in two round trips.
// [Validate] judges a text and is pure. An [Analysis] holds for receivers that follow RFC 9989; findings and
// [LookupReport] state where receivers that follow RFC 7489 differ. Package [policy] finds and parses records and has
// no findings.
package dmarc
