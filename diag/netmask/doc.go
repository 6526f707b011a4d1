// Package netmask computes what follows from an IPv4 address and a network mask (RFC 950, RFC 4632).
//
// # How it works
//
// A network is a block of addresses that have their first bits in common. How many is the length of its prefix:
// 192.0.2.0/24 are the 256 addresses that begin with the 24 bits of 192.0.2. A mask says the same with an address: its
// ones stand for the common bits, so that 255.255.255.0 is /24. A wildcard mask, as used in access lists, is the mask
// turned round: 0.0.0.255. The first address of a network names the network, the last one reaches all of its hosts, and
// the others are for hosts. Networks of two addresses (/31) have no room for these two and use both for hosts (RFC
// 3021), and a network of one address (/32) is that host.
//
// # How to use it
//
//	report, err := netmask.Compute(netmask.Request{IP: "192.0.2.77/26"})
//
// The function is pure. An error is a *diag.InputError.
package netmask
