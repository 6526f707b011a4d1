// Package fetch is the HTTP client of every diagnostic (RFC 9110). It differs from [net/http.Client]
// in what it is for: not to get a document, but to say exactly what happened on the way to it.
//
// # What happens in a fetch
//
// A fetch is a chain of hops. For each the host is looked up, a connection is made, for https a TLS handshake is done
// and its certificates are judged, a request is sent and the head of the answer is read. If that is a redirect, the
// next hop begins; each hop's URL is parsed and each address is asked for at the guard of the [diag.Env] anew, since a
// redirect is a classic way to make a server reach into its own network. Only the last hop's body is kept.
//
// Browsers also follow what a document says: a Refresh header field or its likeness in a meta element (HTML Standard,
// "shared declarative refresh steps"). [Request].Next makes a fetch do so; [Refresh] and [ParseRefresh] read them.
//
// A host that is dead, a certificate that nobody trusts, a redirect into a private network: these are
// results. [Result].Err then says what ended the chain, and the hops before it are there. [Do] itself
// returns an error only if the request makes no sense ([diag.InputError]) or the context ended. Where it was our
// resolver or our network that failed, nothing can be said about a site: then [Unavailable] returns an error for
// whoever has nothing else. Package diag/ground makes the rules about the rest.
//
//	r, err := fetch.Do(ctx, env, fetch.Request{URL: u, MaxRedirects: fetch.DefaultRedirects})
//	if err != nil {
//		return nil, err
//	}
//	if err := fetch.Unavailable(r); err != nil {
//		return nil, err
//	}
//	if r.Err != nil { // the chain did not reach an end
//		…
//	}
//	page := r.Body
//
// # A hostile world
//
// Everything is bounded: redirects, bytes of heads, bytes of the body after decompression, the ratio
// of decompression, and time. No proxy is used, no cookie is kept, and credentials in the request's
// header are not sent on to another host.
package fetch
