// Package policy finds and reads DMARC policy records, and applies them to messages (RFC 9989): call [Discover] with
// a domain, [Evaluate] with what is known of a message, or [Parse] with the text of a record.
//
// # How DMARC works
//
// A domain says in a TXT record at _dmarc.<domain> what receivers should do with mail that carries the domain
// in its From field, and that neither SPF nor DKIM authenticates for it:
//
//	_dmarc.example.com. TXT "v=DMARC1; p=quarantine; sp=reject; rua=mailto:dmarc@example.com"
//
// The tag p is the policy of the domain itself, sp that of its subdomains, np that of subdomains that do not
// exist; rua asks for a daily report on all mail. A record also covers the domains below it that have none.
//
// There are two standards, and receivers of both. RFC 7489 (2015) finds the domain whose record covers another
// by a list of public suffixes; it has pct, by which the policy holds for a part of the mail, and demands that p
// follows the version. RFC 9989 (2026) walks up the tree of the DNS instead; it adds np, psd and t, drops pct, rf
// and ri, and does with an absent p as with p=none. In both, a mistake in one tag mostly costs that tag; a
// mistake in p or sp costs the policy, and without a report address the record.
//
// # How to use the package
//
// [Parse] reads every tag as far as it can be read, with all faults. What receivers make of the record is
// another matter: [Record.Reading] tells it for either standard. A [Draft] writes records.
//
// [Discover] finds the record that applies to a domain and its organizational domain, by tree walk and by list, in one
// round trip. Its [Walk] has exactly the queries of a receiver that goes step by step, and what each found; a step at
// which the servers did not say is never taken for one without a record. [Evaluate] does the same for the domains that
// SPF and DKIM authenticated, and says whether the message passes and what is asked of receivers if it does not.
package policy
