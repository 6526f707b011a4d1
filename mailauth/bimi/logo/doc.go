// Package logo fetches the logo of a BIMI record and judges it as receivers do
// (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Lookup] with the URL of a logo or
// with a domain, or [Fetch] to use the logo in another diagnostic.
//
// # How logos are published
//
// The tag l of a BIMI record holds the URL of an SVG image:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// Receivers fetch it over HTTPS from time to time and cache it. They accept it only if the web server's certificate
// is valid and the image is in SVG Tiny PS, the profile without scripts, animations and external references (see
// package mailauth/bimi/svg), of at most 32 KiB. A rejected logo is not shown, and receivers do not report why.
//
// # How to use the package
//
// [Lookup] reports what is wrong with the URL, the web server and the image, each fault with its line and with what
// to change in the drawing software. [Fetch] does the same for one URL and returns a [Logo] and a verdict.
package logo
