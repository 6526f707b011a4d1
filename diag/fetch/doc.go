// Package fetch is the HTTP client of every diagnostic (RFC 9110): call [Do]. Unlike [net/http.Client] it reports
// exactly what happened on the way to a document.
//
// # What happens in a fetch
//
// A fetch is a chain of hops. Each hop looks up the host, connects, does a TLS handshake for https and judges the
// certificates, sends a request and reads the response header. A redirect starts the next hop; its URL is parsed and
// its addresses are checked by the guard of the [diag.Env] anew, since redirects are a classic way to make a server
// reach into its own network. Only the body of the last hop is kept.
//
// Browsers also follow redirects in documents: a Refresh header field or the equivalent meta element (HTML Standard,
// "shared declarative refresh steps"). [Request].Next makes a fetch follow them; [Refresh] and [ParseRefresh] read
// them.
//
// Server output is parsed as browsers do. A Location is read by the URL Standard ([input.URL.Read]), and
// [Hop].Oddities says what RFC 3986 does not allow in it. Lines that no head of HTTP/1.1 may have are [Hop].Faults,
// and the rest of the head is read; strict clients such as net/http refuse the whole answer. A Content-Encoding that
// is not registered leaves the body as it came ([Result].Coding).
//
// A dead host, an untrusted certificate and a redirect into a private network are results: [Result].Err says what
// ended the chain, and the hops before it are kept. [Do] returns an error only if the request is invalid
// ([diag.InputError]) or the context ended. If our resolver or network failed, nothing is known about the site:
// [Unavailable] returns an error for callers that have nothing else to report. Package diag/reach has the rules
// about the rest.
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
// # Untrusted input
//
// Redirects, header bytes, decompressed body bytes, the compression ratio and time are bounded. No proxy is used, no
// cookie is kept, and credentials in the request header are not sent to other hosts.
package fetch
