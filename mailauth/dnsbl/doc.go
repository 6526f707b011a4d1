// Package dnsbl asks the DNS-based blocklists and allow lists about an address that sends mail (RFC 5782): call
// [Check] with the address.
//
// # How the lists work
//
// A list is a zone of the DNS. Whether it has 192.0.2.25 is asked by looking up the address record of
//
//	25.2.0.192.zen.spamhaus.org.
//
// or, of an IPv6 address, its 32 nibbles in reverse order before the zone. NXDOMAIN means that the list does not
// have the address. An address in 127.0.0.0/8 means that it does, and says by its octets why: 127.0.0.2 usually
// stands for a source of spam, 127.0.0.10 for an address of customers, who send through their provider. A TXT
// record of the same name gives the reason in words. Receivers ask while a client connects, and reject its mail or
// count the answer together with others.
//
// # What an answer is worth
//
// Most tools report listings that are none. A list that does not want to answer, because the resolver is shared or asks
// too often, says so by 127.255.255.254 or another address in 127.0.0.0/8. A list that was given up often lists every
// address, for its domain now has a wildcard record, or none. A resolver that rewrites NXDOMAIN makes every list answer
// with the address of a web server. So each list is asked at the same time about two addresses of which the answer is
// known: 127.0.0.2, which it must have, and 127.0.0.1, which it must not have (RFC 5782 section 5). A listing counts
// only if the list leaves out the latter. That an address is not listed counts only if it has the former.
//
// # What a listing means
//
// Lists differ. One that large receivers use stops most mail, one of a single person hardly any; policy lists name
// addresses that should not send mail themselves, which accuses nobody; some list whole networks for what some of
// their addresses did; allow lists speak for an address. The file of lists says for each what it is, who runs it
// and how many use it, what its return codes mean and where to ask for removal. Operators replace it by a file
// [File] of their own, and give keys of lists that need one in [KeysFile], see [diag.List].
package dnsbl
