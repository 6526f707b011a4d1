// Package qr encodes QR codes (ISO/IEC 18004:2015) as PNG, SVG or JPEG images: call [Encode].
//
// # How a QR code works
//
// A symbol is a square of dark and light modules. Its version, 1 to 40, is its size: 17+4×version modules a side.
// Three finder patterns in the corners, timing lines and alignment patterns let a reader find the grid; fifteen format
// bits, written twice, name the error correction level and the mask; the rest are codewords of eight modules.
//
// The text is written as a stream of bits: a mode (digits only, upper-case letters and digits, or bytes), a
// length, the characters, and padding. The stream is divided into blocks, and each block is followed by
// Reed-Solomon codewords, from which a reader restores unreadable parts: about 7 % of the symbol at level L,
// 15 % at M, 25 % at Q, 30 % at H. Bytes mean ISO 8859-1 unless an Extended Channel Interpretation (ECI) says
// otherwise. Text that is not ASCII is therefore marked as UTF-8 with ECI 26, so that readers do not have to
// guess.
//
// Finally, the data modules are inverted by one of eight masks, the one that leaves the fewest patterns that
// confuse a reader: long runs, blocks, false finders, too much of one color. The symbol is surrounded by a
// quiet zone of four modules.
//
// # How to use it
//
//	img, err := qr.Encode(qr.Request{Data: "https://example.com/"})
//	…
//	w.Header().Set("Content-Type", img.MediaType())
//	w.Write(img.Bytes())
//
// The zero value of every optional field means its default. Errors are of type *diag.InputError: the text is
// too long for its level, the image too small for its symbol, or a reader could not distinguish the colors.
//
// The same request always gives the same bytes.
package qr
