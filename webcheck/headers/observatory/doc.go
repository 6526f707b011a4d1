// Package observatory grades the security headers of a web site as the HTTP Observatory of MDN does: call
// [Grade] with what was fetched of the site.
//
// # How the Observatory grades
//
// The Observatory (https://github.com/mdn/mdn-http-observatory, algorithm version 6) asks a site over http
// and over https, follows the redirects, and sends one request from a foreign origin. Twelve tests then read
// what came: Content-Security-Policy, cookies, Cross-Origin-Embedder-Policy, -Opener-Policy and
// -Resource-Policy, CORS, the redirect to https, Referrer-Policy, Strict-Transport-Security, subresource
// integrity, X-Content-Type-Options and X-Frame-Options. Each ends in one of several results, and each result
// adds or takes points from 100. What adds points counts only if the site has at least 90 without them. The
// grade follows from the points, from A+ to F.
//
// Sites are compared by that grade, so the package follows the algorithm exactly, also where it departs from
// the specifications, as in reading max-age="31536000" or a Content-Security-Policy of several headers. What
// is right and wrong by the specifications is for package headers to say.
package observatory
