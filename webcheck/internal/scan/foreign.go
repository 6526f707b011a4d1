package scan

import (
	"math"

	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/makiuchi-d/gozxing"
	aztec "github.com/makiuchi-d/gozxing/aztec/detector"
	"github.com/makiuchi-d/gozxing/datamatrix"
)

// A Symbology is a kind of code that is distinguished from QR codes and not read.
type Symbology string

// The symbologies.
const (
	MicroQR    Symbology = "Micro QR"    // ISO/IEC 18004
	RMQR       Symbology = "rMQR"        // ISO/IEC 23941
	DataMatrix Symbology = "Data Matrix" // ISO/IEC 16022
	Aztec      Symbology = "Aztec"       // ISO/IEC 24778
	PDF417     Symbology = "PDF417"      // ISO/IEC 15438
)

// Foreign returns what kind of code is in an image that has no QR code. It is empty without one, or if none is
// certain. Where a kind is recognized by its fixed patterns the code must not be seen at an angle.
func Foreign(img *raster.Gray) Symbology {
	binarizer := gozxing.NewHybridBinarizer(&luminance{img: img})
	bits, err := binarizer.GetBlackMatrix()
	if err != nil {
		return ""
	}
	s := &scanner{img: img, bits: bits}
	for range 2 { // dark on light, and inverted
		if kind := s.foreign(); kind != "" {
			return kind
		}
		s.bits.FlipAll()
	}
	return ""
}

func (s *scanner) foreign() Symbology {
	all := s.centres(view{s.img, 1})
	for _, c := range all[:min(len(all), mostSingle)] {
		if kind := s.single(place(c), c.GetEstimatedModuleSize()); kind != "" {
			return kind
		}
	}
	if s.hasStacked() {
		return PDF417
	}
	// What these two find was corrected by Reed-Solomon codes, and is therefore certain: the whole of a Data Matrix, and
	// the size that an Aztec code declares.
	bitmap, _ := gozxing.NewBinaryBitmap(ready{bits: s.bits})
	for _, hints := range []map[gozxing.DecodeHintType]any{nil, {gozxing.DecodeHintType_PURE_BARCODE: true}} {
		if r, err := datamatrix.NewDataMatrixReader().Decode(bitmap, hints); err == nil && r != nil {
			return DataMatrix
		}
	}
	for _, mirrored := range []bool{false, true} {
		if _, err := aztec.NewDetector(s.bits).Detect(mirrored); err == nil {
			return Aztec
		}
	}
	return ""
}

// ready is a binarizer whose work is done.
type ready struct {
	gozxing.Binarizer // for methods that are never called
	bits              *gozxing.BitMatrix
}

func (r ready) GetBlackMatrix() (*gozxing.BitMatrix, error) { return r.bits, nil }

// mostSingle bounds the finder patterns that are tried as the only one of a symbol.
const mostSingle = 20

// single returns what kind of symbol has one finder pattern at a place. Timing patterns go out from two corners of it,
// along the edges of the symbol.
func (s *scanner) single(centre Point, module float64) Symbology {
	for degrees := range 90 {
		sin, cos := math.Sincos(float64(degrees) * math.Pi / 180)
		across := Point{cos, sin}
		across = across.times(s.moduleAlong(centre, across, module))
		for range 4 {
			if kind := (finder{s, centre, across}).symbology(); kind != "" {
				return kind
			}
			across = across.turned()
		}
	}
	return ""
}

// turned is a direction turned clockwise by a right angle.
func (p Point) turned() Point { return Point{-p.Y, p.X} }

// A finder is the finder pattern of a symbol that goes out from it in one direction, and in that turned.
type finder struct {
	*scanner
	centre Point
	across Point // one module in the direction
}

// at is the place of a module; that of the middle of the pattern is 3, 3.
func (f finder) at(x, y float64) Point {
	return f.centre.plus(f.across.times(x - 3)).plus(f.across.turned().times(y - 3))
}

func (f finder) dark(p Point) bool { return f.bits.Get(int(math.Floor(p.X)), int(math.Floor(p.Y))) }

// symbology returns the kind of the symbol; empty if unknown. Data begin beyond a light line around the finder
// pattern.
func (f finder) symbology() Symbology {
	const size = 7 // modules
	for i := range size + 1 {
		if f.dark(f.at(size, float64(i))) || f.dark(f.at(float64(i), size)) {
			return ""
		}
	}
	wide, high := f.timing(f.at(3.5, 0), f.across), f.timing(f.at(0, 3.5), f.across.turned())
	if wide == 0 || high == 0 || !f.hasMargin(wide, high) {
		return ""
	}
	if wide == high && wide >= 11 && wide <= 17 {
		return MicroQR
	}
	if max(wide, high) >= 27 && min(wide, high) <= 17 {
		return RMQR
	}
	return ""
}

// hasMargin reports whether a symbol of so many modules has a light margin of one module.
func (f finder) hasMargin(wide, high int) bool {
	right, bottom := float64(wide), float64(high)
	for i := range max(wide, high) {
		x, y := float64(min(i, wide)), float64(min(i, high))
		if f.dark(f.at(x, -1)) || f.dark(f.at(-1, y)) || f.dark(f.at(x, bottom)) || f.dark(f.at(right, y)) {
			return false
		}
	}
	return true
}

// timing follows a timing pattern from the middle of the side of the finder pattern to where the quiet zone begins, and
// returns how many modules that side of the symbol has. It is 0 if something else is there. The patterns of rMQR are
// interrupted by dark parts of 3 modules.
func (f finder) timing(from, step Point) int {
	const steps, longest = 8, 140 // of a module; modules
	modules, run, dark := 4, 0, true
	for i := 1; i < longest*steps; i++ {
		if f.dark(from.plus(step.times((float64(i)-.5)/steps))) == dark {
			run++
			if !dark && run > steps*8/5 {
				return modules
			}
			continue
		}
		n := (run + steps/2) / steps
		if first := modules == 4; first && n != 3 || !first && n != 1 && !(dark && n == 3) {
			return 0
		}
		modules += n
		run, dark = 1, !dark
	}
	return 0
}
