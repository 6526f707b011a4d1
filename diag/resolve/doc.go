// Package resolve queries the DNS (RFC 1034, RFC 1035): call [Lookup] for records of any type, or [Reverse]
// for the host names of an IP address.
//
// # How it works
//
// The DNS is a tree of names, each with records of several types: host addresses (A, AAAA), mail exchangers
// (MX), text (TXT). A resolver walks the tree for its clients and caches what it learns for the time to live
// (TTL) of each record. A name may be an alias of another (CNAME), which is followed. If there are no
// records, the response code tells why: NXDOMAIN means that the name does not exist; NOERROR, that it has no
// records of the type; SERVFAIL, that the resolver could not find out; REFUSED, that it refuses to. The first
// two are facts about the name, the others are not. With DNSSEC (RFC 4033), the resolver also reports whether
// it validated the answer.
//
// Reverse lookups use PTR records under in-addr.arpa and ip6.arpa (RFC 1035 section 3.5). The holder of an
// address may publish any name there, so a name is trustworthy only if its own addresses include that
// address: forward-confirmed reverse DNS (RFC 9499 section 7).
//
// # How to use it
//
//	report, err := resolve.Lookup(ctx, env, resolve.Request{Name: name, Type: resolve.Type(dns.TypeMX)})
//	report, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.MustIP("192.0.2.1")})
//
// With the resolver [Authoritative], Lookup queries the authoritative servers of the name itself. With Trace,
// the report shows the delegations from the root servers down to those servers.
//
// [NewDNSRecord] describes a record with its data as separate fields, for use in other reports.
package resolve
