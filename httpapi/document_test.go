package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The OpenAPI document may be kept and is sent compressed; an unchanged one is not sent again.
func TestServingTheDocument(t *testing.T) {
	a := newAPI(t, "self", nil)
	get := func(method string, headers ...string) *reply {
		c := attempt{method, openapiPath, "", http.Header{}, ""}
		for i := 0; i < len(headers); i += 2 {
			c.header.Set(headers[i], headers[i+1])
		}
		return a.do(c)
	}
	plain := get("GET")
	require.Equal(t, 200, plain.Code)
	assert.Equal(t, Endpoints().OpenAPI(), plain.Body.Bytes())
	assert.Equal(t, []string{"public, no-cache"}, plain.Result().Header["Cache-Control"])
	assert.Equal(t, "Accept-Encoding", plain.header("Vary"))
	assert.Empty(t, plain.header("Content-Encoding"))

	zipped := get("GET", "Accept-Encoding", "br;q=1, GZIP ; q=0.5")
	assert.Equal(t, "gzip", zipped.header("Content-Encoding"))
	assert.Less(t, zipped.Body.Len(), plain.Body.Len()/5)
	r, err := gzip.NewReader(zipped.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(plain.Body.Bytes(), text))
	assert.NotEqual(t, plain.header("Etag"), zipped.header("Etag"))
	for _, none := range []string{"gzip;q=0", "identity", "gzip; q=x"} {
		assert.Empty(t, get("GET", "Accept-Encoding", none).header("Content-Encoding"), none)
	}

	for _, tags := range []string{plain.header("Etag"), "W/" + plain.header("Etag"), `"x", ` + zipped.header("Etag"), "*"} {
		same := get("GET", "If-None-Match", tags)
		assert.Equal(t, 304, same.Code, tags)
		assert.Empty(t, same.Body.String())
		assert.Equal(t, plain.header("Etag"), same.header("Etag"))
	}
	assert.Equal(t, 200, get("GET", "If-None-Match", `"x"`).Code)
	head := get("HEAD")
	assert.Empty(t, head.Body.String())
	assert.Equal(t, decimal(int64(plain.Body.Len())), head.header("Content-Length"))
	assert.Equal(t, "no-store", a.post("/text/lower", `{"text":""}`).header("Cache-Control"))
}
