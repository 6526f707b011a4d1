package scan

import (
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

// read reads the symbol of three finder patterns.
func (s *scanner) read(t triple) (symbol Symbol, ok bool) {
	f := s.frame(t)
	for _, dimension := range f.dimensions() {
		if s.budget <= 0 {
			break
		}
		if symbol, ok := s.readAs(f, dimension); ok {
			return symbol, true
		}
	}
	return Symbol{}, false
}

// What it takes to read a module, in pixels that are examined.
const (
	sampleWork = 2
	decodeWork = 4
)

// A frame is the known position of a symbol.
type frame struct {
	topLeft, topRight, bottomLeft Point // centres of the finder patterns
	module                        float64
	modules                       float64 // between the centres
	corner                        Point   // of the symbol, where there is no finder pattern, if hasCorner
	hasCorner                     bool
}

// frame measures what lies around three finder patterns.
func (s *scanner) frame(t triple) frame {
	f := frame{topLeft: place(t.corner), topRight: place(t.one), bottomLeft: place(t.other)}
	across, down := f.topLeft.towards(f.topRight), f.topLeft.towards(f.bottomLeft)
	// Between two places of a line seen at an angle the mean size of a module is the geometric one.
	alongTop := math.Sqrt(s.moduleAlong(f.topLeft, across, t.module) * s.moduleAlong(f.topRight, across, t.module))
	alongSide := math.Sqrt(s.moduleAlong(f.topLeft, down, t.module) * s.moduleAlong(f.bottomLeft, down, t.module))
	f.module = (alongTop + alongSide) / 2
	f.modules = (f.topLeft.distance(f.topRight)/alongTop + f.topLeft.distance(f.bottomLeft)/alongSide) / 2
	a, b, ok := s.side(f.topRight, across, down, f.module)
	c, d, ok2 := s.side(f.bottomLeft, down, across, f.module)
	if ok && ok2 {
		f.corner, f.hasCorner = meet(a, b, c, d)
	}
	return f
}

// dimensions are numbers of modules a side that the symbol may have, the likeliest first.
func (f *frame) dimensions() (list []int) {
	exact := (f.modules + 7 - 17) / 4
	version := int(math.Round(exact))
	next := 1
	if exact < float64(version) {
		next = -1
	}
	candidates := []int{version, version + next, version - next}
	if version >= 7 {
		candidates = append(candidates, version+2*next, version-2*next)
	}
	for _, v := range candidates {
		if v >= 1 && v <= 40 {
			list = append(list, 17+4*v)
		}
	}
	return list
}

// readAs reads a symbol of so many modules a side, by one mapping after the other.
func (s *scanner) readAs(f frame, dimension int) (Symbol, bool) {
	var best mapping
	fewest := math.Inf(1)
	try := func(m mapping) (Symbol, bool) {
		s.budget -= sampleWork * dimension * dimension
		grid, ok := s.sample(m, dimension)
		if !ok {
			return Symbol{}, false
		}
		wrong := grid.wrong()
		if wrong < fewest {
			best, fewest = m, wrong
		}
		if wrong > maxWrong {
			return Symbol{}, false
		}
		s.budget -= decodeWork * dimension * dimension
		symbol, ok := decode(grid)
		if ok {
			s.place(&symbol, m, dimension)
		}
		return symbol, ok
	}
	for _, m := range s.mappings(f, dimension) {
		if symbol, ok := try(m); ok {
			return symbol, true
		}
	}
	if dimension < 45 || fewest > 2*maxWrong { // version 7: more than one alignment pattern
		return Symbol{}, false
	}
	mesh, ok := s.mesh(best, dimension)
	if !ok {
		return Symbol{}, false
	}
	return try(mesh)
}

// mappings are several guesses of how the modules lie.
func (s *scanner) mappings(f frame, dimension int) (list []mapping) {
	d := float64(dimension)
	centres := quad{{3.5, 3.5}, {d - 3.5, 3.5}, {}, {3.5, d - 3.5}}
	pixels := quad{f.topLeft, f.topRight, {}, f.bottomLeft}
	with := func(from, to Point) mapping {
		centres[2], pixels[2] = from, to
		return project(centres, pixels)
	}
	flat := with(Point{d - 3.5, d - 3.5}, f.topRight.plus(f.bottomLeft).minus(f.topLeft))
	guesses := []mapping{flat}
	if f.hasCorner {
		guesses = append(guesses, with(Point{d, d}, f.corner))
	}
	if dimension > 21 {
		near := Point{d - 6.5, d - 6.5}
		for i, guess := range guesses {
			reach := 16.0
			if i > 0 {
				reach = 8
			}
			if p, ok := s.alignment(at(guess, near), f.module, reach); ok {
				list = append(list, with(near, p))
			}
		}
	}
	for i := range guesses { // that of the corner first
		list = append(list, guesses[len(guesses)-1-i])
	}
	return list
}

// alignment looks for an alignment pattern around a place, first near, then as far as so many modules.
func (s *scanner) alignment(p Point, module, reach float64) (Point, bool) {
	for near := min(4, reach); near <= reach; near *= 2 {
		d := near * module
		left, top := int(max(0, p.X-d)), int(max(0, p.Y-d))
		right, bottom := int(min(float64(s.bits.GetWidth()-1), p.X+d)), int(min(float64(s.bits.GetHeight()-1), p.Y+d))
		if float64(right-left) < 3*module || float64(bottom-top) < 3*module {
			continue
		}
		s.budget -= (right - left) * (bottom - top) / 2
		finder := detector.NewAlignmentPatternFinder(s.bits, left, top, right-left, bottom-top, module, nil)
		if found, err := finder.Find(); err == nil {
			return place(found), true
		}
	}
	return Point{}, false
}

// A grid holds the modules of a symbol, by rows.
type grid struct {
	side int
	dark []bool
}

func (g *grid) at(x, y int) bool { return g.dark[y*g.side+x] }

// sample reads the modules through a mapping. Most of them must lie in the image.
func (s *scanner) sample(m mapping, side int) (*grid, bool) {
	g := &grid{side, make([]bool, side*side)}
	points := make([]float64, 2*side)
	outside := 0
	w, h := s.bits.GetWidth(), s.bits.GetHeight()
	for y := range side {
		for x := range side {
			points[2*x], points[2*x+1] = float64(x)+.5, float64(y)+.5
		}
		m.TransformPoints(points)
		for x := range side {
			px, py := int(math.Floor(points[2*x])), int(math.Floor(points[2*x+1]))
			if px < 0 || py < 0 || px >= w || py >= h {
				if outside++; outside > side*side/10 {
					return nil, false
				}
				continue
			}
			g.dark[y*side+x] = s.bits.Get(px, py)
		}
	}
	return g, true
}

// maxWrong is the share of function modules that may be wrong where it is worth to try and correct the rest.
const maxWrong = .28

// wrong is the share of modules of the timing lines that have not the color that they must have.
func (g *grid) wrong() float64 {
	wrong, n := 0, 0
	for i := 8; i < g.side-8; i++ {
		for _, isDark := range []bool{g.at(i, 6), g.at(6, i)} {
			if n++; isDark != (i%2 == 0) {
				wrong++
			}
		}
	}
	return float64(wrong) / float64(n)
}

// matrix gives the grid to the library, mirrored if asked for.
func (g *grid) matrix(mirrored bool) *gozxing.BitMatrix {
	out, _ := gozxing.NewSquareBitMatrix(g.side) // fails for no side that there is
	for y := range g.side {
		for x := range g.side {
			if g.at(x, y) && mirrored {
				out.Set(y, x)
			} else if g.at(x, y) {
				out.Set(x, y)
			}
		}
	}
	return out
}

// A mesh is a mapping made of many: between neighbouring alignment patterns the paper is taken for flat.
type mesh struct {
	lines []float64 // coordinates of the patterns, in modules, in both directions
	parts [][]mapping
}

func (s *scanner) mesh(m mapping, dimension int) (*mesh, bool) {
	version, err := decoder.Version_GetVersionForNumber((dimension - 17) / 4)
	if err != nil {
		return nil, false
	}
	centres := version.GetAlignmentPatternCenters()
	n, found := len(centres), 0
	pixels := make([][]Point, n)
	module := at(m, Point{float64(dimension) / 2, float64(dimension) / 2}).
		distance(at(m, Point{float64(dimension)/2 + 1, float64(dimension) / 2}))
	for j, y := range centres {
		pixels[j] = make([]Point, n)
		for i, x := range centres {
			p := at(m, Point{float64(x) + .5, float64(y) + .5})
			if j > 0 && i > 0 { // as far off as its neighbors were
				q := Point{float64(centres[i-1]) + .5, float64(centres[j-1]) + .5}
				p = p.plus(pixels[j-1][i-1].minus(at(m, q)))
			}
			isFinder := i == 0 && j == 0 || i == 0 && j == n-1 || i == n-1 && j == 0
			if q, ok := s.alignment(p, module, 2.5); ok && !isFinder {
				p = q
				found++
			}
			pixels[j][i] = p
		}
	}
	out := &mesh{parts: make([][]mapping, n-1)}
	for _, c := range centres {
		out.lines = append(out.lines, float64(c)+.5)
	}
	l := out.lines
	for j := range n - 1 {
		for i := range n - 1 {
			out.parts[j] = append(out.parts[j], project(
				quad{{l[i], l[j]}, {l[i+1], l[j]}, {l[i+1], l[j+1]}, {l[i], l[j+1]}},
				quad{pixels[j][i], pixels[j][i+1], pixels[j+1][i+1], pixels[j+1][i]}))
		}
	}
	return out, found > 0
}

// TransformPoints implements mapping.
func (m *mesh) TransformPoints(points []float64) {
	for k := 0; k < len(points); k += 2 {
		i, j := m.part(points[k]), m.part(points[k+1])
		m.parts[j][i].TransformPoints(points[k : k+2])
	}
}

// part is which part a coordinate lies in, or is next to.
func (m *mesh) part(v float64) int {
	i := 0
	for i < len(m.parts)-1 && v > m.lines[i+1] {
		i++
	}
	return i
}
