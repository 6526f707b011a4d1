// Package mx examines where the mail of a domain goes (RFC 5321 section 5.1): call [Lookup] with the domain.
//
// # How mail is routed
//
// A sender looks up the MX records of the domain after the @. Each names a host and a preference:
//
//	example.com. MX 10 mx1.example.com.
//	example.com. MX 20 mx2.example.com.
//
// It tries the hosts from the lowest preference value up, in random order among equals, at each of their IPv4 and
// IPv6 addresses. A record holds a host name and never an address, and the name should have address records instead
// of being an alias (RFC 2181 section 10.3).
//
// Without any MX record the domain itself is the mail server, if it has an address: an implicit MX. Most such
// domains have a web server there and no mail server. A domain that receives no mail publishes a null MX, "MX 0 ."
// (RFC 7505), so senders give up at once instead of after days.
//
// # How to use the package
//
// [Lookup] looks up the MX records, the addresses of all hosts, and wildcards. It connects to no host; package
// smtpcheck does.
package mx
