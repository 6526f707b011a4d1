// Package hsts examines HTTP Strict Transport Security (HSTS, RFC 6797), with which a site tells browsers to
// use only HTTPS: call [Check] with a domain, or [Parse] with a header.
//
// # How HSTS works
//
// People type names without a scheme, and old links begin with http://. Each such visit starts in plain text, where
// an attacker can intercept it. A site prevents that with a header in its HTTPS responses:
//
//	Strict-Transport-Security: max-age=31536000; includeSubDomains
//
// For that many seconds after the last visit, the browser replaces http:// with https:// before it sends anything,
// for this host and, with includeSubDomains, for all names below it, and does not let users click through
// certificate warnings. The header has no effect over plain HTTP, where an attacker could have injected it, over a
// connection with an untrusted certificate, or for an IP address.
//
// HSTS is thus easy to enable but cannot be revoked immediately: a subdomain without HTTPS is unreachable
// until max-age expires. It should be introduced in stages, starting with a max-age of five minutes.
//
// The very first visit is not protected. Browsers therefore include a preload list, maintained by the
// Chromium project. Owners submit domains at hstspreload.org, which requires a max-age of a year,
// includeSubDomains, the preload directive, a valid certificate, and a redirect from http://domain to
// https://domain before any other. Removal takes months to reach users.
//
// # How to use the package
//
// [Check] requests a site and its www host over HTTPS and HTTP. Its report separates three things: how
// browsers interpret the header (RFC 6797); whether hstspreload.org would accept it ([Preloadable] and the
// [Issue] codes of github.com/chromium/hstspreload); and whether the domain is on the list. The list is not
// built in, except for whole top-level domains: the operator provides it as the file [File], in a format of
// [ParseList].
package hsts
