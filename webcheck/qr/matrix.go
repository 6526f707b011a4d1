package qr

import (
	"math/bits"
	"slices"
)

// A cell is one module of a matrix.
type cell uint8

const (
	dark     cell = 1 << 0
	function cell = 1 << 1 // belongs to a pattern or to the format or version information: never masked
)

// A matrix is a symbol, complete or in the making. Its zero value is of no use; see newMatrix.
type matrix struct {
	version int
	side    int
	cells   []cell // by rows
}

func (m *matrix) at(x, y int) cell { return m.cells[y*m.side+x] }

func (m *matrix) isDark(x, y int) bool { return m.at(x, y)&dark != 0 }

// setFunction marks a module as part of a function pattern and gives it its colour.
func (m *matrix) setFunction(x, y int, isDark bool) {
	c := function
	if isDark {
		c |= dark
	}
	m.cells[y*m.side+x] = c
}

// newMatrix returns a symbol that holds its function patterns, its version information and, still
// light, the place of its format information. All other modules are light.
func newMatrix(version int) *matrix {
	side := sideOf(version)
	m := &matrix{version: version, side: side, cells: make([]cell, side*side)}
	for i := range side {
		m.setFunction(i, 6, i%2 == 0)
		m.setFunction(6, i, i%2 == 0)
	}
	m.drawAlignments()
	m.drawFinder(3, 3)
	m.drawFinder(side-4, 3)
	m.drawFinder(3, side-4)
	m.drawFormat(0)
	m.drawVersion()
	return m
}

// drawFinder draws a finder pattern and the separator around it, by the centre of the former.
func (m *matrix) drawFinder(centreX, centreY int) {
	for dy := -4; dy <= 4; dy++ {
		for dx := -4; dx <= 4; dx++ {
			x, y := centreX+dx, centreY+dy
			if x < 0 || y < 0 || x >= m.side || y >= m.side {
				continue
			}
			ring := max(dx, -dx, dy, -dy)
			m.setFunction(x, y, ring != 2 && ring != 4)
		}
	}
}

// drawAlignments draws all alignment patterns; finders are drawn over the three that they cover.
func (m *matrix) drawAlignments() {
	centres := alignmentCentres(m.version)
	last := len(centres) - 1
	for i, y := range centres {
		for j, x := range centres {
			if i == 0 && (j == 0 || j == last) || i == last && j == 0 {
				continue
			}
			for dy := -2; dy <= 2; dy++ {
				for dx := -2; dx <= 2; dx++ {
					m.setFunction(x+dx, y+dy, max(dx, -dx, dy, -dy) != 1)
				}
			}
		}
	}
}

// drawFormat writes fifteen format bits at both of their places (ISO/IEC 18004 figure 25), and the
// dark module beside them.
func (m *matrix) drawFormat(bits uint) {
	for i := range formatBits {
		isDark := bits>>i&1 != 0
		x, y := formatPlace(i)
		m.setFunction(x, y, isDark)
		x, y = m.formatCopyPlace(i)
		m.setFunction(x, y, isDark)
	}
	m.setFunction(8, m.side-8, true)
}

// formatPlace is where bit i of the format information lies around the finder at the top left,
// counted from the least significant one; the timing lines are stepped over.
func formatPlace(i int) (x, y int) {
	switch {
	case i < 6:
		return 8, i
	case i < 8:
		return 8, i + 1
	case i == 8:
		return 7, 8
	default:
		return 14 - i, 8
	}
}

// formatCopyPlace is where the second copy of the bit lies, beside the two other finders.
func (m *matrix) formatCopyPlace(i int) (x, y int) {
	if i < 8 {
		return m.side - 1 - i, 8
	}
	return 8, m.side - formatBits + i
}

// drawVersion writes the version information of symbols from version 7 on, six by three modules at
// two corners (ISO/IEC 18004 section 7.10).
func (m *matrix) drawVersion() {
	if m.version < 7 {
		return
	}
	bits := bch(uint(m.version), 0b1_1111_0010_0101, 12)
	for i := range 18 {
		isDark := bits>>i&1 != 0
		near, far := i/3, m.side-11+i%3
		m.setFunction(near, far, isDark)
		m.setFunction(far, near, isDark)
	}
}

// place writes the codewords, most significant bit first, into the modules that are no function
// pattern: columns two modules wide from the right to the left, upwards and downwards by turns,
// around the vertical timing line (ISO/IEC 18004 section 7.7.3).
func (m *matrix) place(words []byte) {
	next := 0
	upwards := true
	for right := m.side - 1; right > 0; right -= 2 {
		if right == 6 {
			right--
		}
		for i := range m.side {
			y := i
			if upwards {
				y = m.side - 1 - i
			}
			for _, x := range [...]int{right, right - 1} {
				if m.at(x, y)&function != 0 || next >= 8*len(words) {
					continue
				}
				if words[next/8]>>(7-next%8)&1 != 0 {
					m.cells[y*m.side+x] = dark
				}
				next++
			}
		}
		upwards = !upwards
	}
}

const formatBits = 15

