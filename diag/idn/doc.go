// Package idn converts internationalized domain names between their two forms and says what is wrong
// with them (IDNA 2008: RFC 5890 to RFC 5893; UTS #46, non-transitional; UTS #39).
//
// # How it works
//
// The DNS compares names in ASCII. A label with other characters, a U-label such as "bücher", is written there as an
// A-label: "xn--" and the characters in Punycode (RFC 3492), "xn--bcher-kva". Before a label is converted, what people
// type is mapped to one form (UTS #46): capitals to small letters, full-width letters to usual ones, the ideographic
// full stop to a dot, all in normalization form C. Then each label must keep the rules: code points that are allowed,
// hyphens and combining marks in places where they may stand, joiners only where they change how text looks (RFC 5892
// appendix A), and right-to-left text that cannot be taken for another name (RFC 5893).
//
// A name may keep all of these rules and still deceive, for many letters look like others: a Cyrillic "а" like a Latin
// "a". So the scripts of each label are told, and the plain name that it looks like (UTS #39).
//
// # How to use it
//
//	report, err := idn.Convert(idn.Request{Domain: "bücher.example"})
//
// The function is pure. A bad name is no error but a report with findings that tell the place of each
// fault in the text; the error is for texts that are too long or empty, and is a *diag.InputError.
package idn
