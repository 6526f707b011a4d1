// Package netmask computes the properties of an IPv4 network from an address and a mask (RFC 950, RFC 4632):
// call [Compute].
//
// # How it works
//
// A network is a block of addresses that share their first bits; the number of those bits is the prefix
// length: 192.0.2.0/24 is the 256 addresses that begin with the 24 bits of 192.0.2. A netmask marks the
// common bits with ones: 255.255.255.0 is /24. A wildcard mask, as in access lists, is its complement:
// 0.0.0.255. The first address of a network identifies the network, the last is its broadcast address, and
// those between are for hosts. In a network of two addresses (/31) both are for hosts (RFC 3021), and a
// network of one address (/32) is that host.
//
// # How to use it
//
//	report, err := netmask.Compute(netmask.Request{IP: "192.0.2.77/26"})
//
// Compute is pure; its errors are of type *diag.InputError.
package netmask
