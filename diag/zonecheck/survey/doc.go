// Package survey asks all there is to ask about the delegation and the name servers of a domain, and keeps
// the answers as they came. It judges nothing: that is what package zonecheck does with a [Survey].
//
// The parent zone is found through the resolver of the environment; its servers are asked for the
// delegation, and every address of every server that is named on the way is asked for the SOA record, over
// UDP and TCP. An address that serves the zone is probed further, see [Probe]. A [Reply] says what became
// of each query: an answer, silence, a refused connection, a reply that cannot be read or was cut off.
//
//	s, err := survey.Ask(ctx, env, domain)
//
// Everything is asked at once, with two queries in flight to each address, at most [MaxQueries] in all,
// and for [Timeout] at most. Queries go to the servers of strangers, so each is dialled through
// [diag.Env.DialAddr], where the guard refuses addresses that are not public.
//
//	survey.go    who is asked when (audit.go, parent.go, address.go, content.go, host.go)
//	wire.go      one query to one address, over UDP; stream.go over TCP and TLS
//	query.go     the queries
//	reply.go     what came back
//	limits.go    the bounds
package survey
