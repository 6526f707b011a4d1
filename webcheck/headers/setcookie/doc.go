// Package setcookie reads Set-Cookie header fields as browsers do (RFC 6265bis, draft-ietf-httpbis-rfc6265bis-22):
// call [Parse] with the value of one field.
//
// A Set-Cookie field gives a cookie a name, a value, and attributes that say to whom and how the browser shows
// it: Domain and Path where, Expires or Max-Age how long, Secure only over https, HttpOnly not to scripts, and
// SameSite not in requests that other sites cause. Browsers never refuse a field for its syntax: they skip what
// they do not know. They do refuse cookies that promise something by the beginning of their name (__Secure-,
// __Host-, __Http- and __Host-Http-) and do not keep it, cookies for other domains, and cookies that are too long.
package setcookie
