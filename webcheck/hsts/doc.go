// Package hsts examines HTTP Strict Transport Security, by which a site tells browsers to come back over HTTPS only
// (RFC 6797): call [Check] with a domain, or [Parse] with a header.
//
// # How HSTS works
//
// People type names without a scheme, and old links begin with http://. Each such visit begins in plain text, where
// an attacker can keep it. A site prevents that with a header in its answers over HTTPS:
//
//	Strict-Transport-Security: max-age=31536000; includeSubDomains
//
// For that many seconds from the last visit, the browser replaces http:// by https:// before it sends anything, for
// this host and, with includeSubDomains, for all names below it, and lets nobody click through a warning about a
// certificate. Over plain HTTP the header has no effect, since an attacker could have put it there; nor has it over
// a connection whose certificate the browser does not trust, or for an IP address.
//
// So HSTS is easily switched on and cannot be taken back at once: a subdomain without HTTPS is cut off until
// max-age is over. It is introduced in stages, with a max-age of five minutes at first.
//
// The very first visit stays open. Against that browsers have a preload list, which the Chromium project keeps and
// others take over. Owners submit domains at hstspreload.org; it asks for a max-age of a year, includeSubDomains,
// the directive preload, a valid certificate, and a redirect from http://domain to https://domain before any other.
// A removal takes months to reach users.
//
// # How to use the package
//
// [Check] asks a site and its www over HTTPS and HTTP at once. Its report keeps apart what browsers make of the header
// (RFC 6797), what hstspreload.org would say ([Preloadable], removable and the [Issue] codes, which are those of
// github.com/chromium/hstspreload), and whether the domain is on the list ([ParseList]), which is never claimed
// without a list.
package hsts
