package scan

import (
	"math"
	"slices"
)

// The widths of bars and spaces that each row of a PDF417 symbol begins and ends with, in modules (ISO/IEC 15438).
var (
	startPattern = []int{8, 1, 1, 1, 1, 1, 1, 3}
	stopPattern  = []int{7, 1, 1, 3, 1, 1, 1, 2, 1}
)

// Of the rows of pixels every third is searched, and some that follow each other must show both patterns: a symbol has
// at least 3 rows of 3 modules.
const (
	rowStep   = 3
	leastRows = 3
)

// hasStacked reports whether there is a PDF417 symbol, upright or turned by right angles.
func (s *scanner) hasStacked() bool {
	w, h := s.bits.GetWidth(), s.bits.GetHeight()
	return hasRows(w, h, s.bits.Get) || hasRows(h, w, func(x, y int) bool { return s.bits.Get(y, x) })
}

// hasRows looks for rows of a symbol right below each other.
func hasRows(w, h int, dark func(x, y int) bool) bool {
	var before [2]float64
	var rows [2]int // from left to right, and upside down
	var runs []int
	for y := 0; y < h; y += rowStep {
		runs = append(runs[:0], 0) // light ones first
		for x := range w {
			if dark(x, y) != (len(runs)%2 == 0) {
				runs = append(runs, 0)
			}
			runs[len(runs)-1]++
		}
		for i := range rows {
			at, module := stackedRow(runs)
			switch {
			case module == 0:
				rows[i] = 0
			case rows[i] > 0 && math.Abs(at-before[i]) > module:
				rows[i] = 1
			default:
				rows[i]++
			}
			if before[i] = at; rows[i] == leastRows {
				return true
			}
			if len(runs)%2 == 0 {
				runs = append(runs, 0) // so that a light one is the first from both sides
			}
			slices.Reverse(runs)
		}
	}
	return false
}

// stackedRow finds the beginning and the end of a row, and returns where it begins and the width of a module, which
// is 0 without a row.
func stackedRow(runs []int) (at, module float64) {
	x := 0
	for i := 1; i+len(startPattern) < len(runs); i += 2 {
		x += runs[i-1]
		if m := moduleOf(runs[i-1], runs[i:], startPattern); m > 0 {
			for j := i + len(startPattern); j+len(stopPattern) <= len(runs); j += 2 {
				if n := moduleOf(0, runs[j:], stopPattern); n > .8*m && n < 1.25*m {
					return float64(x), m
				}
			}
		}
		x += runs[i]
	}
	return 0, 0
}

// moduleOf returns the width of a module if runs have the widths of a pattern, and a light margin of 2 modules may be
// the runs before them; else 0.
func moduleOf(margin int, runs, pattern []int) float64 {
	var pixels, modules int
	for i, n := range pattern {
		pixels, modules = pixels+runs[i], modules+n
	}
	module := float64(pixels) / float64(modules)
	for i, n := range pattern {
		if math.Abs(float64(runs[i])-float64(n)*module) > .5*module {
			return 0
		}
	}
	if margin > 0 && float64(margin) < 1.5*module {
		return 0
	}
	return module
}
