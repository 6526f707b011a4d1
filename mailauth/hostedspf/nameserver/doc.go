// Package nameserver is an authoritative name server (RFC 1034, RFC 1035) for the records of hosted SPF: call
// [Listen].
//
// # How it works
//
// A domain with hosted SPF publishes "v=spf1 include:abc.spf.example.net -all", and receivers query the TXT record
// of abc.spf.example.net. This package answers them. It serves one zone, spf.example.net, which the operator
// delegates to it with NS records in the parent zone:
//
//	spf.example.net.     NS  ns1.spf.example.net.
//	ns1.spf.example.net. A   192.0.2.53
//
// An authoritative server answers only for its own zone, with the AA bit set, and never queries others. A name that
// has only other types, or merely has names below it, gets an empty answer (NODATA), a name that does not exist
// NXDOMAIN; both carry the zone's SOA record, which defines how long to cache the absence (RFC 2308). Names outside
// the zone are REFUSED.
//
// # What it answers from
//
// Everything published is held in memory, as an immutable snapshot that is replaced when the store has changed. No
// query waits for the store, and the last snapshot stays while the store fails. A paused profile, or one whose last
// resolution failed, is published with its last good record. The names of a removed profile cease to exist.
//
// # Abuse limits
//
// Source addresses of datagrams can be forged to direct answers at a victim. Answers over UDP are at most 512 octets
// without EDNS, and 1232 with it; longer ones are truncated, for a retry over TCP. Queries of type ANY get one short
// record (RFC 8482). Each client network (a /24, or a /56 of IPv6) gets a hundred answers a second over UDP; beyond
// that every second one is replaced by an empty truncated answer, so that real clients retry over TCP, and the
// others are dropped. Connections are limited in all and per address, and close when idle. Zone transfers are for
// secondaries only, four at a time.
//
// # More than one server
//
// A zone should have two name servers in different networks (RFC 2182). Let secondaries fetch it from this one: BIND,
// Knot DNS, NSD or a secondary DNS service. They are notified of each change (NOTIFY, RFC 1996) and transfer the zone
// (AXFR, RFC 5936), signed with a shared key (TSIG, RFC 8945). New parts are served for minutes before the records
// that name them, so that no resolver looks for a part at a server that does not have it yet; the store remembers what
// was served, so a restart does not shorten that. Replaced parts are served for six hours: take a secondary out of
// service if it has not reached this server for more than four, since its records may then name parts that this server
// no longer has.
//
// Secondaries cannot answer for sets of addresses. Profiles that need sets are not published in a zone that has
// secondaries.
//
// # Signatures
//
// With [Config.Signing] the zone is signed (DNSSEC, RFC 4033 to 4035) with one key, whose DS record the parent zone
// publishes. Clients that set the DO bit get signatures, which are made when first needed and reused for a day.
// Absence is proven by an NSEC record made for the queried name that covers no other (RFC 9824), so the zone cannot
// be enumerated. Secondaries get all signatures, which outlive the zone's expiry, and a chain of NSEC records,
// renewed daily. Since resolvers infer absence from such a chain (RFC 8198), new parts are then published eight
// minutes ahead.
//
// To replace a key, publish the new one beside it for an hour, second in Signing; replace the DS record; after the
// lifetime of the old one put the new key first; and remove the old key after another hour.
//
// # How to use it
//
//	server, err := nameserver.Listen(ctx, "192.0.2.53:53", nameserver.Config{Zone: zone, Store: store})
//	if err != nil {
//		return err
//	}
//	defer server.Shutdown(ctx)
package nameserver
