package scan

import (
	"context"

	"github.com/diagkit/diagkit/webcheck/qr/raster"
	"github.com/makiuchi-d/gozxing"
)

// A scanner looks for symbols in one image.
type scanner struct {
	img    *raster.Gray
	max    int
	found  []Symbol
	bits   *gozxing.BitMatrix // of the view: dark pixels are set
	budget int                // work that is left
	rest   int                // likely triples of finder patterns in the view that gave no symbol
	cut    bool               // a limit ended the search of the view while there was something left to try
}

// A view is the image, changed so that something may be seen in it.
type view struct {
	img   *raster.Gray
	scale float64 // pixels of the view for one of the image
}

// Once a symbol is found, few more tries are made, and only while there are likely candidates.
const triesWithSymbol = 5

// Scan returns the symbols in an image, at most max of them, in no particular order, and whether all of the image was
// searched: false if a limit ended that while there was something left that may be a symbol. The error is that of the
// context.
func Scan(ctx context.Context, img *raster.Gray, max int) (found []Symbol, whole bool, err error) {
	s := &scanner{img: img, max: max, budget: min(mostWork, leastWork+workPerPixel*len(img.Pix))}
	for i, p := range plan {
		if len(s.found) >= max || s.budget <= 0 || len(s.found) > 0 && (i >= triesWithSymbol || s.rest == 0 && !s.cut) {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if v, ok := p.view(s); ok {
			s.try(v, p)
		}
	}
	return s.found, !s.cut, nil
}

func (s *scanner) try(v view, p try) {
	source := &luminance{img: v.img}
	binarizer := gozxing.NewHybridBinarizer(source)
	if p.global {
		binarizer = gozxing.NewGlobalHistgramBinarizer(source)
	}
	s.budget -= len(v.img.Pix)
	bits, err := binarizer.GetBlackMatrix()
	if err != nil {
		return // there is no contrast
	}
	if p.inverted {
		bits.FlipAll()
	}
	s.bits = bits
	s.search(v, p)
}

// luminance hands an image to the library.
type luminance struct {
	gozxing.LuminanceSource // for methods that nobody calls
	img                     *raster.Gray
}

func (l *luminance) GetRow(y int, _ []byte) ([]byte, error) {
	return l.img.Pix[y*l.img.Width:][:l.img.Width], nil
}
func (l *luminance) GetMatrix() []byte { return l.img.Pix }
func (l *luminance) GetWidth() int     { return l.img.Width }
func (l *luminance) GetHeight() int    { return l.img.Height }
