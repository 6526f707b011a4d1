package scan

import (
	"github.com/makiuchi-d/gozxing"

	"github.com/diagkit/diagkit/webcheck/qr/raster"
)

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
