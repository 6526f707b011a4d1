// Package resolver is a DNS client (RFC 1035) over UDP, TCP, TLS (RFC 7858) and HTTPS (RFC 8484): call
// [Client.Exchange].
//
// # The protocol in short
//
// A DNS message is a header, a question and three lists of records. A client sends the question, and the server
// returns it with the lists filled and a response code: NOERROR, NXDOMAIN for a name that does not exist, SERVFAIL
// if it could not find out. Over UDP a message is one datagram, which anyone can forge; clients therefore make
// queries hard to guess (a random ID, a random port, optionally random letter case in the name) and accept only
// replies that repeat all of it (RFC 5452). A reply that does not fit into a datagram is truncated, with the TC bit
// set, and is asked for again over TCP, where each message follows its length in two octets, and many may be pending
// at once, answered in any order (RFC 7766). EDNS (RFC 6891) lets a client announce the datagram size it accepts and
// request signatures (DO).
//
// # How to use it
//
// The zero [Client] asks the name servers of the system:
//
//	var client resolver.Client
//	defer client.Close()
//	reply, err := client.Exchange(ctx, new(dns.Msg).SetQuestion("example.com.", dns.TypeMX))
//
// Exchange reports what was received. NXDOMAIN and SERVFAIL are replies; only the absence of a reply is an error, so
// "no record" and "no answer" stay distinct. [Client.Ask] asks one given server. A [Cache] stands before a Client,
// or anything else with an Exchange method. An [Iterator] resolves by itself from the root servers, on top of
// [Client.Ask]. A [Trace] in the context records the servers asked and their answers.
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
// Sockets have no goroutines of their own: among the callers waiting on a socket, one reads for all, and hands over
// when it leaves. Only HTTPS connections have goroutines, which [Client.Close] ends.
package resolver
