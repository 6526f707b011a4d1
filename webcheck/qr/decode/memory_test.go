//go:build !race && linux

package decode

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
)

// The race detector takes memory and time of its own.

// maxResident bounds what decoding adds to a process that has a memory limit, in bytes.
const maxResident = 64 << 20

// maxTime bounds the time that decoding takes of one core.
const maxTime = 2 * time.Second

// hostile are images that take as much time or memory as any.
func hostile() map[string]func(t testing.TB) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(width, height, most int) *image.Gray {
		img := image.NewGray(image.Rect(0, 0, width, height))
		for i := range img.Pix {
			img.Pix[i] = byte(random.IntN(most) * 255 / (most - 1))
		}
		return img
	}
	asJPEG := func(t testing.TB, img image.Image, quality int) []byte {
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}))
		return b.Bytes()
	}
	tiles := func(side, module int) *image.Gray {
		img := image.NewGray(image.Rect(0, 0, side, side))
		for y := range side {
			for x := range side {
				a, b := x/module%8, y/module%8
				if ring := max(a-3, 3-a, b-3, 3-b); a == 7 || b == 7 || ring == 2 {
					img.Pix[y*side+x] = 255
				}
			}
		}
		return img
	}
	return map[string]func(t testing.TB) []byte{
		"noise":                func(t testing.TB) []byte { return asPNG(t, noise(2000, 2000, 2)) },
		"grey noise":           func(t testing.TB) []byte { return asPNG(t, noise(2200, 2200, 256)) },
		"narrow noise":         func(t testing.TB) []byte { return asPNG(t, noise(40_000, 100, 2)) },
		"tiles":                func(t testing.TB) []byte { return asPNG(t, tiles(2000, 3)) },
		"small tiles":          func(t testing.TB) []byte { return asPNG(t, tiles(2000, 1)) },
		"large tiles":          func(t testing.TB) []byte { return asPNG(t, tiles(5000, 8)) },
		"25 megapixels of PNG": func(t testing.TB) []byte { return asPNG(t, image.NewNRGBA(image.Rect(0, 0, 5000, 5000))) },
		"25 megapixels of JPEG": func(t testing.TB) []byte {
			img := image.NewYCbCr(image.Rect(0, 0, 5000, 5000), image.YCbCrSubsampleRatio420)
			page := drawn(t, link, 4000)
			for y := range 4000 {
				copy(img.Y[y*img.YStride:], page.Pix[y*page.Stride:][:4000])
			}
			return asJPEG(t, img, 60)
		},
		"a page": func(t testing.TB) []byte {
			page := image.NewGray(image.Rect(0, 0, 2480, 3508))
			draw.Draw(page, page.Rect, image.White, image.Point{}, draw.Src)
			draw.Draw(page, image.Rect(1800, 2900, 2100, 3200), drawn(t, link, 300), image.Point{}, draw.Src)
			return asPNG(t, page)
		},
	}
}

// The memory that decoding an image takes stays below the bound, and so does the time.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	const variable = "DECODE_HOSTILE"
	if file := os.Getenv(variable); file != "" {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		measure(t, data)
		return
	}
	for name, make := range hostile() {
		if !diagtest.Sampled(name, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			file := t.TempDir() + "/image"
			require.NoError(t, os.WriteFile(file, make(t), 0o600))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostile$", "-test.v")
			cmd.Env = append(os.Environ(), variable+"="+file)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			require.NoError(t, err)
		})
	}
}

// measure decodes an image in a process of its own.
func measure(t *testing.T, data []byte) {
	header, err := raster.Probe(data)
	require.NoError(t, err)
	debug.SetMemoryLimit(32 << 20) // as a server under pressure has it: garbage goes before memory is asked for
	runtime.GC()
	before, began := resident(t), cpu(t)
	report, err := Decode(t.Context(), nil, Request{Image: data})
	require.NoError(t, err)
	grown, took := resident(t)-before, cpu(t)-began
	weight := (&Request{Image: data}).Memory()
	t.Logf("%d by %d pixels, %d KiB: found %v, %d MiB of %d (weight %d), %v", header.Width, header.Height, len(data)>>10,
		report.Found, grown>>20, maxResident>>20, weight>>20, took.Round(time.Millisecond))
	require.LessOrEqual(t, grown, int64(maxResident))
	require.LessOrEqual(t, weight, int64(maxResident))
	require.Less(t, took, maxTime)
}

// resident is the most that the process has held.
func resident(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// cpu is how long the process has worked.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
