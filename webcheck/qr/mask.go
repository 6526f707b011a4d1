package qr

import (
	"math/bits"
	"slices"
)

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
