package scan

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// charsets are the character sets that ECI assignment numbers name (AIM ECI, part 3). 26 and 27, UTF-8 and ASCII, need
// no decoding.
var charsets = map[int]encoding.Encoding{
	0: charmap.CodePage437, 2: charmap.CodePage437,
	1: charmap.ISO8859_1, 3: charmap.ISO8859_1, 4: charmap.ISO8859_2, 5: charmap.ISO8859_3,
	6: charmap.ISO8859_4, 7: charmap.ISO8859_5, 8: charmap.ISO8859_6, 9: charmap.ISO8859_7,
	10: charmap.ISO8859_8, 11: charmap.ISO8859_9, 12: charmap.ISO8859_10, 15: charmap.ISO8859_13,
	16: charmap.ISO8859_14, 17: charmap.ISO8859_15, 18: charmap.ISO8859_16,
	20: japanese.ShiftJIS, 21: charmap.Windows1250, 22: charmap.Windows1251, 23: charmap.Windows1252,
	24: charmap.Windows1256, 25: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	28: traditionalchinese.Big5, 29: simplifiedchinese.GB18030, 30: korean.EUCKR, 31: simplifiedchinese.GBK,
	32: simplifiedchinese.GB18030, 33: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
}

// Bytes returns the data as one sequence of bytes, as the encoder was given it.
func (c *Content) Bytes() []byte {
	var out []byte
	for _, s := range c.Segments {
		out = append(out, s.Bytes...)
	}
	return out
}

// Text returns the data as text. Bytes without a named character set are UTF-8 if they are valid as such, as nearly
// all encoders write it; else Shift JIS if all of them are pairs of it, else ISO 8859-1, which the standard names.
func (c *Content) Text() string {
	plain := c.plain()
	guess := guessed(plain)
	var out bytes.Buffer
	for _, s := range c.Segments {
		switch {
		case s.Mode == Kanji:
			out.WriteString(decoded(japanese.ShiftJIS, s.Bytes))
		case s.Mode == hanzi:
			out.WriteString(decoded(simplifiedchinese.GB18030, s.Bytes))
		case s.ECI == NoECI && s.Mode == Byte && guess != nil:
			out.WriteString(decoded(guess, s.Bytes))
		case s.ECI != NoECI && charsets[s.ECI] != nil:
			out.WriteString(decoded(charsets[s.ECI], s.Bytes))
		default:
			out.Write(bytes.ToValidUTF8(s.Bytes, []byte("\uFFFD")))
		}
	}
	return string(bytes.ToValidUTF8(out.Bytes(), []byte("\uFFFD")))
}

// plain joins the bytes whose character set is not named.
func (c *Content) plain() (out []byte) {
	for _, s := range c.Segments {
		if s.Mode == Byte && s.ECI == NoECI {
			out = append(out, s.Bytes...)
		}
	}
	return out
}

// guessed guesses a character set; nil is UTF-8.
func guessed(b []byte) encoding.Encoding {
	switch {
	case utf8.Valid(b):
		return nil
	case isShiftJIS(b):
		return japanese.ShiftJIS
	}
	return charmap.ISO8859_1
}

// isShiftJIS reports whether bytes look like Japanese: every lead byte has its trail, and there are two pairs, or a run
// of half-width katakana that no word of a Latin alphabet resembles. A single accented letter is no such thing.
func isShiftJIS(b []byte) bool {
	pairs, letters := 0, 0
	run, longest, strange := 0, 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < 0xa1 || c > 0xdf {
			run = 0
		}
		switch {
		case c < 0x80:
		case c >= 0xa1 && c <= 0xdf:
			run++
			longest = max(longest, run)
			strange = strange || c < 0xc0 || c >= 0xde // punctuation, or a mark that katakana often bear
		case c == 0x80 || c == 0xa0 || c > 0xef:
			return false
		case i+1 == len(b) || b[i+1] < 0x40 || b[i+1] == 0x7f || b[i+1] > 0xfc:
			return false
		default:
			if b[i+1] >= 'a' && b[i+1] <= 'z' {
				letters++ // as "é" before a letter would look
			}
			pairs++
			i++
		}
	}
	return pairs > 1 && pairs > 2*letters || longest >= 3 && strange
}

func decoded(e encoding.Encoding, b []byte) string {
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	return string(out)
}
