package qr

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"strconv"
	"testing"

	"github.com/makiuchi-d/gozxing"
	multi "github.com/makiuchi-d/gozxing/multi/qrcode"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/stretchr/testify/require"
)

// read decodes an image of dark modules on a light ground with an independent reader.
func read(t testing.TB, img image.Image) string {
	t.Helper()
	text, err := tryRead(img)
	require.NoError(t, err, "the image is unreadable")
	return text
}

// tryRead gives the text, or what each attempt ran into.
func tryRead(img image.Image) (string, error) {
	source := gozxing.NewLuminanceSourceFromImage(img)
	pure := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true}
	var errs []error
	for _, binarizer := range []gozxing.Binarizer{
		gozxing.NewGlobalHistgramBinarizer(source), gozxing.NewHybridBinarizer(source),
	} {
		bitmap, err := gozxing.NewBinaryBitmap(binarizer)
		if err != nil {
			return "", err
		}
		result, err := qrcode.NewQRCodeReader().Decode(bitmap, pure)
		if err == nil {
			return result.GetText(), nil
		}
		results, errMulti := multi.NewQRCodeMultiReader().DecodeMultiple(bitmap, nil)
		if errMulti == nil && len(results) > 0 {
			return results[0].GetText(), nil
		}
		errs = append(errs, err, errMulti)
	}
	return "", errors.Join(errs...)
}

// pixels decodes the file of an image and lays it on a white page.
func pixels(t testing.TB, img *Image) draw.Image {
	t.Helper()
	decoded := rasterise
	if img.ContentType != "image/svg+xml" {
		decoded = func(t testing.TB, data []byte) image.Image {
			out, kind, err := image.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, img.ContentType, "image/"+kind)
			return out
		}
	}
	file := decoded(t, img.Data)
	page := image.NewNRGBA(file.Bounds())
	draw.Draw(page, page.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(page, page.Bounds(), file, image.Point{}, draw.Over)
	return page
}

// svgFile is the subset of SVG that the tests read, which is all that svg writes.
type svgFile struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Width   int      `xml:"width,attr"`
	Height  int      `xml:"height,attr"`
	ViewBox string   `xml:"viewBox,attr"`
	Paths   []struct {
		Fill string `xml:"fill,attr"`
		D    string `xml:"d,attr"`
	} `xml:"path"`
}

var (
	bar    = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`)
	ground = regexp.MustCompile(`^M0 0h(\d+)v(\d+)H0z$`)
)

// rasterise draws an SVG file of [picture.svg] with four pixels a module, whatever its size.
func rasterise(t testing.TB, data []byte) image.Image {
	t.Helper()
	const scale = 4
	var file svgFile
	require.NoError(t, xml.Unmarshal(data, &file))
	require.Equal(t, file.Width, file.Height)
	var side int
	_, err := fmt.Sscanf(file.ViewBox, "0 0 %d", &side)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("0 0 %d %d", side, side), file.ViewBox)
	out := image.NewNRGBA(image.Rect(0, 0, side*scale, side*scale))
	for _, path := range file.Paths {
		c, ok := parseColour(path.Fill)
		require.True(t, ok, path.Fill)
		fillColour := image.NewUniform(color.NRGBA{R: c[0], G: c[1], B: c[2], A: 255})
		if m := ground.FindStringSubmatch(path.D); m != nil {
			require.Equal(t, []string{strconv.Itoa(side), strconv.Itoa(side)}, m[1:])
			draw.Draw(out, out.Rect, fillColour, image.Point{}, draw.Src)
			continue
		}
		require.Empty(t, bar.ReplaceAllString(path.D, ""), "all of the path is bars")
		for _, m := range bar.FindAllStringSubmatch(path.D, -1) {
			require.Equal(t, m[3], m[4])
			x, y, w := number(t, m[1]), number(t, m[2]), number(t, m[3])
			r := image.Rect(x*scale, y*scale, (x+w)*scale, (y+1)*scale)
			require.True(t, r.In(out.Rect))
			draw.Draw(out, r, fillColour, image.Point{}, draw.Src)
		}
	}
	return out
}

func number(t testing.TB, text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
