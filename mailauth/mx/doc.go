// Package mx examines where the mail of a domain goes (RFC 5321 section 5.1): call [Lookup] with the domain.
//
// # How mail finds its way
//
// A sender asks for the MX records of the domain after the @. Each names a host and a preference:
//
//	example.com. MX 10 mx1.example.com.
//	example.com. MX 20 mx2.example.com.
//
// It tries the hosts from the lowest preference to the highest, and chooses at random among those with the same one.
// Of each host it looks up the addresses, IPv4 and IPv6. A record therefore holds the name of a host and never an
// address, and the name should have address records of its own instead of being an alias (RFC 2181 section 10.3).
//
// Without any MX record the domain itself is the mail server, if it has an address: that is an implicit MX, and by far
// most domains with one have a web server there and no mail server. A domain that receives no mail says so with a null
// MX, "MX 0 ." (RFC 7505), upon which senders give up at once and not after days.
//
// # How to use the package
//
// [Lookup] asks for the MX records, for the addresses of all hosts at once, and for wildcards. It connects to no host:
// package smtpcheck does that.
package mx
