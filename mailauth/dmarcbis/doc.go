// Package dmarcbis reports how RFC 9989, which obsoletes RFC 7489, changes DMARC for a domain: call [Check] with a
// domain, or [Migrate] with a record.
//
// # What is new
//
// Receivers must know which domains belong to one organization: the record of example.com covers news.example.com,
// and a signature of one may align with the other. RFC 7489 left that to a public suffix list, of which every receiver
// had a different copy. Receivers of RFC 9989 walk up the DNS tree instead:
//
//	_dmarc.news.example.com   no record
//	_dmarc.example.com        v=DMARC1; p=reject
//	_dmarc.com                no record
//
// The organizational domain is the one with the fewest labels among those with a record, here example.com. A record
// with psd=n ends the walk: its domain is the organizational domain. So does one with psd=y: its domain is a public
// suffix, and the organizational domain is the one below it. A walk queries at most eight names: from a domain of
// more than eight labels it continues with the last seven.
//
// New tags are np, the policy for subdomains that do not exist, and t, which marks the policy as a test. pct is
// gone, since few receivers sampled mail exactly; t=y replaces pct=0, which had come to mean testing. rf, ri and the
// size limits of report addresses are gone, too.
//
// Receivers of both standards will coexist for years and can treat one record differently: those that do not know t
// apply a policy with t=y in full, and those that do not know pct apply one with pct=10 in full.
//
// # How to use the package
//
// [Check] does the walk of a receiver, shows each step, and reports where old and new receivers differ. [Migrate]
// rewrites a record, explains the change of each tag, and compares the treatment of each kind of mail before and
// after.
package dmarcbis
