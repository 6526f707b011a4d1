// Package logo fetches the logo of a BIMI record and judges it as receivers do
// (draft-brand-indicators-for-message-identification-14, "the draft" below): call [Lookup] with the address of a logo or
// with a domain, or [Fetch] to have the logo as part of another diagnostic.
//
// # How logos are published
//
// The tag l of a BIMI record holds the address of an SVG image:
//
//	default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"
//
// Receivers fetch it by https, once in a while, and keep it. They take it only if the certificate of the web server is
// valid and the image is in SVG Tiny PS, the profile without scripts, animations and references to anything outside
// (see the package mailauth/bimi/svg), and of at most 32 KiB. One that they do not take is not shown, and nobody is told
// why.
//
// # How to use the package
//
// [Lookup] says what is wrong with the address, the web server and the image, each fault of the image with its line and
// with what to change in the drawing software. [Fetch] does the same for one address and leaves the answer to the
// caller, as [Logo] and as verdict.
package logo
