// Package spf examines SPF records, which say which hosts may send mail for a domain (RFC 7208): call [Lookup] with
// a domain, or [Validate] with the text of a record. Package eval explains SPF and evaluates messages as receivers
// do.
//
// # How to use the package
//
// [Lookup] examines a domain: all records that its record leads to, their cost, the hosts that they authorize, and
// their faults; given an address it also returns the decision of a receiver. [Validate] does as much as the text of a
// record allows.
//
//	report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: diag.MustDomain("example.com")})
//
// [Walk] fetches the whole tree of a record, with the networks of each term, as flattening needs it; [Set] computes
// with networks.
//
// # Limits
//
// The zones are untrusted, so the tree is followed for at most [eval.MaxTerms] terms, 20 levels and [MaxQuestions]
// queries; a larger tree is a finding. Independent lookups run concurrently: a tree d levels deep takes d round
// trips, plus one or two for host addresses.
package spf
