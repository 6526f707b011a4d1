// Package survey asks everything there is to ask about a domain's delegation and name servers: call [Ask]. It keeps
// the answers as received; package zonecheck judges them.
//
// The parent zone is found through the resolver of the environment; its servers are asked for the delegation, and
// every address of every name server found is asked for the SOA record, over UDP and TCP. An address that serves the
// zone is probed further, see [Probe]. A [Reply] records the outcome of each query: an answer, a timeout, a refused
// connection, an unreadable or truncated reply.
//
//	s, err := survey.Ask(ctx, env, domain)
//
// Queries run concurrently, two at a time per address, at most [MaxQueries] in all and for at most [Timeout]. They
// go to untrusted servers, so each is dialed through [diag.Env.DialAddr], where the guard refuses non-public
// addresses.
package survey
