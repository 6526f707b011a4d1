// Package setcookie reads Set-Cookie header fields as browsers do (RFC 6265bis, draft-ietf-httpbis-rfc6265bis-22):
// call [Parse] with the value of one field.
//
// A Set-Cookie field gives a cookie a name, a value, and attributes: Domain and Path restrict where it is sent,
// Expires or Max-Age for how long, Secure to https, HttpOnly keeps it from scripts, and SameSite out of requests
// that other sites cause. Browsers never reject a field for its syntax: they skip what they do not know. They do
// reject cookies that break the promise of their name prefix (__Secure-, __Host-, __Http- and __Host-Http-), cookies
// for other domains, and overlong cookies.
package setcookie
