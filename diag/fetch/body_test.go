package fetch_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

func compressed(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestDoBody(t *testing.T) {
	var zlibbed bytes.Buffer
	z := zlib.NewWriter(&zlibbed)
	io.WriteString(z, "hello")
	z.Close()
	deflated := zlibbed.String()[2 : zlibbed.Len()-4]
	zipped := compressed(t, "hello")

	tests := []struct {
		name, coding, sent string
		body               string
		truncated          bool
		message            string
	}{
		{"plain", "", "hello", "hello", false, ""},
		{"identity", "identity", "hello", "hello", false, ""},
		{"gzip", "gzip", zipped, "hello", false, ""},
		{"gzip in capitals", "GZIP", zipped, "hello", false, ""},
		{"gzip without a body", "gzip", "", "", false, ""},
		{"deflate", "deflate", zlibbed.String(), "hello", false, ""},
		{"deflate without its wrapping", "deflate", deflated, "hello", false, ""},
		{"deflate without a body", "deflate", "", "", false, ""},
		{"exactly the limit", "", strings.Repeat("a", 100), strings.Repeat("a", 100), false, ""},
		{"above the limit", "", strings.Repeat("a", 101), strings.Repeat("a", 100), true, ""},
		{"above the limit expanded", "gzip", compressed(t, strings.Repeat("a", 101)), strings.Repeat("a", 100),
			true, ""},
		{"no gzip at all", "gzip", "hello hello hello", "", true, "cannot be decompressed"},
		{"short, and no gzip at all", "gzip", "hello", "", true, "cannot be decompressed"},
		{"no deflate at all", "deflate", "hello hello hello", "", true, "cannot be decompressed"},
		{"no coding", "none", "hello", "hello", false, ""},
		{"a charset", "UTF-8", "hello", "hello", false, ""},
		{"gzip and no coding", "gzip, aws-chunked", zipped, zipped, false, ""},
		{"identity and gzip", "identity, gzip", zipped, "hello", false, ""},
		{"gzip twice, as it says", "gzip, gzip", compressed(t, zipped), "hello", false, ""},
		{"gzip twice, and once it says", "gzip", compressed(t, zipped), zipped, false, ""},
		{"four times", "gzip, gzip, gzip, gzip", "hello", "", true, "was not asked for: gzip, gzip, gzip, gzip"},
		{"gzip cut off", "gzip", zipped[:len(zipped)-6], "hello", true, "broke off"},
		{"gzip with a wrong sum", "gzip", zipped[:len(zipped)-5] + "?????", "hello", true, "cannot be decompressed"},
		{"brotli", "br", "hello", "", true, "was not asked for: br"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tt.coding)
				io.WriteString(w, tt.sent)
			}))
			req := get("https://example.com/")
			req.MaxBytes = 100
			r := do(t, w, req)
			message := ""
			if r.Err != nil {
				message = r.Err.Message
				require.Equal(t, fetch.Protocol, r.Err.Code)
			}
			require.Contains(t, message, tt.message)
			require.Equal(t, tt.message == "", r.Err == nil)
			require.Equal(t, tt.body, string(r.Body))
			require.Equal(t, tt.truncated, r.Truncated)
			require.NotNil(t, r.Final(), "the head was fine")

			req.Raw, req.MaxBytes = true, 1000
			r = do(t, w, req)
			require.Nil(t, r.Err)
			require.Equal(t, tt.sent, string(r.Body))
			require.EqualValues(t, len(tt.sent), r.TransferBytes)
		})
	}
}

func TestDoBodyBreaksOff(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTP("example.com", rawText("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
	r := do(t, w, get("http://example.com/"))
	require.Equal(t, fetch.Protocol, r.Err.Code)
	require.Equal(t, "hello", string(r.Body))
	require.True(t, r.Truncated)
}

func TestDoHead(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", text("hello"))
	req := get("https://example.com/")
	req.Method = http.MethodHead
	r := do(t, w, req)
	require.Nil(t, r.Err)
	require.Equal(t, "5", r.Final().Header.Get("Content-Length"))
	require.Empty(t, r.Body)
}

func TestDoIPv6Literal(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Site(diagtest.Site{Host: "2001:db8::80", Plain: true, Handler: text("six")})
	r := do(t, w, get("http://[2001:db8::80]/"))
	require.Nil(t, r.Err)
	require.Equal(t, "2001:db8::80", r.Final().IP.String())
}
