package qr

import (
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// A mode is how characters become bits (ISO/IEC 18004 section 7.3).
type mode int

// The modes, from the densest. A symbol is written in one mode from beginning to end.
const (
	numeric      mode = 0 // digits, three in ten bits
	alphanumeric mode = 1 // digits, capital letters and punctuation, two in eleven bits
	plainBytes   mode = 2 // ASCII, a character in eight bits
	utf8Bytes    mode = 3 // bytes announced as UTF-8 by an Extended Channel Interpretation
)

func (m mode) String() string {
	return [...]string{"digits", "digits, capital letters and punctuation", "ASCII text", "UTF-8 text"}[m]
}

// alphanumericSet is table 5 of ISO/IEC 18004.
const alphanumericSet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

// modeOf returns the densest mode that can write the text.
func modeOf(text string) mode {
	m := numeric
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 0x80:
			return utf8Bytes
		case c >= '0' && c <= '9':
		case strings.IndexByte(alphanumericSet, c) >= 0:
			m = max(m, alphanumeric)
		default:
			m = plainBytes
		}
	}
	return m
}

// capacity returns the largest number of characters of the mode, bytes for text, that a symbol holds.
func (m mode) capacity(version int, level Level) int {
	v, _ := decoder.Version_GetVersionForNumber(version) // fails for no version that there is
	const indicator, eci = 4, 4 + 8                      // the latter with its designator
	bits := 8*(v.GetTotalCodewords()-v.GetECBlocksForLevel(level.zxing()).GetTotalECCodewords()) - indicator
	switch m {
	case numeric:
		bits -= decoder.Mode_NUMERIC.GetCharacterCountBits(v)
		return bits/10*3 + [...]int{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}[bits%10]
	case alphanumeric:
		bits -= decoder.Mode_ALPHANUMERIC.GetCharacterCountBits(v)
		return bits/11*2 + bits%11/6
	case utf8Bytes:
		bits -= eci
	}
	return (bits - decoder.Mode_BYTE.GetCharacterCountBits(v)) / 8
}

// versionFor returns the smallest version that holds so many characters of the mode.
func versionFor(m mode, length int, level Level) (version int, ok bool) {
	for v := 1; v <= maxVersion; v++ {
		if m.capacity(v, level) >= length {
			return v, true
		}
	}
	return 0, false
}

// A Level is an error correction level, which determines how much of a symbol may be unreadable: L, M, Q or
// H.
type Level string

// The error correction levels, from the most compact to the most robust.
const (
	Low      Level = "L" // restores about 7 % of the codewords
	Medium   Level = "M" // about 15 %
	Quartile Level = "Q" // about 25 %
	High     Level = "H" // about 30 %
)

// Values lists the levels.
func (Level) Values() []string { return kit.Values(Low, Medium, Quartile, High) }

// zxing is the level as the library of that name knows it.
func (l Level) zxing() decoder.ErrorCorrectionLevel {
	level, _ := decoder.ErrorCorrectionLevel_ValueOf(string(l)) // fails for no level that there is
	return level
}

// maxVersion is the largest symbol of ISO/IEC 18004.
const maxVersion = 40

// sideOf returns the number of modules along a side of a symbol.
func sideOf(version int) int { return 17 + 4*version }
