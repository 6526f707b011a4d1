package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// On POST an empty body needs no media type, whether its length was announced or not; on GET there is
// no body. Over real connections, since that is where lengths are not known.
func TestContent(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	server := httptest.NewServer(a.handler)
	defer server.Close()
	const announced, streamed = true, false
	for _, tt := range []struct {
		name, method, target, media, body string
		length                            bool
		want                              int
	}{
		{"POST without anything", "POST", "/books/b1/lend", "", "", announced, 200},
		{"POST of nothing", "POST", "/books/b1/lend", "", "", streamed, 200},
		{"POST of nothing with a media type", "POST", "/books/b1/lend", jsonMedia, "", announced, 200},
		{"POST of nothing as text", "POST", "/books/b1/lend", "text/plain", "", streamed, 200},
		{"POST", "POST", "/books/b1/lend", jsonMedia, `{"days":3}`, announced, 200},
		{"POST of a stream", "POST", "/books/b1/lend", jsonMedia, `{"days":3}`, streamed, 200},
		{"POST without a media type", "POST", "/books/b1/lend", "", `{"days":3}`, streamed, 415},
		{"POST of much", "POST", "/books/b1/lend", jsonMedia, `{"to":"` + strings.Repeat("x", defaultBody) + `"}`, streamed, 413},
		{"GET", "GET", "/books", "", "", announced, 200},
		{"GET with a media type", "GET", "/books", "text/plain", "", announced, 200},
		{"GET of nothing", "GET", "/books", "", "", streamed, 200},
		{"GET with a body", "GET", "/books", jsonMedia, `{}`, announced, 400},
		{"GET with a stream", "GET", "/books", jsonMedia, `{"limit":5}`, streamed, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(tt.body)
			if tt.length == streamed {
				body = io.MultiReader(body) // its length is not known
			}
			r, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+Prefix+tt.target, body)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+a.secret)
			if tt.media != "" {
				r.Header.Set("Content-Type", tt.media)
			}
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, tt.want, resp.StatusCode, "%s", text)
		})
	}
}

// A chunked body may turn out to be none.
func TestContentOfUnknownLength(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	for _, tt := range []struct {
		method, target, body string
		want                 int
	}{
		{"GET", "/books", "", 200}, {"GET", "/books", "x", 400},
		{"POST", "/books/b1/lend", "", 200}, {"POST", "/books/b1/lend", `{"days":0}`, 400}, {"POST", "/books/b1/lend", `{"days":1}`, 200},
	} {
		r := httptest.NewRequest(tt.method, Prefix+tt.target, io.MultiReader(strings.NewReader(tt.body)))
		require.Equal(t, int64(-1), r.ContentLength)
		r.Header = http.Header{"Authorization": {"Bearer " + a.secret}}
		if tt.body != "" {
			r.Header.Set("Content-Type", jsonMedia)
		}
		w := httptest.NewRecorder()
		a.handler.ServeHTTP(w, r)
		require.Equal(t, tt.want, w.Code, "%s %s: %s", tt.method, tt.body, w.Body)
	}
}

// A body that breaks off is no empty body.
func TestContentBreaksOff(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	r := httptest.NewRequest("POST", Prefix+"/books/b1/lend", io.MultiReader(brokenReader{}))
	r.Header.Set("Authorization", "Bearer "+a.secret)
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	require.Equal(t, 400, w.Code)
	require.Zero(t, a.used())
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A request with parameters is metered as any other: scope, price, rate, replay.
func TestParametersAreMetered(t *testing.T) {
	a := newAPI(t, "pack", nil, library()...)
	r := a.get("/books?limit=5")
	require.Equal(t, "1", r.header("X-Credits-Consumed"))
	require.Equal(t, "59", r.header("X-RateLimit-Remaining"))
	require.Equal(t, "5", a.post("/books/b1/lend", "").header("X-Credits-Consumed"))
	require.Equal(t, int64(6), a.used())

	_, reader := a.newKey(metering.MailRead)
	p := a.post("/books/b1/lend", "", "Authorization", "Bearer "+reader).problem()
	require.Equal(t, InsufficientScope, p.Code)
	require.Equal(t, "mail:write", p.Details.Required)
	require.Equal(t, 401, a.get("/books", "Authorization", "Bearer x").Code)
	require.Equal(t, 401, a.get("/books?nonsense", "Authorization", "Bearer x").Code, "the key comes first")
	require.Equal(t, int64(6), a.used())
}

// The path is part of a request. Idempotency keys of GET requests are ignored, valid or not.
func TestIdempotencyOfParameters(t *testing.T) {
	for _, tt := range []struct {
		name, method, key, first, second string
		want                             string // a status, or a replay
	}{
		{"the same", "POST", "0123456789", "/books/b1/lend", "/books/b1/lend", "replay"},
		{"another spelling of the path", "POST", "0123456789", "/books/b1/lend", "/books/%62%31/lend", "replay"},
		{"another id", "POST", "0123456789", "/books/b1/lend", "/books/b2/lend", "409"},
		{"GET", "GET", "0123456789", "/books?limit=5", "/books?limit=5", "200"},
		{"GET of something else", "GET", "0123456789", "/books/b1", "/books/b2", "200"},
		{"GET with a malformed key", "GET", "short", "/books/b1", "/books/b1", "200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, "self", nil, library()...)
			send := func(target string) *reply {
				header := http.Header{"Authorization": {"Bearer " + a.secret}, "Idempotency-Key": {tt.key}}
				return a.do(attempt{tt.method, Prefix + target, "", header, ""})
			}
			first := send(tt.first)
			require.Equal(t, 200, first.Code)
			paid := a.used()
			second := send(tt.second)
			got := fmt.Sprint(second.Code)
			if second.header("X-Idempotent-Replay") == "true" {
				got = "replay"
				require.Equal(t, first.Body.String(), second.Body.String())
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want == "200", a.used() > paid)
		})
	}
}
