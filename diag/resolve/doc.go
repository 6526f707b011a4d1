// Package resolve queries the DNS (RFC 1034, RFC 1035): call [Lookup] for records of any type, or [Reverse] for the
// host names of an IP address.
//
// # How it works
//
// The DNS is a tree of names, each with records of several types: host addresses (A, AAAA), mail exchangers (MX),
// text (TXT). A resolver walks the tree for its clients and caches what it learns for the time to live (TTL) of each
// record. A name may be an alias of another (CNAME), which is followed. Without records, the response code says why:
// NXDOMAIN, the name does not exist; NOERROR, it has no records of the type; SERVFAIL, the resolver could not find
// out; REFUSED, it does not want to. The first two are facts about the name, the others are not. With DNSSEC (RFC
// 4033) the resolver also says whether the answer is validated.
//
// Reverse lookups use PTR records under in-addr.arpa and ip6.arpa (RFC 1035 section 3.5). The holder of an address
// may publish any name there, so a name counts only if its own addresses include that address: forward-confirmed
// reverse DNS (RFC 9499 section 7).
//
// # How to use it
//
//	report, err := resolve.Lookup(ctx, env, resolve.Request{Name: name, Type: resolve.Type(dns.TypeMX)})
//	report, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.MustIP("192.0.2.1")})
//
// The resolver [Authoritative] queries the authoritative servers of the name, without a resolver in between. A trace
// shows the delegations on the way: from the root servers down to those that have the answer.
//
// [NewDNSRecord] describes one record with its data taken apart, for other diagnostics too.
package resolve
