// Package resolver is a DNS client (RFC 1035) over UDP, TCP, TLS (RFC 7858) and HTTPS (RFC 8484): call
// [Client.Exchange].
//
// # The protocol in short
//
// A DNS message is a header, a question and three lists of records. A client sends the question, and the
// server returns it with the lists filled and a response code: NOERROR, NXDOMAIN for a name that does not
// exist, SERVFAIL if it could not find out. Over UDP a message is one datagram, which anyone can forge;
// clients therefore make queries hard to guess (a random ID, a random port, optionally random letter case in
// the name) and accept only replies that match all of it (RFC 5452). A reply that does not fit into a
// datagram is truncated, with the TC bit set, and the client repeats the query over TCP. There each message
// is preceded by its length in two octets, and many queries may be pending concurrently, answered in any
// order (RFC 7766). EDNS (RFC 6891) lets a client announce the datagram size it accepts and request
// signatures (DO).
//
// # How to use it
//
// The zero [Client] asks the name servers of the system:
//
//	var client resolver.Client
//	defer client.Close()
//	reply, err := client.Exchange(ctx, new(dns.Msg).SetQuestion("example.com.", dns.TypeMX))
//
// Exchange returns the reply as received. NXDOMAIN and SERVFAIL are replies; only the lack of a reply is an
// error, so that "no record" and "no answer" are distinct. [Client.Ask] queries one given server. A [Cache]
// wraps a Client, or anything else with an Exchange method. An [Iterator] resolves names from the root
// servers. A [Trace] in the context records the servers queried and their answers.
package resolver

// How it is built:
//
//	client.go    which servers are asked, in which order, how often; server.go and system.go: which there are
//	upstream.go  one question to one server: truncation, EDNS refused, forgery suspected; query.go: on the wire
//	pool.go      connections, opened when needed; mux.go: one shared by many queries; stream.go: TCP, TLS, HTTPS
//	cache.go     answers kept, and identical queries merged
//	trace.go     the servers queried, and their answers
//	iterate.go   the walk from the root servers
//
// Sockets have no goroutines of their own: among the callers waiting on a socket, one reads for all, and hands over
// when it leaves. Only HTTPS connections have goroutines, which [Client.Close] ends.
