// Package fetch is the HTTP client of all checks (RFC 9110): call [Do]. Unlike [net/http.Client], it reports
// every step on the way to a document.
//
// # What happens in a fetch
//
// A fetch is a chain of hops. Each hop looks up the host, connects, performs a TLS handshake and verifies the
// certificates if the URL is https, sends a request and reads the response header. A redirect starts the next
// hop. The guard of the [diag.Env] checks its addresses too, because redirects are a classic way to make a
// server reach into its own network. Only the body of the last hop is kept.
//
// Browsers also follow redirects in documents: a Refresh header field or the equivalent meta element (HTML
// Standard, "shared declarative refresh steps"). [Refresh] and [ParseRefresh] parse them, and Next in a
// [Request] makes a fetch follow them.
//
// Responses are parsed as browsers do. A Location is parsed by the URL Standard ([input.URL.Read]); Oddities
// of a [Hop] report what RFC 3986 does not allow in it. Header lines that HTTP/1.1 does not allow are
// reported in Faults, and the rest of the header is read, although strict clients such as net/http refuse the
// whole response. If the Content-Encoding is not registered, the body is left as received (see [Coding]).
//
// A dead host, an untrusted certificate or a redirect into a private network is a result: Err of the [Result]
// says what ended the chain, and the hops before it are kept. Do returns an error only if the request is
// invalid (*[diag.InputError]) or the context ended. If the resolver or the network of this machine failed,
// nothing is known about the site: [Unavailable] then returns an error, for callers that have nothing else to
// report. Package diag/reach has rules for other failures.
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
// Redirects, the size of header and decompressed body, the compression ratio and the time are limited. No
// proxy is used, no cookies are stored, and credentials in the request header are not sent to other hosts.
package fetch
