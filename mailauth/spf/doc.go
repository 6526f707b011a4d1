// Package spf examines SPF, by which a domain says which hosts may send mail in its name (RFC 7208): call
// [Lookup] with a domain, or [Validate] with the text of a record. Package eval says how SPF works, and
// decides about a message as receivers of mail do.
//
// # How to use the package
//
// [Lookup] examines a domain: all the records that its record leads to, what they cost, whom they
// authorise, and what is wrong with them, whatever address might send; given an address it also says
// what a receiver would decide. [Validate] does as much as can be done with the text of a record alone.
//
//	report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain})
//
// [Walk] fetches the whole tree of a record, with the networks for which each term stands, which is what makes
// a flattened record; [Set] holds networks and computes with them.
//
// # Limits
//
// The zones belong to strangers, so the tree is followed for at most [eval.MaxTerms] terms, maxDepth levels and
// [MaxQuestions] questions; what lies beyond is a finding. Lookups that do not depend on each other are under way at
// once: a tree of records d levels deep needs d round trips, and one or two more for the addresses of hosts.
package spf
