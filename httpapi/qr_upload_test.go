package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/webcheck/qr"
)

// An image comes as base64, as the file of a form, or as the whole body (CONTRACT 1.11). An image above the limits is
// refused before it is decoded, and free; a broken one is described by a finding, and charged (CONTRACT 1.4).
func TestImageUploads(t *testing.T) {
	at := slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Path == "/http/qr/decode" })
	a := newAPI(t, "self", nil, endpoints[at])
	img, err := qr.Encode(qr.Request{Data: "https://example.com/"})
	require.NoError(t, err)
	file := string(img.Data)
	inJSON := func(file string) string {
		return `{"image_base64":"` + base64.StdEncoding.EncodeToString([]byte(file)) + `"}`
	}
	upload, media := form(t, "file", "code.png", file, "max_codes", "", "1")
	const read = `"text":"https://example.com/"`
	for _, tt := range []struct {
		name, path, media, body string
		status                  int
		want                    string
	}{
		{"base64", "", jsonMedia, inJSON(file), 200, read},
		{"form", "", media, upload, 200, read},
		{"raw", "", "image/png", file, 200, read},
		{"the content decides", "", "image/webp", file, 200, read},
		{"raw with a field", "?max_codes=1", "image/png", file, 200, read},
		{"raw with a bad field", "?max_codes=51", "image/png", file, 400, reasonInvalid},
		{"raw with an unknown field", "?codes=5", "image/png", file, 400, reasonUnknown},
		{"SVG", "", "image/svg+xml", "<svg/>", 415, reasonMediaType},
		{"bytes of no type", "", "application/octet-stream", file, 415, reasonMediaType},
		{"no image", "", "image/png", "<html>", 200, "qr.image.unreadable"},
		{"cut off", "", "image/png", file[:len(file)/2], 200, "qr.image.unreadable"},
		{"nothing", "", "image/png", "", 400, reasonInvalid},
		{"a bomb", "", "image/png", bomb(40_000, 40_000), 413, reasonTooLarge},
		{"26 megapixels", "", "image/png", bomb(5_200, 5_000), 413, reasonTooLarge},
		{"more than 5 MiB", "", "image/png", file + string(make([]byte, 5<<20)), 413, reasonTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			used := a.used()
			r := a.post("/http/qr/decode"+tt.path, tt.body, "Content-Type", tt.media)
			require.Equal(t, tt.status, r.Code, "%s", r.Body)
			require.Contains(t, r.Body.String(), tt.want)
			if tt.status == http.StatusOK {
				used += 2
			}
			require.Equal(t, used, a.used())
		})
	}
}

// bomb returns the beginning of a PNG file of so many pixels, of which nothing else is read.
func bomb(width, height int) string {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(width))
	b = binary.BigEndian.AppendUint32(b, uint32(height))
	return string(b) + "\x01\x00\x00\x00\x00" + "\x00\x00\x00\x00"
}
