// Package redirect follows a URL to its destination: call [Check]. It reports each hop as a browser would see
// it, and judges the chain for visitors, search engines and security.
//
// # How redirects work
//
// A server redirects with one of five statuses and a Location field (RFC 9110 section 15.4). 301 and 308 are
// permanent: search engines and caches remember them. 302, 303 and 307 are temporary. After 307 and 308 the client
// repeats its method; after 301 and 302 it turns POST into GET for historical reasons, and after 303 always.
// Location is a reference relative to the URL of the hop (section 10.2.2); without a fragment it inherits that of
// the URL.
//
// A document can redirect as well: a Refresh header field or the equivalent meta element names a delay and a
// target (html.spec.whatwg.org, "shared declarative refresh steps"). Browsers follow both; curl and most
// other clients do not. Scripts are not run, but if a page consists of little else, the target in a script is
// reported.
//
// # What is followed
//
// The guard of the environment checks the addresses of each hop; see package fetch. Cookies are not stored,
// so a loop that sets a cookie may end in a browser; the report says so. If browsers would upgrade http to
// https because of an earlier hop's Strict-Transport-Security field (RFC 6797 section 8.3), the hop is
// requested as written, and the upgrade is reported.
//
//	report, err := redirect.Check(ctx, env, redirect.Request{URL: "http://example.com/"})
package redirect
