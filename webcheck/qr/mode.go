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

// A Level says how much of a symbol may be unreadable before the text is lost.
type Level string

// The error correction levels, from the roomiest to the most robust.
const (
	low      Level = "L" // restores about 7 % of the codewords
	medium   Level = "M" // about 15 %
	quartile Level = "Q" // about 25 %
	High     Level = "H" // about 30 %
)

// Values lists the levels.
func (Level) Values() []string {
	return []string{string(low), string(medium), string(quartile), string(High)}
}

// index is the level's column in the table of blocks.
func (l Level) index() int {
	switch l {
	case low:
		return 0
	case medium:
		return 1
	case quartile:
		return 2
	default:
		return 3
	}
}

// maxVersion is the largest symbol of ISO/IEC 18004.
const maxVersion = 40

// sideOf returns the number of modules along a side of a symbol.
func sideOf(version int) int { return 17 + 4*version }

// A layout says how the codewords of a symbol are cut into blocks.
type layout struct {
	correction int // error correction codewords in each block
	blocks     int
}

// layouts is table 9 of ISO/IEC 18004, by version less 1 and by level. The number of data codewords
// follows from the size of the symbol.
var layouts = [maxVersion][4]layout{
	{{7, 1}, {10, 1}, {13, 1}, {17, 1}}, // version 1: L, M, Q, H
	{{10, 1}, {16, 1}, {22, 1}, {28, 1}},
	{{15, 1}, {26, 1}, {18, 2}, {22, 2}},
	{{20, 1}, {18, 2}, {26, 2}, {16, 4}},
	{{26, 1}, {24, 2}, {18, 4}, {22, 4}},
	{{18, 2}, {16, 4}, {24, 4}, {28, 4}},
	{{20, 2}, {18, 4}, {18, 6}, {26, 5}},
	{{24, 2}, {22, 4}, {22, 6}, {26, 6}},
	{{30, 2}, {22, 5}, {20, 8}, {24, 8}},
	{{18, 4}, {26, 5}, {24, 8}, {28, 8}}, // version 10
	{{20, 4}, {30, 5}, {28, 8}, {24, 11}},
	{{24, 4}, {22, 8}, {26, 10}, {28, 11}},
	{{26, 4}, {22, 9}, {24, 12}, {22, 16}},
	{{30, 4}, {24, 9}, {20, 16}, {24, 16}},
	{{22, 6}, {24, 10}, {30, 12}, {24, 18}},
	{{24, 6}, {28, 10}, {24, 17}, {30, 16}},
	{{28, 6}, {28, 11}, {28, 16}, {28, 19}},
	{{30, 6}, {26, 13}, {28, 18}, {28, 21}},
	{{28, 7}, {26, 14}, {26, 21}, {26, 25}},
	{{28, 8}, {26, 16}, {30, 20}, {28, 25}}, // version 20
	{{28, 8}, {26, 17}, {28, 23}, {30, 25}},
	{{28, 9}, {28, 17}, {30, 23}, {24, 34}},
	{{30, 9}, {28, 18}, {30, 25}, {30, 30}},
	{{30, 10}, {28, 20}, {30, 27}, {30, 32}},
	{{26, 12}, {28, 21}, {30, 29}, {30, 35}},
	{{28, 12}, {28, 23}, {28, 34}, {30, 37}},
	{{30, 12}, {28, 25}, {30, 34}, {30, 40}},
	{{30, 13}, {28, 26}, {30, 35}, {30, 42}},
	{{30, 14}, {28, 28}, {30, 38}, {30, 45}},
	{{30, 15}, {28, 29}, {30, 40}, {30, 48}}, // version 30
	{{30, 16}, {28, 31}, {30, 43}, {30, 51}},
	{{30, 17}, {28, 33}, {30, 45}, {30, 54}},
	{{30, 18}, {28, 35}, {30, 48}, {30, 57}},
	{{30, 19}, {28, 37}, {30, 51}, {30, 60}},
	{{30, 19}, {28, 38}, {30, 53}, {30, 63}},
	{{30, 20}, {28, 40}, {30, 56}, {30, 66}},
	{{30, 21}, {28, 43}, {30, 59}, {30, 70}},
	{{30, 22}, {28, 45}, {30, 62}, {30, 74}},
	{{30, 24}, {28, 47}, {30, 65}, {30, 77}},
	{{30, 25}, {28, 49}, {30, 68}, {30, 81}}, // version 40
}

func layoutOf(version int, level Level) layout { return layouts[version-1][level.index()] }

// alignmentSteps holds, by version less 1, the distance between alignment patterns (ISO/IEC 18004
// annex E). Their centres lie that far apart from the last one, seven modules from the edge, down;
// the first is always at 6. Version 1 has none.
var alignmentSteps = [maxVersion]int{0, 12, 16, 20, 24, 28, 16, 18, 20, 22, 24, 26, 28, 20, 22, 24, 24, 26, 28, 28, 22,
	24, 24, 26, 26, 28, 28, 24, 24, 26, 26, 26, 28, 28, 24, 26, 26, 26, 28, 28}

// alignmentCentres returns the coordinates, in both directions, of the alignment patterns.
func alignmentCentres(version int) []int {
	if version == 1 {
		return nil
	}
	centres := make([]int, version/7+2)
	centres[0] = 6
	at := sideOf(version) - 7
	for i := len(centres) - 1; i > 0; i-- {
		centres[i] = at
		at -= alignmentSteps[version-1]
	}
	return centres
}

// codewords returns the number of codewords of a symbol, data and error correction together: an
// eighth of the modules that are no function pattern and hold no format or version information.
func codewords(version int) int {
	side := sideOf(version)
	used := 3*64 + 2*15 + 1 + 2*(side-16) // finders, format, the dark module, timing
	if n := len(alignmentCentres(version)); n > 0 {
		used += 25*(n*n-3) - 2*5*(n-2) // three would lie on finders; some share modules with the timing
	}
	if version >= 7 {
		used += 2 * 18
	}
	return (side*side - used) / 8
}

// dataCodewords returns the number of codewords that hold the stream of bits.
func dataCodewords(version int, level Level) int {
	l := layoutOf(version, level)
	return codewords(version) - l.correction*l.blocks
}
