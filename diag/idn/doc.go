// Package idn converts internationalized domain names between Unicode and ASCII and reports their faults
// (IDNA 2008: RFC 5890 to RFC 5893; UTS #46, non-transitional; UTS #39): call [Convert].
//
// # How it works
//
// The DNS compares names in ASCII. A label with other characters, a U-label such as "bücher", is encoded as
// an A-label: "xn--" followed by the characters in Punycode (RFC 3492), "xn--bcher-kva". Input is first
// mapped to one form (UTS #46): upper case to lower case, full-width to ordinary characters, the ideographic
// full stop to a dot, all in normalization form C. Each label must then follow the rules: code points,
// hyphens and combining marks only where they are allowed, joiners only where they affect how text looks (RFC
// 5892 appendix A), and right-to-left text that cannot be confused with another name (RFC 5893).
//
// A name may follow all of these rules and still deceive, because many letters look alike: a Cyrillic "а" and a
// Latin "a". The report therefore names the scripts of each label and the plain name that it resembles (UTS #39).
//
// # How to use it
//
//	report, err := idn.Convert(idn.Request{Domain: "bücher.example"})
//
// Convert is pure. An invalid name is not an error: the report has findings with the position of each fault.
// Only an empty or overlong text is an error, a *diag.InputError.
package idn
