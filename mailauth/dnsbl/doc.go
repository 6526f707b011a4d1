// Package dnsbl queries DNS-based blocklists and allow lists about an address that sends mail (RFC 5782): call
// [Check] with the address.
//
// # How the lists work
//
// A list is a DNS zone. Whether it lists 192.0.2.25 is asked with a lookup of the address record of
//
//	25.2.0.192.zen.spamhaus.org.
//
// or, for an IPv6 address, of its 32 nibbles in reverse order before the zone. NXDOMAIN means that the address is
// not listed. An address in 127.0.0.0/8 means that it is, and encodes why: 127.0.0.2 usually means a source of spam,
// 127.0.0.10 an end-user address, which should send through its provider. A TXT record at the same name gives the
// reason in words. Receivers query while a client connects, and reject its mail or weigh the answer with others.
//
// # What an answer is worth
//
// Many tools report false listings. A list that refuses to answer, because the resolver is shared or queries too
// often, returns 127.255.255.254 or another address in 127.0.0.0/8. An abandoned list often lists every address,
// because its domain now has a wildcard record, or none. A resolver that rewrites NXDOMAIN makes every list answer
// with the address of a web server. Each list is therefore also queried for two test addresses: 127.0.0.2, which it
// must list, and 127.0.0.1, which it must not (RFC 5782 section 5). A listing counts only if the latter is not listed;
// absence counts only if the former is.
//
// # What a listing means
//
// Lists differ. One that large receivers use blocks most mail, a one-person list hardly any; policy lists name
// addresses that should not send mail directly, which is no accusation; some list whole networks for what some of
// their addresses did; allow lists vouch for an address. The file of lists states for each its type, its operator, how
// widely it is used, what its return codes mean and where to request removal. Operators replace it with a [File] of
// their own, and put keys for lists that need one into [KeysFile], see [diag.List].
package dnsbl
