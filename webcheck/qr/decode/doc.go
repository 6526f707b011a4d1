// Package decode reads the QR codes in an image: call [Decode] with the bytes of a PNG, JPEG, GIF, WebP or BMP file.
//
// # What is read
//
// A QR code (ISO/IEC 18004) holds a few bytes in one or several modes: digits, capital letters, bytes, kanji. What
// the bytes mean is convention: a text that begins with "https:" is a link, "WIFI:" joins a network, "otpauth:" adds
// an account to an authenticator, "BEGIN:VCARD" is a contact. [Decode] gives the text, its kind and its parts, where
// in the image the code lies, and how well it was printed: error correction, damage, quiet zone.
//
// By the standard, bytes are ISO 8859-1 unless the code names another character set (an Extended Channel
// Interpretation, ECI); in practice nearly all encoders write UTF-8 without saying so. Bytes that are valid UTF-8
// are taken as UTF-8; other encodings are guessed, and the bytes are given, too.
//
// Package raster reads files in bounded memory, and scan finds codes and corrects errors; what the texts mean is
// decided here. An image is tried in several ways (sharper, smaller, inverted) until a code is found or the work
// budget is spent; what shows a dark code is searched for inverted ones too. Codes of other kinds, such as Micro QR,
// are named and not read. Work is counted, not timed, so the same image gets the same reply on a busy machine. Nothing
// is fetched: a link in a code is described, never followed.
package decode
