package scan

import (
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/common/reedsolomon"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// A Symbol is a QR code that was read.
type Symbol struct {
	Version  int    // 1 to 40
	Level    string // L, M, Q or H
	Mask     int    // 0 to 7
	Errors   int    // codewords that were corrected
	Capacity int    // codewords that could have been, evenly spread
	Mirrored bool
	Inverted bool     // light modules on a dark ground
	Corners  [4]Point // clockwise from the symbol's own top left, as it is read
	Content  *Content
	Quiet    float64 // width of the light margin on its narrowest side, in modules, 4 at most

	data    []byte // codewords
	finders [3]Point
	module  float64 // size
}

// decode reads modules, also mirrored.
func decode(g *grid) (Symbol, bool) {
	if symbol, ok := decodeMatrix(g.matrix(false)); ok {
		return symbol, true
	}
	symbol, ok := decodeMatrix(g.matrix(true))
	symbol.Mirrored = ok
	return symbol, ok
}

// decodeMatrix reads modules and corrects errors.
func decodeMatrix(bits *gozxing.BitMatrix) (Symbol, bool) {
	parser, err := decoder.NewBitMatrixParser(bits)
	if err != nil {
		return Symbol{}, false
	}
	version, err := parser.ReadVersion()
	if err != nil || version == nil {
		return Symbol{}, false
	}
	format, err := parser.ReadFormatInformation()
	if err != nil {
		return Symbol{}, false
	}
	words, err := parser.ReadCodewords()
	if err != nil {
		return Symbol{}, false
	}
	level := format.GetErrorCorrectionLevel()
	blocks, err := decoder.DataBlock_GetDataBlocks(words, version, level)
	if err != nil {
		return Symbol{}, false
	}
	symbol := Symbol{Version: version.GetVersionNumber(), Level: level.String(), Mask: int(format.GetDataMask())}
	for _, b := range blocks {
		if !symbol.correct(b.GetCodewords(), b.GetNumDataCodewords()) {
			return Symbol{}, false
		}
	}
	symbol.Content, err = readContent(symbol.data, symbol.Version)
	return symbol, err == nil
}

// correct appends the corrected data of a block.
func (s *Symbol) correct(words []byte, data int) bool {
	ints := make([]int, len(words))
	for i, w := range words {
		ints[i] = int(w)
	}
	redundant := len(words) - data
	rs := reedsolomon.NewReedSolomonDecoder(reedsolomon.GenericGF_QR_CODE_FIELD_256)
	if err := rs.Decode(ints, redundant); err != nil {
		return false
	}
	for i, w := range words {
		if int(w) != ints[i] {
			s.Errors++
		}
		if i < data {
			s.data = append(s.data, byte(ints[i]))
		}
	}
	s.Capacity += redundant / 2
	return true
}

func (s *scanner) place(symbol *Symbol, m mapping, dimension int) {
	d := float64(dimension)
	symbol.Corners = [4]Point{at(m, Point{}), at(m, Point{d, 0}), at(m, Point{d, d}), at(m, Point{0, d})}
	symbol.finders = [3]Point{at(m, Point{3.5, 3.5}), at(m, Point{d - 3.5, 3.5}), at(m, Point{3.5, d - 3.5})}
	symbol.module = symbol.finders[0].distance(symbol.finders[1]) / (d - 7)
	symbol.Quiet = s.quiet(m, dimension)
	if symbol.Mirrored { // its top right is what the mapping has at the bottom left
		symbol.Corners[1], symbol.Corners[3] = symbol.Corners[3], symbol.Corners[1]
	}
}

// quiet measures the light margin: how many rows of modules around the symbol are light nearly everywhere. What lies
// beyond the edge of the image is taken for light paper.
func (s *scanner) quiet(m mapping, dimension int) float64 {
	const margin, tolerated = 4, .15 // modules (ISO/IEC 18004 section 6.3.8); share of dark ones that may be noise
	for row := range margin {
		out, d := float64(row)+.5, float64(dimension)
		for side := range 4 {
			points := make([]float64, 0, 2*dimension)
			for i := range dimension {
				along := float64(i) + .5
				p := [...]Point{{along, -out}, {d + out, along}, {along, d + out}, {-out, along}}[side]
				points = append(points, p.X, p.Y)
			}
			m.TransformPoints(points)
			dark := 0
			for i := 0; i < len(points); i += 2 {
				if s.bits.Get(int(math.Floor(points[i])), int(math.Floor(points[i+1]))) {
					dark++
				}
			}
			if float64(dark) > tolerated*d {
				return float64(row)
			}
		}
	}
	return margin
}

// Centre is where the diagonals would cross if there were no perspective.
func (s *Symbol) Centre() (c Point) {
	for _, p := range s.Corners {
		c = c.plus(p.times(.25))
	}
	return c
}

// Height is how far the symbol reaches from the top to the bottom.
func (s *Symbol) Height() float64 {
	top, bottom := s.Corners[0].Y, s.Corners[0].Y
	for _, p := range s.Corners {
		top, bottom = min(top, p.Y), max(bottom, p.Y)
	}
	return bottom - top
}

// owns reports whether a point is one of the symbol's finder patterns. Other patterns inside of it may be another
// symbol: there are such nests.
func (s *Symbol) owns(p Point) bool {
	for _, f := range s.finders {
		if p.distance(f) < 4*s.module {
			return true
		}
	}
	return false
}

// scale turns places in a view into places in the image.
func (s *Symbol) scale(by float64) {
	for i := range s.Corners {
		s.Corners[i] = s.Corners[i].times(by)
	}
	for i := range s.finders {
		s.finders[i] = s.finders[i].times(by)
	}
	s.module *= by
}
