// Package taglist reads records that are lists of tags: call [Format.Find] with the TXT records at a name, or
// [Format.Read] with one text, and make the rules that all such records share with a [Kit].
//
// # What tag lists are
//
// DKIM, DMARC, BIMI, TLSRPT and MTA-STS write their records in much the same way (RFC 6376 section 3.2):
//
//	_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
//
// Tags are name=value, with semicolons between them; the last one may have a semicolon, too. A name may stand
// only once, tags that a protocol does not define are ignored, and the tag v comes first, for by it readers
// tell the record from all others at the name. A text that does not begin exactly so is as good as none, which
// its owner should hear: it is a stray. Of two records most protocols use neither. The texts of the DNS come in
// strings of at most 255 bytes that are joined without anything between them.
//
// The protocols differ in details, which a [Format] names: MTA-STS and TLSRPT have fields without any white
// space in them, DMARC ignores the letter case of names, DKIM keys may lack the version.
//
// # How to use the package
//
// A protocol has one [Format]. Whatever is wrong with a text, [Format.Parse] reads it as far as it can be read,
// with the offset of each tag and each [Fault]; the protocol checks the values, and adds its own faults with
// [List.Add]. The methods of a [Kit] complete its rules:
//
//	kit.Syntax(diag.Rule[*evidence]{Code: "bimi.record.syntax", Severity: diag.Error, Weight: 5})
package taglist
