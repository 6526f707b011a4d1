package scan

import (
	"cmp"
	"math"
	"slices"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

const (
	// maxCentres bounds the finder patterns that are combined: triples grow with its cube.
	maxCentres = 60
	// maxCandidates ends the collecting of centres: noise and tiles are full of them.
	maxCandidates = 400
	// maxTriples bounds how many triples of a view are sampled.
	maxTriples = 60
)

// centres returns what may be the centres of finder patterns, those seen most often first.
func (s *scanner) centres(v view) []*detector.FinderPattern {
	finder := detector.NewFinderPatternFinder(s.bits, nil)
	w, h := s.bits.GetWidth(), s.bits.GetHeight()
	skip := 2
	if h > 1500 {
		skip = 3
	}
	for y := skip - 1; y < h; y += skip {
		scanRow(finder, s.bits, y, w)
		if len(finder.GetPossibleCenters()) > maxCandidates {
			break
		}
	}
	all := finder.GetPossibleCenters()
	all = slices.DeleteFunc(slices.Clone(all), func(c *detector.FinderPattern) bool {
		p := Point{c.GetX() / v.scale, c.GetY() / v.scale}
		return slices.ContainsFunc(s.found, func(f Symbol) bool { return f.owns(p) })
	})
	slices.SortStableFunc(all, func(a, b *detector.FinderPattern) int {
		return cmp.Compare(b.GetCount(), a.GetCount())
	})
	return all[:min(len(all), maxCentres)]
}

// scanRow follows one row through the states of a finder pattern: dark, light, dark, light, dark.
func scanRow(finder *detector.FinderPatternFinder, bits *gozxing.BitMatrix, y, w int) {
	var counts [5]int
	state := 0
	for x := range w {
		isDark := bits.Get(x, y)
		if isDark == (state&1 == 0) {
			counts[state]++
			continue
		}
		if isDark || state != 4 {
			if !isDark && state == 0 && counts[0] == 0 {
				continue // light before the first dark pixel
			}
			state++
			counts[state]++
			continue
		}
		if detector.FinderPatternFinder_foundPatternCross(counts[:]) && finder.HandlePossibleCenter(counts[:], y, x) {
			counts, state = [5]int{}, 0
			continue
		}
		detector.FinderPatternFinder_doShiftCounts2(counts[:])
		state = 3
	}
	if state == 4 && detector.FinderPatternFinder_foundPatternCross(counts[:]) {
		finder.HandlePossibleCenter(counts[:], y, w)
	}
}

// A triple is three finder patterns that may belong together.
type triple struct {
	corner, one, other *detector.FinderPattern // clockwise, unless the symbol is mirrored
	module             float64                 // size
	badness            float64
}

// triples returns likely triples, the best first.
func triples(centres []*detector.FinderPattern) []triple {
	var list []triple
	for i, a := range centres {
		for j, b := range centres[:i] {
			if unlike(a, b) {
				continue
			}
			for _, c := range centres[:j] {
				if unlike(a, c) || unlike(b, c) {
					continue
				}
				// Seen at an angle, the longest side need not be the one opposite to the corner.
				for _, t := range []triple{{corner: a, one: b, other: c}, {corner: b, one: c, other: a}, {corner: c, one: a, other: b}} {
					if t.likely() {
						list = append(list, t)
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b triple) int { return cmp.Compare(a.badness, b.badness) })
	return list
}

func unlike(a, b *detector.FinderPattern) bool {
	x, y := a.GetEstimatedModuleSize(), b.GetEstimatedModuleSize()
	return max(x, y) > 2.2*min(x, y)+.5
}

// likely measures a triple and reports whether it may be one. It brings it into clockwise order.
func (t *triple) likely() bool {
	c, a, b := place(t.corner), place(t.one), place(t.other)
	if cross(a.minus(c), b.minus(c)) < 0 {
		t.one, t.other, a, b = t.other, t.one, b, a
	}
	sizes := []float64{t.corner.GetEstimatedModuleSize(), t.one.GetEstimatedModuleSize(), t.other.GetEstimatedModuleSize()}
	t.module = (sizes[0] + sizes[1] + sizes[2]) / 3
	across, down := c.distance(a), c.distance(b)
	longest, shortest := max(down, across), min(down, across)
	modules := (down + across) / 2 / t.module
	if shortest < 1 || longest > 2*shortest || modules < 9 || modules > 200 {
		return false
	}
	p, q := a.minus(c), b.minus(c)
	cosine := math.Abs(p.X*q.X+p.Y*q.Y) / (across * down)
	if cosine > maxCosine {
		return false
	}
	spread := (slices.Max(sizes) - slices.Min(sizes)) / t.module
	t.badness = cosine + (longest/shortest - 1) + spread + .002*modules
	for _, p := range []*detector.FinderPattern{t.corner, t.one, t.other} {
		if p.GetCount() < 2 {
			t.badness += .3
		}
	}
	return true
}

// maxCosine bounds how far the angle at the corner may be from a right one: 34 degrees.
const maxCosine = .56

// search reads the symbols of a view.
func (s *scanner) search(v view, p try) {
	list := triples(s.centres(v))
	used := map[*detector.FinderPattern]bool{}
	tries, good := 0, 0
	for _, t := range list {
		if used[t.corner] || used[t.one] || used[t.other] {
			continue
		}
		if t.badness < .5 {
			good++
		}
		if tries++; tries > maxTriples || len(s.found) >= s.max {
			break
		}
		symbol, ok := s.read(t)
		if !ok {
			continue
		}
		if t.badness < .5 {
			good--
		}
		used[t.corner], used[t.one], used[t.other] = true, true, true
		symbol.Inverted = p.inverted
		symbol.scale(1 / v.scale)
		s.found = append(s.found, symbol)
	}
	s.rest = good
}