// formatInformation returns the level and the mask as a BCH(15,5) code word, inverted so that it is
// never all light (ISO/IEC 18004 section 7.9.1).
func formatInformation(level Level, mask int) uint {
	indicator := [...]uint{0b01, 0b00, 0b11, 0b10}[level.index()] // L, M, Q, H
	return bch(indicator<<3|uint(mask), 0b101_0011_0111, 10) ^ 0b101_0100_0001_0010
}

// bch appends to the data the remainder, of the given number of bits, of its division by the
// generator polynomial over GF(2).
func bch(data, generator uint, bits int) uint {
	rest := data << bits
	for shift := 5; shift >= 0; shift-- { // data has six bits at most
		if rest>>(shift+bits)&1 != 0 {
			rest ^= generator << shift
		}
	}
	return data<<bits | rest
}

// maskCount is the number of masks (ISO/IEC 18004 table 10).
const maskCount = 8

// masked reports whether a mask inverts the data module at x, y.
func masked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (y/2+x/3)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	default:
		return (x*y%3+(x+y)%2)%2 == 0
	}
}

// applyMask inverts the data modules that the mask names. To apply it again is to undo it.
func (m *matrix) applyMask(mask int) {
	for y := range m.side {
		row := m.cells[y*m.side:][:m.side]
		for x, c := range row {
			if c&function == 0 && masked(mask, x, y) {
				row[x] = c ^ dark
			}
		}
	}
}

func (m *matrix) withMask(mask int, level Level) *matrix {
	out := &matrix{version: m.version, side: m.side, cells: slices.Clone(m.cells)}
	out.applyMask(mask)
	out.drawFormat(formatInformation(level, mask))
	return out
}

// bestMask returns the symbol under the mask with the lowest penalty, and that mask. Of equal ones it
// takes the first, so that the same text always gives the same symbol.
func (m *matrix) bestMask(level Level) (*matrix, int) {
	best, chosen := m.withMask(0, level), 0
	lowest := best.penalty()
	for mask := 1; mask < maskCount; mask++ {
		candidate := m.withMask(mask, level)
		if p := candidate.penalty(); p < lowest {
			best, chosen, lowest = candidate, mask, p
		}
	}
	return best, chosen
}

// The weights of ISO/IEC 18004 table 11.
const (
	runWeight     = 3  // N1: five modules of one colour in line, and 1 for each one more
	blockWeight   = 3  // N2: two by two modules of one colour
	finderWeight  = 40 // N3: what looks like a finder pattern
	balanceWeight = 10 // N4: each 5 % by which dark modules are more or less than half
)

// A bundle holds up to 64 lines of a symbol side by side, rows or columns: bit i of a word belongs to
// line i. Around the words of the modules lie four of the light modules outside of the symbol.
type bundle [outside + 17 + 4*maxVersion + outside]uint64

const outside = 4

// penalty scores a finished symbol (ISO/IEC 18004 section 7.8.3.1): the higher, the harder to read.
func (m *matrix) penalty() int {
	total, darkCount := 0, 0
	for first := 0; first < m.side; first += 64 {
		var rows, columns bundle
		count := min(64, m.side-first)
		for i := range count {
			row := m.cells[(first+i)*m.side:][:m.side]
			for j, c := range row {
				rows[outside+j] |= uint64(c&dark) << i
			}
		}
		for j := range m.side {
			for i, c := range m.cells[j*m.side+first:][:count] {
				columns[outside+j] |= uint64(c&dark) << i
			}
			darkCount += bits.OnesCount64(columns[outside+j])
		}
		total += rows.penalty(count, m.side) + columns.penalty(count, m.side)
	}
	modules := m.side * m.side
	away := 2*darkCount - modules
	total += max(away, -away) * 10 / modules * balanceWeight
	return total + m.blockPenalty()
}

// penalty scores so many lines of so many modules by their runs, and by the ratios of a finder pattern,
// dark and light 1:1:3:1:1, with four light modules before or after it.
func (b *bundle) penalty(lines, length int) int {
	total := 0
	existing := ^uint64(0) >> (64 - lines)
	before := uint64(0)
	for i := range length - 4 {
		w := b[outside+i:][:5]
		run := (w[0]&w[1]&w[2]&w[3]&w[4] | ^(w[0] | w[1] | w[2] | w[3] | w[4])) & existing
		total += bits.OnesCount64(run) + (runWeight-1)*bits.OnesCount64(run&^before)
		before = run
	}
	for i := range length - 6 {
		w := b[i:][:outside+7+outside]
		finder := w[4] &^ w[5] & w[6] & w[7] & w[8] &^ w[9] & w[10]
		crowded := (w[0] | w[1] | w[2] | w[3]) & (w[11] | w[12] | w[13] | w[14])
		total += finderWeight * bits.OnesCount64(finder&^crowded)
	}
	return total
}

// blockPenalty scores the squares of two by two modules of one colour; they may overlap.
func (m *matrix) blockPenalty() int {
	blocks := 0
	for y := range m.side - 1 {
		upper := m.cells[y*m.side:][:m.side]
		lower := m.cells[(y+1)*m.side:][:m.side]
		for x := range m.side - 1 {
			sum := upper[x]&dark + upper[x+1]&dark + lower[x]&dark + lower[x+1]&dark
			if sum == 0 || sum == 4 {
				blocks++
			}
		}
	}
	return blocks * blockWeight
}
