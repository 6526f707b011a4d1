package scan

import (
	"cmp"
	"math"
	"slices"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

const (
	// maxCentres bounds the finder patterns that are combined: sheets of 60 codes have 180, beside which noise looks
	// alike.
	maxCentres = 512
	// maxCandidates ends the collecting of centres: noise and tiles are full of them.
	maxCandidates = 4096
	// allNear is up to how many centres each is combined with all others; of more only with its nearest.
	allNear = 60
	nearest = 16
	// triesPerCentre and leastTries bound how many triples of a view are sampled.
	triesPerCentre = 2
	leastTries     = 60
	// likelyBadness is below what a triple should have been a symbol.
	likelyBadness = .5
)

// Centres are candidates for the centres of finder patterns, by cells of the view, so that those near a place are
// found without examining all.
type centres struct {
	bits  *gozxing.BitMatrix
	list  []*detector.FinderPattern
	cells [][]int32
	width int // of the view, in cells
	row   *gozxing.BitArray
}

const cellSize = 16 // pixels

func newCentres(bits *gozxing.BitMatrix) *centres {
	width := bits.GetWidth()/cellSize + 1
	return &centres{bits: bits, width: width, cells: make([][]int32, width*(bits.GetHeight()/cellSize+1))}
}

// add takes a cross-section that may be one of a finder pattern, and reports whether it is from all sides.
func (c *centres) add(counts []int, y, x int) bool {
	one := detector.NewFinderPatternFinder(c.bits, nil) // one that remembers others compares with each of them
	if !one.HandlePossibleCenter(counts, y, x) {
		return false
	}
	p := one.GetPossibleCenters()[0]
	size := p.GetEstimatedModuleSize()
	left, right := c.cell(p.GetX()-size, c.width), c.cell(p.GetX()+size, c.width)
	height := len(c.cells) / c.width
	for row := c.cell(p.GetY()-size, height); row <= c.cell(p.GetY()+size, height); row++ {
		for column := left; column <= right; column++ {
			for _, i := range c.cells[row*c.width+column] {
				if c.list[i].AboutEquals(size, p.GetY(), p.GetX()) {
					c.list[i] = c.list[i].CombineEstimate(p.GetY(), p.GetX(), size)
					return true
				}
			}
		}
	}
	at := c.cell(p.GetY(), height)*c.width + c.cell(p.GetX(), c.width)
	c.cells[at] = append(c.cells[at], int32(len(c.list)))
	c.list = append(c.list, p)
	return true
}

func (c *centres) cell(at float64, n int) int { return min(max(int(at)/cellSize, 0), n-1) }

// centres returns the candidates for the centres of finder patterns, those seen most often first.
func (s *scanner) centres(v view) []*detector.FinderPattern {
	found := newCentres(s.bits)
	h := s.bits.GetHeight()
	skip := 2
	if h > 1500 {
		skip = 3
	}
	for y := skip - 1; y < h; y += skip {
		found.scanRow(y)
		if len(found.list) > maxCandidates {
			s.cut = true
			break
		}
	}
	all := slices.DeleteFunc(found.list, func(c *detector.FinderPattern) bool {
		p := Point{c.GetX() / v.scale, c.GetY() / v.scale}
		return slices.ContainsFunc(s.found, func(f Symbol) bool { return f.owns(p) })
	})
	slices.SortStableFunc(all, func(a, b *detector.FinderPattern) int {
		return cmp.Compare(b.GetCount(), a.GetCount())
	})
	s.cut = s.cut || len(all) > maxCentres && all[maxCentres].GetCount() > 1
	return all[:min(len(all), maxCentres)]
}

// scanRow measures the dark and light parts of one row, and takes five that are as wide as those of a finder pattern:
// dark, light, dark, light, dark.
func (c *centres) scanRow(y int) {
	c.row = c.bits.GetRow(y, c.row)
	var counts [5]int
	n, w := 0, c.row.GetSize()
	for x := c.row.GetNextSet(0); x < w; {
		end := c.row.GetNextUnset(x)
		counts[n] = end - x
		if n++; n == len(counts) {
			if detector.FinderPatternFinder_foundPatternCross(counts[:]) && c.add(counts[:], y, end) {
				n = 0
			} else {
				n = copy(counts[:], counts[2:])
			}
		}
		x = c.row.GetNextSet(end)
		if n > 0 {
			counts[n] = x - end
			n++
		}
	}
}

// A triple is three finder patterns that may belong together.
type triple struct {
	corner, one, other *detector.FinderPattern // clockwise, unless the symbol is mirrored
	module             float64                 // size
	badness            float64
}

// triples returns likely triples, the best first. Seen at an angle, the longest side need not be the one opposite to
// the corner, so each pattern is tried as one.
func triples(centres []*detector.FinderPattern) []triple {
	var list []triple
	for _, corner := range centres {
		others := neighbours(corner, centres)
		for i, a := range others {
			for _, b := range others[:i] {
				if t := (triple{corner: corner, one: a, other: b}); !unlike(a, b) && t.likely() {
					list = append(list, t)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b triple) int { return cmp.Compare(a.badness, b.badness) })
	return list
}

// neighbors lists the patterns that may belong to the same symbol as one: of many the nearest.
func neighbours(of *detector.FinderPattern, centres []*detector.FinderPattern) []*detector.FinderPattern {
	type neighbour struct {
		*detector.FinderPattern
		distance float64
	}
	var near []neighbour
	for _, c := range centres {
		if c != of && !unlike(of, c) {
			near = append(near, neighbour{c, place(of).distance(place(c))})
		}
	}
	if len(centres) > allNear {
		least := 6 * of.GetEstimatedModuleSize() // nearer ones are seen as two what is one
		near = slices.DeleteFunc(near, func(n neighbour) bool { return n.distance < least })
		slices.SortFunc(near, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
		near = near[:min(len(near), nearest)]
	}
	list := make([]*detector.FinderPattern, len(near))
	for i, n := range near {
		list[i] = n.FinderPattern
	}
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

func (s *scanner) search(v view, p try) {
	all := s.centres(v)
	used := map[*detector.FinderPattern]bool{}
	tries, good := 0, 0
	for _, t := range triples(all) {
		if used[t.corner] || used[t.one] || used[t.other] {
			continue
		}
		isLikely := t.badness < likelyBadness
		if len(s.found) >= s.max || p.otherFound && !isLikely {
			break
		}
		if tries++; tries > max(leastTries, triesPerCentre*len(all)) || s.budget <= 0 {
			s.cut = s.cut || isLikely
			break
		}
		symbol, ok := s.read(t)
		switch {
		case ok:
			used[t.corner], used[t.one], used[t.other] = true, true, true
			symbol.Inverted = p.inverted
			symbol.scale(1 / v.scale)
			s.found = append(s.found, symbol)
		case isLikely:
			good++
		}
	}
	s.rest = good
}
