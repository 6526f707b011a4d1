//go:build !race

// Under the race detector these images take minutes; `.ci/run` reads them without it.

package scan

import (
	"context"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
)

// load reads an image file.
func load(t testing.TB, file string) *raster.Gray {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	header, err := raster.Probe(data)
	require.NoError(t, err, file)
	img, err := raster.Read(context.Background(), data, header, 255)
	require.NoError(t, err, file)
	return img
}

// rotated turns an image by a quarter.
func rotated(in *raster.Gray) *raster.Gray {
	out := &raster.Gray{Width: in.Height, Height: in.Width, Factor: in.Factor, Pix: make([]byte, len(in.Pix))}
	for y := range in.Height {
		for x := range in.Width {
			out.Pix[x*out.Width+out.Width-1-y] = in.Pix[y*in.Width+x]
		}
	}
	return out
}

// readElsewhere reports whether a plain reader, with a search of its own, reads the same text. An image may hold another
// code than the one that its text file knows, such as a code in a code: that is not a misreading.
func readElsewhere(img *raster.Gray, texts []string) bool {
	gray := &image.Gray{Pix: img.Pix, Stride: img.Width, Rect: image.Rect(0, 0, img.Width, img.Height)}
	bitmap, err := gozxing.NewBinaryBitmapFromImage(gray)
	if err != nil {
		return false
	}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	return err == nil && slices.Contains(texts, lines(result.GetText()))
}

// leastRead is the share of renderings that must be read, in percent.
const leastRead = 82

// Photos and drawings of codes are read in all four rotations, and none is read wrongly.
func TestConformanceRenderings(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	files := diagtest.Suite(t, "web/qr/*qrcode-*/*.txt")
	right, total := 0, 0
	var times []time.Duration
	for _, file := range files {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		pictures, err := filepath.Glob(strings.TrimSuffix(file, "txt") + "[^t]*")
		require.NoError(t, err)
		require.Len(t, pictures, 1, file)
		img := load(t, pictures[0])
		for quarter := range 4 {
			begin := time.Now()
			found, whole, err := Scan(t.Context(), img, 10)
			require.True(t, whole || len(found) == 0, "%s: all of it can be searched", pictures[0])
			times = append(times, time.Since(begin))
			require.NoError(t, err)
			total++
			switch texts := textsOf(found); {
			case slices.Contains(texts, lines(string(want))):
				right++
			case len(texts) > 0 && !readElsewhere(img, texts):
				t.Errorf("%s, turned by %d: %q instead of %q", pictures[0], 90*quarter, texts, want)
			default:
				t.Logf("%s, turned by %d: %q", pictures[0], 90*quarter, texts)
			}
			img = rotated(img)
		}
	}
	slices.Sort(times)
	t.Logf("renderings: %d/%d; median %v, 99 %% within %v, worst %v", right, total,
		times[len(times)/2], times[len(times)*99/100], times[len(times)-1])
	require.GreaterOrEqual(t, 100*right, leastRead*total)
}

func textsOf(found []Symbol) (texts []string) {
	for _, s := range found {
		texts = append(texts, lines(s.Content.Text()))
	}
	return texts
}

// lines leaves out how lines end, of which the files beside the images know nothing.
func lines(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}
