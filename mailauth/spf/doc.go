// Package spf examines SPF, by which a domain says which hosts may send mail in its name (RFC 7208): call
// [Lookup] with a domain, [Validate] with the text of a record, or [Check] with a message, as receivers do.
//
// # How SPF works
//
// A domain publishes one TXT record. It begins with v=spf1 and is a list of terms, which a receiver
// of mail reads from left to right with the address of the sending host in hand:
//
//	example.com. TXT "v=spf1 ip4:192.0.2.0/24 mx include:_spf.example.net -all"
//
// A mechanism names hosts: by address (ip4, ip6), by what the DNS says of a name (a, mx, ptr, exists), by the record of
// another domain (include), or all of them. The first that matches decides, by the sign before it: + or none is pass, -
// fail, ~ softfail, ? neutral. A modifier such as redirect=, which hands over to another record when nothing matched,
// or exp=, which explains a fail, has no sign. Names may hold macros, such as %{i} for the address of the sender.
//
// Receivers bound their work. Terms that need the DNS are counted over the whole tree of records, and
// the eleventh ends the evaluation in permerror, as does one error in the syntax anywhere, or a record
// that is included and does not exist: then nothing of the record protects the domain, or the mail of
// the domain is refused. A server that does not answer is a temperror, and the mail is tried again.
//
// # How to use the package
//
// [Lookup] examines a domain: all the records that its record leads to, what they cost, whom they
// authorise, and what is wrong with them, whatever address might send; given an address it also says
// what a receiver would decide. [Validate] does as much as can be done with the text of a record alone.
//
//	report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain})
//
// The parts can be used by themselves. [Parse] reads a record and reports every error in it with its
// position; [Record.String] prints it. [Check] is the function check_host of RFC 7208 section 4, as a
// receiver of mail calls it. [Walk] fetches the whole tree of a record, with the networks for which
// each term stands, which is what makes a flattened record; [Set] holds networks and computes with them.
//
// # Limits
//
// The zones belong to strangers, so the tree is followed for at most [MaxTerms] terms, maxDepth levels and
// [MaxQuestions] questions; what lies beyond is a finding. Lookups that do not depend on each other are under way at
// once: a tree of records d levels deep needs d round trips, and one or two more for the addresses of hosts.
package spf
