package qr

import "strings"

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
	switch m {
	case numeric:
		return "digits"
	case alphanumeric:
		return "digits, capital letters and punctuation"
	case plainBytes:
		return "ASCII text"
	default:
		return "UTF-8 text"
	}
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

// headerBits is the number of bits before the characters: the mode indicator, the length, and in
// front of UTF-8 the ECI with its designator.
func (m mode) headerBits(version int) int {
	const indicator, eci = 4, 4 + 8
	switch m {
	case utf8Bytes:
		return eci + indicator + m.lengthBits(version)
	default:
		return indicator + m.lengthBits(version)
	}
}

// lengthBits is the width of the character count (ISO/IEC 18004 table 3).
func (m mode) lengthBits(version int) int {
	class := 0
	if version >= 10 {
		class++
	}
	if version >= 27 {
		class++
	}
	switch m {
	case numeric:
		return [...]int{10, 12, 14}[class]
	case alphanumeric:
		return [...]int{9, 11, 13}[class]
	default:
		return [...]int{8, 16, 16}[class]
	}
}

// capacity returns the largest number of characters of the mode, bytes for text, that a symbol holds.
func (m mode) capacity(version int, level Level) int {
	bits := 8*dataCodewords(version, level) - m.headerBits(version)
	switch m {
	case numeric:
		return bits/10*3 + [...]int{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}[bits%10]
	case alphanumeric:
		return bits/11*2 + bits%11/6
	default:
		return bits / 8
	}
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
