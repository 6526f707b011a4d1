// Package overlay judges a zone before it is published: it lays a zone file (RFC 1035 section 5) over the real DNS.
// [Parse] reads the file, and [New] makes a resolver that answers from it:
//
//	zone, err := overlay.Parse(text, "", "db.example.com")
//	env = env.WithResolver(overlay.New(env.DNS(), zone))
//
// Every check that asks env then sees what will be there.
//
// # What is answered from where
//
// A zone with an SOA record is whole. It is responsible for all names at or below its own: what it does not hold does
// not exist (RFC 2308), wildcards stand for what does not exist (RFC 4592), and only zones that it delegates are asked
// for in the world. Without an SOA record a zone is partial, as a snippet for review is. Then each set of records in it
// takes the place of the set of that name and type in the world, an alias that of everything at its name, and a
// wildcard holds where it says more than the world, which lacks the name. All else is as the world has it: names that
// the file does not hold, and types that it does not hold at its names. A partial zone cannot say that something will
// be gone.
//
// Aliases are followed from a zone into the world and back. DS records of a zone are those of its parent zone.
//
// # What cannot be known
//
// The name servers of the world have another version of the zone. They are not asked about names that a zone holds:
// [diag.Env.Iterator] and [diag.Env.Upstream] refuse, and checks that are about the servers, as domain/dns-check, end
// with [diag.ErrUndelegated]. Neither is known how the zone will be signed. Questions for keys and signatures get that
// error instead of an answer, so that a signed domain is indeterminate, and never bogus.
//
// [Delegated] is a zone that its new servers have, and to which nothing leads yet: they are asked.
package overlay
