package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream packs pairs of value and width into bytes.
func stream(pairs ...int) (out []byte) {
	n := 0
	for i := 0; i < len(pairs); i += 2 {
		for bit := pairs[i+1] - 1; bit >= 0; bit-- {
			if n%8 == 0 {
				out = append(out, 0)
			}
			out[n/8] |= byte(pairs[i]>>bit&1) << (7 - n%8)
			n++
		}
	}
	return out
}

// withBytes appends bytes to a stream's pairs.
func withBytes(text string, pairs ...int) []byte {
	for i := range len(text) {
		pairs = append(pairs, int(text[i]), 8)
	}
	return stream(append(pairs, modeEnd, 4)...)
}

func TestReadContent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int
		data    []byte
		text    string
		content Content // without segments
	}{
		{"nothing", 1, []byte{0, 0xec, 0x11}, "", Content{}},
		{"digits", 1, stream(modeNumeric, 4, 5, 10, 12, 10, 34, 7, 0, 4), "01234", Content{}},
		{"one digit", 10, stream(modeNumeric, 4, 1, 12, 7, 4, 0, 4), "7", Content{}},
		{"alphanumeric", 27, stream(modeAlpha, 4, 3, 13, 10*45+44, 11, 36, 6, 0, 4), "A: ", Content{}},
		{"bytes", 9, withBytes("é✓", modeByte, 4, 5, 8), "é✓", Content{}},
		{"long count", 10, withBytes("ab", modeByte, 4, 2, 16), "ab", Content{}},
		{"Latin 1", 1, withBytes("caf\xe9", modeByte, 4, 4, 8), "café", Content{}},
		{"Shift JIS", 1, withBytes("\x93\xfa\x96\x7b\x8c\xea", modeByte, 4, 6, 8), "日本語", Content{}},
		{"katakana", 1, withBytes("\xc3\xde\xbb\xde\xb2\xdd", modeByte, 4, 6, 8), "ﾃﾞｻﾞｲﾝ", Content{}},
		{"ECI of Latin 2", 1, withBytes("\xb1", modeECI, 4, 4, 8, modeByte, 4, 1, 8), "ą", Content{}},
		{"ECI of UTF-8", 1, withBytes("ü", modeECI, 4, 26, 8, modeByte, 4, 2, 8), "ü", Content{}},
		{"ECI of two bytes", 1, withBytes("a", modeECI, 4, 0x80, 8, 170, 8, modeByte, 4, 1, 8), "a", Content{}},
		{"ECI of three bytes, unknown", 1, withBytes("a\xff", modeECI, 4, 0xc1, 8, 1, 16, modeByte, 4, 2, 8), "a\uFFFD", Content{}},
		{"kanji", 1, stream(modeKanji, 4, 2, 8, 0xd9f, 13, 0x1aaa, 13, 0, 4), "点茗", Content{}},
		{"hanzi", 1, stream(modeHanzi, 4, 1, 4, 1, 8, 0x60*10, 13, 0, 4), "啊", Content{}},
		{"mixed", 1, withBytes("b", modeNumeric, 4, 1, 10, 1, 4, modeByte, 4, 1, 8), "1b", Content{}},
		{"part", 1, withBytes("a", modeAppend, 4, 1, 4, 2, 4, 0x5a, 8, modeByte, 4, 1, 8), "a", Content{Part: 2, Parts: 3, Parity: 0x5a}},
		{"GS1", 1, stream(modeFNC1First, 4, modeAlpha, 4, 4, 9, 0*45+38, 11, 38*45+38, 11, 0, 4), "0%\x1d", Content{FNC1: 1}},
		{"industry", 1, withBytes("a", modeFNC1Second, 4, 65, 8, modeByte, 4, 1, 8), "a", Content{FNC1: 2}},
		{"no terminator", 1, stream(modeByte, 4, 1, 8, 'a', 8), "a", Content{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := readContent(tt.data, tt.version)
			require.NoError(t, err)
			assert.Equal(t, tt.text, c.Text())
			c.Segments = nil
			assert.Equal(t, tt.content, *c)
		})
	}
}

func TestReadContentBroken(t *testing.T) {
	for name, data := range map[string][]byte{
		"unknown mode": stream(0b1111, 4, 0, 8),
		"bytes":        stream(modeByte, 4, 200, 8, 'a', 8),
		"digits":       stream(modeNumeric, 4, 900, 10, 1, 10),
		"letters":      stream(modeAlpha, 4, 400, 9, 1, 11),
		"kanji":        stream(modeKanji, 4, 100, 8, 1, 13),
		"count":        stream(modeByte, 4, 1, 3),
		"ECI":          stream(modeECI, 4, 0xc0, 8, 1, 4),
		"part":         stream(modeAppend, 4, 1, 4, 1, 1),
	} {
		_, err := readContent(data, 1)
		assert.Error(t, err, name)
	}
}

// A Latin letter here and there is no Japanese, and Japanese is not Latin.
func TestIsShiftJIS(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             false,
		"caf\xe9 cr\xe8me":             false,
		"M\xfcller Stra\xdfe":          false,
		"\xc4rzte \xd6fen \xdcbel":     false,
		"S\xc3O PAULO":                 false,
		"\x93\xfa\x96\x7b":             true,
		"*\xc3\xde\xbb\xde\xb2\xdd*":   true,
		"\xa1Hola! \xbfQu\xe9 tal?":    false,
		"\x93\xfa\x96":                 false,
		"price \xa3 5, \xa9 \xae \xb0": false,
	} {
		assert.Equal(t, want, isShiftJIS([]byte(text)), "%q", text)
	}
}

// Whatever the data, reading ends with a content whose text is valid, or an error.
func FuzzReadContent(f *testing.F) {
	f.Add(withBytes("a", modeECI, 4, 26, 8, modeByte, 4, 1, 8), 1)
	f.Add(stream(modeKanji, 4, 2, 8, 0xd9f, 13, 0x1aaa, 13, 0, 4), 10)
	f.Add(stream(modeNumeric, 4, 5, 10, 12, 10, 34, 7, 0, 4), 27)
	f.Fuzz(func(t *testing.T, data []byte, version int) {
		if version < 1 || version > 40 || len(data) > 3000 {
			return
		}
		c, err := readContent(data, version)
		if (c == nil) == (err == nil) {
			t.Fatal("neither content nor error, or both")
		}
		if err == nil && len(c.Text()) > 30*len(data) {
			t.Fatalf("%d bytes of text from %d", len(c.Text()), len(data))
		}
	})
}
