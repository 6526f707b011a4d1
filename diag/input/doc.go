// Package input parses domain names, addresses and URLs from callers into types that are always valid. Call
// [ParseDomain], [ParseName], [ParseSelector], [ParseHost], [ParseIP] or [ParseURL], or decode JSON into
// their types: decoding a request that has such fields validates it. Invalid input is an [Error], which names
// the field and the fault. Package diag has aliases for all of these.
//
// # Names
//
// A [Domain] is the name of a host or a mail domain: letters, digits and hyphens (RFC 1123 section 2.1),
// given in ASCII or Unicode and stored as A-labels (RFC 5891). A [Name] is any DNS name, including those with
// underscores, such as _dmarc.example.com. A [Host] is parsed as browsers parse the host of a URL, so 0x7f.1
// is the address 127.0.0.1 (url.spec.whatwg.org). Invisible characters are refused, because they are pasted
// by mistake or meant to deceive.
//
// The package imports neither a DNS library nor net/http.
package input
