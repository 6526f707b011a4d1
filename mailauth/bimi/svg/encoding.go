package svg

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// The byte order marks (XML 1.0 appendix F.1).
const (
	markUTF8    = "\xEF\xBB\xBF"
	markUTF16BE = "\xFE\xFF"
	markUTF16LE = "\xFF\xFE"
)

// decodeText turns the bytes of a document into UTF-8 and names the encoding it found. A non-empty problem ends the
// examination.
//
// XML processors must support UTF-8 and UTF-16 only (XML 1.0 section 2.2). Single-byte encodings are accepted as well,
// since old editors wrote them and most software supports them.
func decodeText(image []byte) (text, encoding, problem string) {
	switch {
	case bytes.HasPrefix(image, []byte(markUTF16BE)), bytes.HasPrefix(image, []byte(markUTF16LE)):
		text, problem = decodeUTF16(image)
		encoding = "utf-16"
	default:
		text, encoding = string(bytes.TrimPrefix(image, []byte(markUTF8))), "utf-8"
	}
	if problem != "" {
		return text, encoding, problem
	}
	marked := len(text) != len(image) || encoding == "utf-16"
	switch declared := strings.ToLower(declaredEncoding(text)); {
	case declared == "", declared == encoding, encoding == "utf-16" && (declared == "utf-16le" || declared == "utf-16be"):
	case declared == "utf8":
		return text, declared, ""
	case declared == "us-ascii" || declared == "ascii":
		if !marked && strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 }) {
			return text, declared, "The document declares US-ASCII and has other characters."
		}
	case marked:
		return text, encoding, fmt.Sprintf("The document declares the encoding %.40q, but begins with the byte order "+
			"mark of %s.", declared, strings.ToUpper(encoding))
	default:
		if text, ok := decodeBytes(text, declared); ok {
			return text, declared, ""
		}
		return text, declared, fmt.Sprintf("The document declares the encoding %.40q, which software need not know.",
			declared)
	}
	return text, encoding, ""
}

// decodeBytes decodes a text in a single-byte encoding; ok is false if the name is not that of one.
func decodeBytes(text, encoding string) (string, bool) {
	e, err := htmlindex.Get(encoding)
	single, ok := e.(*charmap.Charmap)
	if err != nil || !ok {
		return "", false
	}
	text, err = single.NewDecoder().String(text)
	return text, err == nil
}

var declared = kit.Regexp(`^<\?xml[^>]*?encoding[ \t\r\n]*=[ \t\r\n]*(?:"([^"]*)"|'([^']*)')`)

// declaredEncoding returns the encoding of an XML declaration, as far as it can be determined without reading the
// document.
func declaredEncoding(text string) string {
	m := declared().FindStringSubmatch(text[:min(len(text), 200)])
	return strings.Join(m[min(1, len(m)):], "")
}

func decodeUTF16(image []byte) (text, problem string) {
	if len(image)%2 != 0 {
		return "", "The document is in UTF-16 and ends within a character."
	}
	order := binary.ByteOrder(binary.BigEndian)
	if image[0] == markUTF16LE[0] {
		order = binary.LittleEndian
	}
	units := make([]uint16, len(image)/2-1)
	binary.Decode(image[2:], order, units) // cannot fail: the bytes are as many
	characters := utf16.Decode(units)
	if !slices.Equal(utf16.Encode(characters), units) {
		return "", "The document is in UTF-16 and has half a surrogate pair."
	}
	return string(characters), ""
}

// firstBad returns where the first character is that XML does not allow, or -1 (XML 1.0 section 2.2).
func firstBad(text string) int {
	for i, c := range text {
		if c == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
		if !isChar(c) {
			return i
		}
	}
	return -1
}

func isChar(c rune) bool {
	return c >= 0x20 && c <= 0xD7FF || c == '\t' || c == '\n' || c == '\r' || c >= 0xE000 && c <= 0xFFFD ||
		c >= 0x10000 && c <= 0x10FFFF
}

// ErrTooLong says that an image has more than [MaxBytes] bytes when it is decompressed.
var ErrTooLong = fmt.Errorf("it has more than %d bytes when it is decompressed", MaxBytes)

// gzipped reports whether a file has the gzip header (RFC 1952 section 2.3.1).
func gzipped(file []byte) bool { return bytes.HasPrefix(file, []byte{0x1F, 0x8B}) }

// Decode returns the image in a file that may be compressed with gzip, as .svgz files and the images in mark
// certificates are. It returns at most [MaxBytes] bytes: a longer image is [ErrTooLong]. What follows the compressed
// data is an error, since software differs on whether it belongs to the image.
func Decode(file []byte) (image []byte, compressed bool, err error) {
	if !gzipped(file) {
		if len(file) > MaxBytes {
			return nil, false, ErrTooLong
		}
		return file, false, nil
	}
	rest := bytes.NewReader(file)
	z, err := gzip.NewReader(rest)
	if err != nil {
		return nil, true, gzipError(err)
	}
	z.Multistream(false)
	image, err = io.ReadAll(io.LimitReader(z, MaxBytes+1))
	switch {
	case len(image) > MaxBytes:
		return nil, true, ErrTooLong
	case err != nil:
		return nil, true, gzipError(err)
	case rest.Len() > 0:
		return nil, true, fmt.Errorf("%d bytes follow the compressed data", rest.Len())
	}
	return image, true, nil
}

func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the compressed data ends too early")
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("the checksum of the compressed data does not match")
	default:
		return errors.New("the compressed data is damaged")
	}
}

// predefined are the entities of XML itself (XML 1.0 section 4.6).
var predefined = map[string]string{"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": `"`}

// resolve expands references, which never makes the text longer.
func (s *scanner) resolve(raw string, offset int, value bool) (string, *syntaxError) {
	if !strings.ContainsAny(raw, "&\t\r\n") {
		return raw, nil
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\r' && strings.HasPrefix(raw[i+1:], "\n"): // XML 1.0 section 2.11
		case value && (c == '\t' || c == '\r' || c == '\n'):
			b.WriteByte(' ')
		case c != '&':
			b.WriteByte(c)
		default:
			text, n, err := s.reference(raw[i:], offset+i)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			i += n - 1
		}
	}
	return b.String(), nil
}

// maxReference bounds a reference in bytes; the longest that mean something have 10.
const maxReference = 128

func (s *scanner) reference(raw string, offset int) (string, int, *syntaxError) {
	body, _, ok := strings.Cut(raw[1:min(len(raw), maxReference)], ";")
	if !ok {
		return "", 0, s.fail(offset, "An & begins no reference. In text it is written &amp;.")
	}
	n := len(body) + 2
	if digits, ok := strings.CutPrefix(body, "#"); ok {
		c, ok := charReference(digits)
		if !ok {
			return "", 0, s.fail(offset, "The reference &%s; names no character that XML allows.", clip(body))
		}
		return string(c), n, nil
	}
	if text, ok := predefined[body]; ok {
		return text, n, nil
	}
	if !isName(body) {
		return "", 0, s.fail(offset, "An & begins no reference. In text it is written &amp;.")
	}
	if s.unknown != nil {
		s.unknown(body, offset)
	}
	return "", n, nil
}

// charReference reads the number of a character reference (XML 1.0 section 4.1).
func charReference(digits string) (rune, bool) {
	base := 10
	if rest, ok := strings.CutPrefix(digits, "x"); ok {
		base, digits = 16, rest
	}
	c, err := strconv.ParseUint(digits, base, 31)
	return rune(c), err == nil && isChar(rune(c))
}
