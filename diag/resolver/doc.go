// Package resolver asks name servers. It puts DNS messages (RFC 1035) on the wire over UDP, TCP, TLS
// (RFC 7858) and HTTPS (RFC 8484), and brings back what was heard.
//
// # The protocol in short
//
// A DNS message is a header, a question and three lists of records. A client sends a message with the question alone,
// and the server sends it back with the lists filled and a code: NOERROR, NXDOMAIN for a name that does not exist,
// SERVFAIL for a server that could not find out. Over UDP a message is one datagram; anyone can forge one, so a client
// makes its queries hard to guess (a random identifier, a random port, optionally random letter case in the name) and
// believes only replies that repeat all of it (RFC 5452). What does not fit into a datagram comes back cut off, with
// the bit TC set, and is asked for again over TCP, where each message follows its length in two bytes and many may be
// under way at once, answered in any order (RFC 7766). EDNS (RFC 6891) lets a client say how large a datagram it takes,
// and carries the wish for signatures (DO).
//
// # How to use it
//
// A [Client] asks servers, and its zero value asks those of the system:
//
//	var client resolver.Client
//	defer client.Close()
//	reply, err := client.Exchange(ctx, new(dns.Msg).SetQuestion("example.com.", dns.TypeMX))
//
// It reports what it heard. NXDOMAIN and SERVFAIL are replies; only silence is an error, so that
// "there is no record" and "the server did not say" stay different answers. [Client.Ask] asks one
// server of the caller's choice. A [Cache] stands in front of a Client, or of anything else with an
// Exchange method. A [Trace] in the context collects which servers were asked and how they answered.
//
// # How it is built
//
//	server.go      what a name server is, and how it is written
//	client.go      which servers are asked, in which order, how often
//	upstream.go    one question to one server: truncation, EDNS refused, forgery suspected
//	query.go       one question on the wire, and which reply belongs to it
//	mux.go         one connection or socket shared by many queries (mux_io.go, mux_batch.go, buffer.go)
//	pool.go        many of them, opened when needed, retired before they become predictable
//	stream.go      connecting over TCP and TLS, both address families at once
//	https.go       DNS over HTTPS
//	system.go      /etc/resolv.conf
//	cache.go       answers kept, and questions asked once for all who wait (flight.go, ttl.go)
//	iterate.go     the walk from the root servers (iterate_walk.go, _race.go, _reply.go, _zone.go, _hints.go)
//	trace.go       the record of what was asked
//	public.go      well-known public resolvers
//
// An [Iterator] walks from the root servers down to an answer by itself, on top of [Client.Ask].
//
// Sockets have no goroutines of their own: among the callers that wait for replies on one, one reads,
// for itself and for the others, and passes the duty on when it leaves. Only the connections of HTTPS
// have some, which [Client.Close] ends.
package resolver
