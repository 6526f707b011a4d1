// Package resolve asks the DNS (RFC 1034, RFC 1035) for records of any type, and for the host names of an IP address.
//
// # How it works
//
// The DNS is a tree of names, and each name holds records of several types: the addresses of a host (A, AAAA), the mail
// exchangers of a domain (MX), text (TXT). A resolver walks the tree on behalf of its clients and keeps what it learned
// for the time to live (TTL) of each record. A name may be an alias of another (CNAME), which is followed. If a
// resolver has nothing to give, its code tells why: NXDOMAIN says that there is no such name, NOERROR without records
// that the name has none of the type, SERVFAIL that it could not find out, and REFUSED that it does not want to. The
// first two are facts about the name, the others are not. With DNSSEC (RFC 4033) it also says whether the answer is
// proven to be what the owner of the name signed.
//
// The way back from an address to names goes through records of type PTR under in-addr.arpa and
// ip6.arpa (RFC 1035 section 3.5). Whoever holds the address may write any name there, so the name
// counts only if its own addresses lead back: forward-confirmed reverse DNS (RFC 8499 section 7).
//
// # How to use it
//
//	report, err := resolve.Lookup(ctx, env, resolve.Request{Name: name, Type: resolve.Type(dns.TypeMX)})
//	report, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.MustIP("192.0.2.1")})
//
// The resolver [Authoritative] stands for the servers that are responsible for the name, without any
// resolver between. A trace shows the walk that finds them: from the root servers, each of which knows
// who is responsible for the next label, down to those that have the answer.
//
// [NewDNSRecord] describes one record with its data taken apart, for other diagnostics too.
package resolve
