// Package decode reads the QR codes in an image: call [Decode] with the bytes of a PNG, JPEG, GIF, WebP or
// BMP file.
//
// # What is read
//
// A QR code (ISO/IEC 18004) encodes a text in one or several modes: digits, capital letters, bytes, kanji.
// What the text means is convention: one that begins with "https:" is a link, "WIFI:" joins a network,
// "otpauth:" adds an account to an authenticator, "BEGIN:VCARD" is a contact. Decode returns the text, its
// type and its parts, the position of the code in the image, and its quality: error correction, damage, quiet
// zone.
//
// By the standard, bytes are ISO 8859-1 unless the code names another character set (an Extended Channel
// Interpretation, ECI); in practice nearly all encoders write UTF-8 without saying so. Bytes that are valid
// UTF-8 are read as UTF-8; other encodings are guessed, and the report has the bytes as well.
//
// An image is tried in several ways (sharper, smaller, inverted) until a code is found or the work budget is
// spent. Codes of other kinds, such as Micro QR, are reported but not read. Work is counted, not timed, so
// the same image always gives the same report. A link in a code is described, never followed.
package decode
