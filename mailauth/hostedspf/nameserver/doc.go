// Package nameserver is an authoritative name server (RFC 1034, RFC 1035) for the records that hosted SPF publishes.
//
// # How it works
//
// A domain that uses hosted SPF publishes "v=spf1 include:abc.spf.example.net -all", and receivers of
// mail ask the DNS for the TXT record of abc.spf.example.net. This package answers them. It serves one
// zone, spf.example.net, which the operator delegates to it with NS records in the parent zone:
//
//	spf.example.net.     NS  ns1.spf.example.net.
//	ns1.spf.example.net. A   192.0.2.53
//
// An authoritative server answers for its zone alone and never asks anybody else. Its answers carry the bit AA. A name
// in the zone that holds other types than the one asked for, or that merely stands above other names, gets an empty
// answer (NODATA), a name that does not exist NXDOMAIN; both come with the SOA record of the zone, which says how long
// the absence may be remembered (RFC 2308). Whatever lies outside the zone is REFUSED.
//
// # What it answers from
//
// All that is published lies in memory, as an immutable snapshot that is replaced when the store has
// changed. No question ever waits for the store, and while the store fails the last snapshot stays.
// A profile that is paused, or whose last resolution failed, is published with its last good record.
// Of a profile that is removed the names go too: from then on they do not exist.
//
// # What it sends to strangers
//
// Source addresses of datagrams can be forged, so that a server's answers hit somebody else. Answers to clients without
// EDNS fill at most 512 octets, to those with it at most 1232; what is longer comes truncated, for TCP. Queries of type
// ANY get one short record (RFC 8482). Each network of clients (a /24, or a /56 of IPv6) gets a hundred answers a
// second by datagram; beyond that every second one is replaced by an empty truncated answer, which lets a real client
// come by TCP, and the others are dropped. Connections are bounded in number, in all and for each address, and end when
// idle. Zone transfers are for secondaries only, and four run at a time.
//
// # More than one server
//
// A zone should have two name servers in different networks (RFC 2182). Let others fetch it from this one: BIND, Knot
// DNS, NSD or a service that offers secondary name servers. They are told of each change (NOTIFY, RFC 1996), and
// transfer the zone (AXFR, RFC 5936), signed with a key that both know (TSIG, RFC 8945). New parts are served for
// minutes before the records that name them, so that no resolver looks for a part at a server that has not got it yet.
// What was served before is in the store, so that a restart does not cut that short. A SQLite store serves one process;
// there is no need for another that reads it. Parts that were replaced are served for six hours: a secondary that has
// not reached this server for more than four must not answer any longer.
//
// Secondaries hold records and cannot answer for sets of addresses. Profiles that need sets are not published
// in a zone that has any.
//
// # Signatures
//
// With [Config.Signing] the zone is signed (DNSSEC, RFC 4033 to 4035) by one key, whose DS record the parent zone
// publishes, for all clients that ask for signatures (the bit DO). They are made when they are first asked for,
// and used for a day. That a name or type does not exist is proven by an NSEC record that is made for the name in
// question and covers no other (RFC 9824), so that nobody reads the zone out. Secondaries get all signatures,
// which last longer than the zone does without being refreshed, and a chain of NSEC records from name to name,
// each day anew. Since resolvers conclude from such a chain that names are absent which nobody has asked for
// (RFC 8198), new parts then go ahead for eight minutes.
//
// To replace a key, publish the new one beside it for an hour, as second in Signing; replace the DS record; after its
// lifetime put the new key first; and leave the old one out after another hour.
//
// # How to use it
//
//	server, err := nameserver.Listen(ctx, "192.0.2.53:53", nameserver.Config{Zone: zone, Store: store})
//	if err != nil {
//		return err
//	}
//	defer server.Shutdown(ctx)
//
// # How it is built
//
//	zone.go      the zone and its snapshot
//	answer.go    a question and the snapshot become an answer, without any input or output
//	edns.go      RFC 6891
//	sets.go      addresses that receivers ask about one by one
//	sign.go      signatures and proofs, when they are asked for; signingkey.go: the keys, and their files
//	tsig.go      RFC 8945
//	transfer.go  the zone for secondaries
//	notify.go    word of changes for secondaries
//	rate.go      how many datagrams a network of clients gets; cookie.go: whom that does not concern (RFC 7873)
//	packed.go    answers to plain questions as they are sent, kept for a minute; datagram.go: sent in batches
//	conn.go      how many connections, and for how long
//	server.go    the sockets
//	source.go    from the store to the snapshot
//	master.go    the records as lines of a zone file
package nameserver
