// Package redirect follows a URL to where it leads: call [Check]. It reports each hop of the chain as a
// browser would meet it, and judges what a visitor, a search engine and an attacker make of it.
//
// # How a URL leads elsewhere
//
// A server redirects with one of five statuses and a Location field (RFC 9110 section 15.4). 301 and 308 are permanent:
// search engines and caches keep them. 302, 303 and 307 are not. After 307 and 308 the client repeats its method; after
// 301 and 302 it turns a POST into a GET for reasons of history, and after 303 it shall. Location is a reference,
// relative to the URL of the hop (section 10.2.2); if it has no fragment, it inherits that of the URL.
//
// A document can do the same: a Refresh header field or a meta element of that kind names a delay and a
// target (html.spec.whatwg.org, "shared declarative refresh steps"). Browsers obey both; curl and most
// other clients do not. Scripts redirect too. They are not run here, but where a page has little else,
// the target that a script names is reported.
//
// # What is followed
//
// Each hop's URL is parsed and its addresses are held against the guard anew, see package fetch. No
// cookie is kept, so a loop that sets one may come to an end in a browser; the report says so. Where
// browsers would have upgraded http to https because of a Strict-Transport-Security field of an earlier
// hop (RFC 6797 section 8.3), the hop is still made as written, and the report says that too.
//
//	report, err := redirect.Check(ctx, env, redirect.Request{URL: "http://example.com/"})
package redirect
