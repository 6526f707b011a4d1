package scan

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// A Mode is how a segment of the data is written: numeric, alphanumeric, byte, kanji or hanzi.
type Mode string

// The modes of ISO/IEC 18004 table 2, and Hanzi of GB/T 18284.
const (
	numeric      Mode = "numeric"
	alphanumeric Mode = "alphanumeric"
	Byte         Mode = "byte"
	Kanji        Mode = "kanji"
	hanzi        Mode = "hanzi"
)

// Values lists the modes.
func (Mode) Values() []string {
	return []string{string(numeric), string(alphanumeric), string(Byte), string(Kanji), string(hanzi)}
}

// A Segment is a part of the data in one mode. Its bytes are ASCII for digits and alphanumeric characters, Shift JIS
// for kanji, GB 2312 for hanzi, and what the encoder wrote for bytes.
type Segment struct {
	Mode  Mode
	ECI   int // assignment number of the character set; -1: none was named
	Bytes []byte
}

// A Content is the decoded data of a symbol.
type Content struct {
	Segments []Segment
	FNC1     int // 0: none, 1: in first position (GS1), 2: in second
	Part     int // of a structured append, from 1; 0: a single symbol
	Parts    int
	Parity   byte
}

// Mode indicators of ISO/IEC 18004 table 2.
const (
	modeEnd        = 0b0000
	modeNumeric    = 0b0001
	modeAlpha      = 0b0010
	modeAppend     = 0b0011
	modeByte       = 0b0100
	modeFNC1First  = 0b0101
	modeECI        = 0b0111
	modeKanji      = 0b1000
	modeFNC1Second = 0b1001
	modeHanzi      = 0b1101
)

// NoECI is the character set of a segment that names none.
const NoECI = -1

const alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

var errStream = errors.New("the data end in the middle of a segment")

// readContent reads the data of a symbol of the given version (ISO/IEC 18004 section 7.4).
func readContent(data []byte, version int) (*Content, error) {
	c, eci := &Content{}, NoECI
	r := &bitReader{data: data}
	for r.left() >= 4 {
		switch mode := r.read(4); mode {
		case modeEnd:
			return c, nil
		case modeFNC1First:
			c.FNC1 = 1
		case modeFNC1Second:
			c.FNC1 = 2
			r.read(8) // application indicator
		case modeAppend:
			c.Part, c.Parts = r.read(4)+1, r.read(4)+1
			c.Parity = byte(r.read(8))
		case modeECI:
			eci = r.readECI()
		default:
			if err := c.read(r, mode, version, eci); err != nil {
				return nil, err
			}
		}
		if r.short {
			return nil, errStream
		}
	}
	return c, nil
}

// countBits is the width of a length by mode and version (ISO/IEC 18004 table 3).
func countBits(mode, version int) int {
	size := 0
	if version >= 10 {
		size++
	}
	if version >= 27 {
		size++
	}
	switch mode {
	case modeNumeric:
		return [...]int{10, 12, 14}[size]
	case modeAlpha:
		return [...]int{9, 11, 13}[size]
	case modeByte:
		return [...]int{8, 16, 16}[size]
	default:
		return [...]int{8, 10, 12}[size]
	}
}

func (c *Content) read(r *bitReader, mode, version, eci int) error {
	segment := Segment{ECI: eci}
	if mode == modeHanzi {
		r.read(4) // subset; 1 is GB 2312, and there is no other
	}
	n := r.read(countBits(mode, version))
	switch mode {
	case modeNumeric:
		segment.Mode, segment.Bytes = numeric, r.readDigits(n)
	case modeAlpha:
		segment.Mode, segment.Bytes = alphanumeric, r.readAlphanumeric(n)
		if c.FNC1 > 0 {
			segment.Bytes = unescape(segment.Bytes)
		}
	case modeByte:
		segment.Mode = Byte
		for i := 0; i < n && !r.short; i++ {
			segment.Bytes = append(segment.Bytes, byte(r.read(8)))
		}
	case modeKanji:
		segment.Mode, segment.Bytes = Kanji, r.readPairs(n, 0xc0, func(v int) int {
			if v < 0x1f00 {
				return v + 0x8140
			}
			return v + 0xc140
		})
	case modeHanzi:
		segment.Mode, segment.Bytes = hanzi, r.readPairs(n, 0x60, func(v int) int {
			if v < 0xa00 {
				return v + 0xa1a1
			}
			return v + 0xa6a1
		})
	default:
		return fmt.Errorf("there is no mode %04b", mode)
	}
	if r.short || segment.Bytes == nil && n > 0 {
		return errStream
	}
	c.Segments = append(c.Segments, segment)
	return nil
}

// unescape gives "%" its meaning in symbols with FNC1: doubled it is itself, alone the separator of fields, GS
// (ISO/IEC 18004 section 7.4.8.2).
func unescape(in []byte) []byte {
	out := in[:0:len(in)]
	for i := 0; i < len(in); i++ {
		switch {
		case in[i] != '%':
			out = append(out, in[i])
		case i+1 < len(in) && in[i+1] == '%':
			out = append(out, '%')
			i++
		default:
			out = append(out, 0x1d)
		}
	}
	return out
}

// A bitReader reads bits, the most significant first.
type bitReader struct {
	data  []byte
	at    int
	short bool // whether more was read than there is
}

func (r *bitReader) left() int { return 8*len(r.data) - r.at }

func (r *bitReader) read(bits int) (value int) {
	if bits > r.left() {
		r.short, r.at = true, 8*len(r.data)
		return 0
	}
	for range bits {
		value = value<<1 | int(r.data[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return value
}

// readECI reads an assignment number of one to three bytes (ISO/IEC 18004 table 4).
func (r *bitReader) readECI() int {
	first := r.read(8)
	switch {
	case first < 0x80:
		return first
	case first < 0xc0:
		return first&0x3f<<8 | r.read(8)
	default:
		return first&0x1f<<16 | r.read(16)
	}
}

// readDigits reads groups of three digits in ten bits; the last may be shorter.
func (r *bitReader) readDigits(n int) (out []byte) {
	for ; n > 0 && !r.short; n -= 3 {
		digits := min(n, 3)
		out = fmt.Appendf(out, "%0*d", digits, r.read([...]int{4, 7, 10}[digits-1]))
	}
	return out
}

// readAlphanumeric reads pairs of characters in eleven bits; the last may be single.
func (r *bitReader) readAlphanumeric(n int) (out []byte) {
	const base = len(alphanumerics)
	for ; n > 1 && !r.short; n -= 2 {
		v := r.read(11)
		out = append(out, alphanumerics[v/base%base], alphanumerics[v%base])
	}
	if n == 1 && !r.short {
		out = append(out, alphanumerics[r.read(6)%base])
	}
	return out
}

// readPairs reads characters of two bytes, which thirteen bits hold as a row and a column.
func (r *bitReader) readPairs(n, columns int, assemble func(int) int) (out []byte) {
	for ; n > 0 && !r.short; n-- {
		v := r.read(13)
		pair := assemble(v/columns<<8 | v%columns)
		out = append(out, byte(pair>>8), byte(pair))
	}
	return out
}

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
