// Package input reads what callers hand in: names, addresses and URLs, into types that cannot be wrong. Call
// [ParseDomain], [ParseName], [ParseSelector], [ParseHost], [ParseIP] or [ParseURL], or decode JSON into their types: a
// request that has them as fields is validated by being decoded. What is refused is an [Error], which names the field
// and what to do. Programs that import package diag find all of them there.
//
// # Names
//
// A [Domain] is a name of a host or a mail domain: letters, digits and hyphens (RFC 1123 section 2.1), given in ASCII
// or in Unicode and kept as A-labels (RFC 5891). A [Name] is any name of the DNS, also with underscores, such as
// _dmarc.example.com. A [Host] is read as browsers read the host of a URL, so 0x7f.1 is the address 127.0.0.1
// (url.spec.whatwg.org). Invisible characters are refused: they were pasted by mistake, or to deceive.
//
// The package imports neither a DNS library nor net/http.
package input
