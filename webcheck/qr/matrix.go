package qr

// A symbol is a text as modules, finished.
type symbol struct {
	*matrix
	level Level
	mask  int
}

// newSymbol returns the symbol of a text that fits the version, by the mode that modeOf chose.
func newSymbol(text string, m mode, version int, level Level) *symbol {
	masked, mask := unmasked(text, m, version, level).bestMask(level)
	return &symbol{matrix: masked, level: level, mask: mask}
}

// unmasked returns the symbol of a text before any mask is applied.
func unmasked(text string, m mode, version int, level Level) *matrix {
	out := newMatrix(version)
	out.place(withCorrection(encode(text, m, version, level), version, level))
	return out
}

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
	bits := versionInformation(m.version)
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

// versionInformation returns the version as a BCH(18,6) code word (ISO/IEC 18004 section 7.10).
func versionInformation(version int) uint { return bch(uint(version), 0b1_1111_0010_0101, 12) }

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
