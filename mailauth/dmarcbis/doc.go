// Package dmarcbis tells how DMARC changes with RFC 9989, which obsoletes RFC 7489: call [Check] with a domain, or
// [Migrate] with a record.
//
// # What is new
//
// Receivers must know which domains belong to one organization: the record of example.com covers
// news.example.com, and a signature of one may stand for the other. RFC 7489 left that to a list of public suffixes,
// of which everybody had another copy. Receivers of RFC 9989 walk up the tree of the DNS instead:
//
//	_dmarc.news.example.com   no record
//	_dmarc.example.com        v=DMARC1; p=reject
//	_dmarc.com                no record
//
// The organizational domain is that with the fewest labels of those that have a record, here example.com. A record
// with psd=n ends the walk, for its domain is the organizational domain; one with psd=y ends it as well, for
// its domain is a public suffix, and the organizational domain is the one below it. A walk asks for eight
// names at most: from a domain of more than eight labels it goes on with the last seven.
//
// Of the tags, np is new, the policy for subdomains that do not exist, and t, by which a policy is only tested.
// There is no pct any more, since few receivers sampled mail exactly; pct=0 had become a sign for testing, and that is
// what t=y says. rf, ri and the size limits of addresses are gone, too.
//
// Receivers of both standards will be in use for years. What they make of one record can differ: one that is
// tested by t=y is applied in full by receivers that do not know t, and one that is held back by pct=10 is applied
// in full by those that do not know pct.
//
// # How to use the package
//
// [Check] takes the walk of a receiver, shows each step, and says where old and new receivers part. [Migrate] rewrites
// a record, explains what becomes of each tag, and compares the treatment of each kind of mail before and after.
package dmarcbis
