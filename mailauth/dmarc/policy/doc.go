// Package policy finds and reads DMARC policy records, and applies them to messages (RFC 9989): call [Discover] with
// a domain, [Evaluate] with the authentication results of a message, or [Parse] with the text of a record.
//
// # How DMARC works
//
// A TXT record at _dmarc.<domain> says what receivers should do with mail that has the domain in its From field and
// that neither SPF nor DKIM authenticates for it:
//
//	_dmarc.example.com. TXT "v=DMARC1; p=quarantine; sp=reject; rua=mailto:dmarc@example.com"
//
// The tag p is the policy of the domain itself, sp that of its subdomains, np that of subdomains that do not
// exist; rua asks for a daily report on all mail. A record also covers the domains below it that have none.
//
// Two standards are in use. RFC 7489 (2015) finds the covering domain with a public suffix list, has pct, which
// applies the policy to a share of the mail, and requires p right after the version. RFC 9989 (2026) walks up the
// DNS tree instead; it adds np, psd and t, drops pct, rf and ri, and treats a missing p as p=none. In both, an error
// in one tag usually costs only that tag; an error in p or sp costs the policy, and without a report address the
// whole record.
//
// # How to use the package
//
// [Parse] parses every tag as far as possible, with all faults. [Record.Reading] is the interpretation of it under
// either standard. A [Draft] writes records.
//
// [Discover] finds the record that applies to a domain and its organizational domain, by tree walk and by suffix
// list, in one round trip. Its [Walk] lists the queries of a receiver that goes step by step, and what each found;
// an unanswered step is never treated as one without a record. [Evaluate] does the same for the domains that SPF and
// DKIM authenticated, and says whether the message passes and, if not, what the policy requests.
package policy
