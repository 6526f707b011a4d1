// Package taglist parses records that are lists of tags: call [Format.Find] with the TXT records at a name, or
// [Format.Read] with one text; a [Kit] makes the rules that all such records share.
//
// # What tag lists are
//
// DKIM, DMARC, BIMI, TLSRPT and MTA-STS write their records in much the same way (RFC 6376 section 3.2):
//
//	_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
//
// Tags are name=value, separated by semicolons; a final semicolon is allowed. A name may occur only once, unknown
// tags are ignored, and v comes first, because it distinguishes the record from others at the name. Readers ignore a
// text that does not begin exactly so, which its owner should know: it is a stray. Of two records most protocols use
// neither. TXT records consist of strings of at most 255 octets, which are joined without a separator.
//
// The protocols differ in details, which a [Format] states: MTA-STS and TLSRPT allow no white space inside fields,
// DMARC ignores case in names, DKIM keys may lack the version.
//
// # How to use the package
//
// A protocol has one [Format]. [Format.Parse] reads any text as far as possible, with the offset of each tag and each
// [Fault]; the protocol checks the values, and adds its own faults with [List.Add]. The methods of a [Kit] complete
// its rules:
//
//	kit.Syntax(rule.Rule[*evidence]{Code: "bimi.record.syntax", Severity: diag.Error, Weight: 5})
package taglist
