package qr

import "slices"

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

// withMask returns the finished symbol under one mask, format information included.
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

// penalty scores a finished symbol (ISO/IEC 18004 section 7.8.3.1): the higher, the harder to read.
func (m *matrix) penalty() int {
	line := make([]cell, m.side)
	total, darkCount := 0, 0
	for i := range m.side {
		for j := range m.side {
			line[j] = m.cells[i*m.side+j] & dark
			darkCount += int(line[j])
		}
		total += linePenalty(line)
		for j := range m.side {
			line[j] = m.cells[j*m.side+i] & dark
		}
		total += linePenalty(line)
	}
	modules := m.side * m.side
	away := 2*darkCount - modules
	total += max(away, -away) * 10 / modules * balanceWeight
	return total + m.blockPenalty()
}

// linePenalty scores a row or column by its runs and by the ratios of a finder pattern, dark and
// light 1:1:3:1:1, with four light modules before or after it. What lies outside of the symbol is light.
func linePenalty(line []cell) int {
	const (
		window = 1<<15 - 1 // 4 modules before, the 7 of the pattern, 4 after
		finder = 0b1011101
		beyond = 4
	)
	total, run := 0, 0
	last := ^cell(0)
	seen := uint(0)
	for i := range len(line) + beyond {
		c := cell(0)
		if i < len(line) {
			c = line[i]
			if c != last {
				run, last = 0, c
			}
			run++
			switch {
			case run == 5:
				total += runWeight
			case run > 5:
				total++
			}
		}
		seen = (seen<<1 | uint(c)) & window
		if seen>>4&0b1111111 == finder && (seen>>11 == 0 || seen&0b1111 == 0) {
			total += finderWeight
		}
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
