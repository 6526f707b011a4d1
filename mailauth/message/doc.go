// Package message splits raw messages into their fields (RFC 5322): call [Split]. Nothing is lost or changed, so
// that signatures can be verified over what was split.
//
// A message is a header, a blank line and a body. The header is a list of fields, each a name, a colon and a
// value; a line that begins with white space continues the field before it ("folding", RFC 5322 section 2.2.3):
//
//	Received: from mail.example.org
//		by mx.example.com; Sun, 1 Nov 2026 09:00:04 +0000
//	From: Alice <alice@example.org>
//
//	Hello.
//
// What people paste and what servers pass on is less tidy: lines that are no field, line ends of several kinds,
// a byte order mark, no blank line, bytes outside ASCII. [Split] keeps all of it, with offsets and line numbers.
// A text that was damaged by copying it (quoted, indented, encoded as quoted-printable) is restored by [Repair].
//
// Values are read by functions of their own, which are as tolerant: [Comments], [DecodeText] (RFC 2047),
// [ParseAddresses], [MessageIDs] and [ParseDate].
package message
