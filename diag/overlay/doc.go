// Package overlay lets checks examine a zone before it is published, by laying a zone file (RFC 1035 section
// 5) over the real DNS. [Parse] reads the file, and [New] returns a resolver that answers from it:
//
//	zone, err := overlay.Parse(text, "", "db.example.com")
//	env = env.WithResolver(overlay.New(env.DNS(), zone))
//
// Every check that uses env then sees the future zone.
//
// # Which names are answered from the file
//
// A zone with an SOA record is complete. It is authoritative for all names at or below its own: other names
// do not exist (RFC 2308), wildcards match names that do not exist (RFC 4592), and only zones that it
// delegates are looked up in the real DNS.
//
// Without an SOA record, a zone is partial, such as a snippet for review. Each of its record sets replaces
// the set of that name and type in the real DNS, an alias replaces everything at its name, and a wildcard
// applies to names that the real DNS lacks. Everything else comes from the real DNS: other names, and other
// types at the names in the file. A partial zone cannot express that a record will be removed.
//
// Aliases are followed from a zone into the real DNS and back. DS records of a zone come from its parent
// zone.
//
// # What cannot be known
//
// The real name servers have another version of the zone, and are not queried for its names:
// [diag.Env.Iterator] and [diag.Env.Upstream] refuse to, and checks of the servers, such as package
// zonecheck, return [diag.ErrUndelegated]. How the zone will be signed is unknown as well: queries for keys
// and signatures return that error, and the DNSSEC status of a signed domain is indeterminate, never bogus.
//
// For a zone that is already on its new servers but not delegated to them yet, use [Delegated] instead of
// Parse: those servers are queried.
package overlay
