// Package dmarc examines DMARC policy records, by which a domain says what receivers should do with mail that forges
// its From field (RFC 9989): call [Lookup] with a domain, or [Validate] with the text of a record.
//
// # How DMARC works
//
// SPF and DKIM authenticate domains that a reader never sees. DMARC ties them to the one that he does: mail passes if
// one of the two authenticates a domain that is aligned with that of the From field. What shall happen to mail that
// does not pass is said in a TXT record:
//
//	_dmarc.example.com. TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"
//
// Receivers send reports to rua every day, from which the owner learns who sends mail in the domain's name. So a
// domain begins with p=none, which changes nothing but asks for reports, sets up SPF and DKIM for all of its
// services, and goes on to p=quarantine and p=reject. Subdomains follow the record of their organizational domain,
// with policies of their own in sp and np, unless they have a record themselves.
//
// Who asks for reports at an address of another domain needs that domain's consent: a TXT record at
// <domain>._report._dmarc.<destination> (RFC 9990 section 4).
//
// # How to use the package
//
// [Lookup] finds the record that applies, judges it, and checks the destinations of its reports, in two round trips.
// [Validate] judges a text and touches nothing. What an [Analysis] says of a record holds for receivers that follow
// RFC 9989; where those that follow RFC 7489 do otherwise, a finding tells, and [LookupReport] has both views. The
// package [policy] reads records and finds them, and knows no findings.
package dmarc
