package decode

import (
	"context"
	"errors"
	"image"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
)

// Whatever the bytes, there is a report that is in order, or the image is too large; the time is bounded.
func FuzzDecode(f *testing.F) {
	f.Add(asPNG(f, drawn(f, link, 64)))
	f.Add(asPNG(f, noisy(drawn(f, "1234", 64), 100)))
	f.Add(asPNG(f, drawn(f, link, 64).SubImage(image.Rect(0, 0, 40, 40))))
	for _, data := range foreignImages(f) {
		f.Add(data)
	}
	f.Add([]byte("GIF89a\x02\x00\x02\x00\x00\x00\x00;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 1<<16 {
			return
		}
		if header, err := raster.Probe(data); err == nil && header.Width*header.Height > 1<<18 {
			return // slow for a fuzzer
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := Decode(ctx, nil, Request{Image: data})
		if _, large := errors.AsType[*raster.TooLargeError](err); large {
			return
		}
		require.NoError(t, err)
		require.Equal(t, r.Found, len(r.Codes) > 0)
		require.Equal(t, r.CodesCount, len(r.Codes))
		require.NotEmpty(t, r.Headline)
		if !r.Found {
			require.Contains(t, []diag.Code{"qr.image.unreadable", "qr.code.missing"}, r.Findings[0].Code)
		}
		for _, c := range r.Codes {
			require.Len(t, c.Position, 4)
			require.Equal(t, c.IsUTF8, c.Bytes == nil)
		}
	})
}
