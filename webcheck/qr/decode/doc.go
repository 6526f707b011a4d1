// Package decode reads the QR codes in an image: call [Decode] with the bytes of a PNG, JPEG, GIF, WebP or BMP file.
//
// # What is read
//
// A QR code (ISO/IEC 18004) holds a few bytes in one or several modes: digits, capital letters, bytes, kanji. What
// the bytes mean is convention: a text that begins with "https:" is a link, "WIFI:" joins a network, "otpauth:" adds
// an account to an authenticator, "BEGIN:VCARD" is a contact. [Decode] gives the text, its kind and its parts, where
// in the image the code lies, and how well it was printed: error correction, damage, quiet zone.
//
// Bytes mean ISO 8859-1 by the standard unless the code names another character set (an Extended Channel
// Interpretation, ECI); in practice nearly all encoders write UTF-8 and say nothing. So bytes that are valid UTF-8
// are UTF-8; others are guessed, and always given as they are too.
//
// # How
//
// Three packages stand below this one: raster reads files in bounded memory, scan finds the codes and corrects their
// errors, and what the texts mean is read here. An image is looked at in several ways (sharper, smaller, inverted)
// until a code is found or the work is used up. The work is counted, not timed: the same image has the same reply on
// a busy machine. Nothing is fetched: a link in a code is described, never followed.
package decode
