package aggregate

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

const (
	// maxNames bounds the strings that are kept to be used again, and maxShared their length: a report
	// has a few hundred domains and selectors.
	maxNames  = 4096
	maxShared = 128
)

// intern returns a text as a string, which it shares with others of the same text.
func (b *builder) intern(text []byte) string {
	if s, ok := b.names[string(text)]; ok {
		return s
	}
	return b.internText(string(text))
}

func (b *builder) internText(s string) string {
	if len(b.names) < maxNames && len(s) <= maxShared {
		b.names[s] = s
	}
	return s
}

// value returns the text of a leaf, in UTF-8 and without white space around it.
func (b *builder) value(path string) []byte {
	text := bytes.TrimSpace(b.text)
	if b.overrun {
		b.fault(FaultTooLong, path, text)
	}
	plain := true
	for _, c := range text {
		if c < ' ' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	return b.cleaned(path, text)
}

// cleaned decodes a text, and replaces control characters by blanks.
func (b *builder) cleaned(path string, text []byte) []byte {
	if !utf8.Valid(text) {
		if b.overrun {
			text = bytes.ToValidUTF8(text, nil)
		} else {
			text = b.decode(path, text)
		}
	}
	bad := false
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\r' || r == '\n':
			return ' '
		case r < ' ' || 0x7f <= r && r < 0xa0 || r == 0xfffe || r == 0xffff:
			bad = true
			return -1
		}
		return r
	}, string(text))
	if bad {
		b.fault(FaultBadChar, path, []byte(clean))
	}
	return bytes.TrimSpace([]byte(strings.Join(strings.Fields(clean), " ")))
}

// decode converts a text that is not UTF-8. It uses the encoding that the XML declares; else Windows-1252, a superset
// of ISO 8859-1 and the encoding of almost all texts that declare none.
func (b *builder) decode(path string, text []byte) []byte {
	charset := b.charset()
	if charset == nil {
		b.fault(FaultBadEncoding, path, text)
		charset = charmap.Windows1252
	}
	decoded, err := charset.NewDecoder().Bytes(text)
	if err != nil {
		b.fault(FaultBadEncoding, path, text)
		return bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return decoded
}

// charset returns the declared encoding; nil if it is UTF-8, absent or unknown.
func (b *builder) charset() encoding.Encoding {
	name := strings.ToLower(b.scan.charset)
	if name == "" || strings.HasPrefix(name, "utf") {
		return nil
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return found
}

// The entities that XML defines. Those of a document type are not read.
var entities = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// maxEntity is the length of the longest that is looked for: &#x10FFFF; with some zeros.
const maxEntity = 16

// unescape adds a text with entities to that of the leaf. Text that is not an entity is unchanged.
func (b *builder) unescape(text []byte) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			break
		}
		b.text = append(b.text, text[:i]...)
		text = text[i:]
		end := bytes.IndexByte(text[:min(len(text), maxEntity)], ';')
		if end < 0 {
			b.fault(FaultMalformed, b.path(), text)
			b.text, text = append(b.text, '&'), text[1:]
			continue
		}
		name := string(text[1:end])
		if s, ok := entities[name]; ok {
			b.text = append(b.text, s...)
		} else if r, ok := character(name); ok {
			b.text = utf8.AppendRune(b.text, r)
		} else {
			b.fault(FaultBadEntity, b.path(), text[:end+1])
			b.text = append(b.text, text[:end+1]...)
		}
		text = text[end+1:]
	}
	b.text = append(b.text, text...)
}

// character reads a numeric character reference without & and ; (XML 1.0 section 4.1).
func character(name string) (rune, bool) {
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, found := strings.CutPrefix(digits, "x"); found {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return rune(n), ok && err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n))
}
