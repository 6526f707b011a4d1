// Package overlay judges a zone before it is published: it lays a zone file (RFC 1035 section 5) over the real DNS.
// [Parse] reads the file, and [New] makes a resolver that answers from it:
//
//	zone, err := overlay.Parse(text, "", "db.example.com")
//	env = env.WithResolver(overlay.New(env.DNS(), zone))
//
// Every check that queries env then sees the future zone.
//
// # What is answered from where
//
// A zone with an SOA record is complete. It is authoritative for all names at or below its own: names that it does
// not hold do not exist (RFC 2308), wildcards match names that do not exist (RFC 4592), and only zones that it
// delegates are looked up in the real DNS. Without an SOA record a zone is partial, such as a snippet for review.
// Then each of its record sets replaces the set of that name and type in the real DNS, an alias replaces everything
// at its name, and a wildcard applies to names that the real DNS lacks. All else comes from the real DNS: names that
// the file does not hold, and types that it does not hold at its names. A partial zone cannot express that a record
// will be removed.
//
// Aliases are followed from a zone into the real DNS and back. DS records of a zone are those of its parent zone.
//
// # What cannot be known
//
// The real name servers have another version of the zone. They are not queried for names that a zone holds:
// [diag.Env.Iterator] and [diag.Env.Upstream] refuse, and checks that are about the servers, such as
// domain/dns-check, end with [diag.ErrUndelegated]. How the zone will be signed is unknown as well. Queries for keys
// and signatures get that error instead of an answer, and a signed domain is indeterminate, never bogus.
//
// [Delegated] is a zone on its new servers that is not delegated yet: they are queried.
package overlay
