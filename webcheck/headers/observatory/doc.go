// Package observatory grades the security headers of a web site as MDN's HTTP Observatory does: call [Grade]
// with the responses of the site. It sends no requests; package headers does, and includes the grade in its
// report.
//
// # How the Observatory grades
//
// The Observatory (https://github.com/mdn/mdn-http-observatory, algorithm version 6) requests a site over
// http and over https, follows the redirects, and sends one request from a foreign origin. Twelve tests then
// examine the responses: Content-Security-Policy, cookies, Cross-Origin-Embedder-Policy, -Opener-Policy and
// -Resource-Policy, CORS, the redirect to https, Referrer-Policy, Strict-Transport-Security, subresource
// integrity, X-Content-Type-Options and X-Frame-Options. Each test has one of several results, which adds
// points to 100 or subtracts them. Bonus points count only if the score is at least 90 without them. The
// grade, from A+ to F, follows from the score.
//
// Because sites are compared by that grade, the package follows the algorithm exactly, even where it departs
// from the specifications, as for max-age="31536000" or several Content-Security-Policy fields. Package
// headers judges by the specifications.
package observatory
