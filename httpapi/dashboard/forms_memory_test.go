package dashboard

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The form of an operation may be as large as its request, and is read once there is room for it: of what the API
// lets forms and requests outside the endpoints hold.
func TestMemoryOfForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		b := h.owner()
		long := b.send(http.MethodPost, "/dashboard/playground/text/lower", url.Values{"f.text": {strings.Repeat("a", 4<<20)}})
		assert.Equal(t, http.StatusRequestEntityTooLarge, long.status)

		form := func(size int) *reply {
			var body bytes.Buffer
			w := multipart.NewWriter(&body)
			require.NoError(t, w.WriteField("token", member.NewToken()))
			file, err := w.CreateFormFile("f.data_base64", "a")
			require.NoError(t, err)
			_, err = file.Write(make([]byte, size))
			require.NoError(t, err)
			require.NoError(t, w.Close())
			return b.upload("/dashboard/playground/text/hash", w.FormDataContentType(), &body)
		}
		assert.Equal(t, http.StatusRequestEntityTooLarge, form(8<<20).status)
		release, err := h.dash.API.ReserveMemory(t.Context(), h.account.ID, 1<<40) // the account's share
		require.NoError(t, err)
		busy := form(1 << 10)
		assert.Equal(t, http.StatusServiceUnavailable, busy.status)
		assert.NotEmpty(t, busy.header.Get("Retry-After"))
		small := b.post("/dashboard/keys", "name", "a")
		assert.Equal(t, http.StatusServiceUnavailable, small.status, "a form that administers something, too")
		release()
		for range 20 { // each gives back what it held
			require.Equal(t, http.StatusSeeOther, form(512<<10).status)
		}
		release, err = h.dash.API.ReserveMemory(t.Context(), h.account.ID, 1<<40)
		require.NoError(t, err)
		release()
		h.gate.Close()
	})
}

// unread is a body that must not be read.
type unread struct{ read int64 }

func (u *unread) Read(p []byte) (int, error) {
	u.read += int64(len(p))
	copy(p, bytes.Repeat([]byte("a"), len(p)))
	return len(p), nil
}

func (u *unread) Close() error { return nil }

// A page without a form reads no body, whatever its declared type: a multipart one would be kept in memory and in
// files.
func TestPagesReadNoBody(t *testing.T) {
	h := newFixture(t)
	owner := h.owner()
	for _, path := range []string{"/dashboard/enter", "/dashboard/enter?token=x", "/dashboard/playground/text/hash", "/r/x",
		"/dashboard/keys", "/dashboard/nothing"} {
		body := &unread{}
		r := httptest.NewRequest(http.MethodGet, "https://diag.example.com"+path, nil)
		r.Body, r.ContentLength = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader("--b\r\nContent-Disposition: form-data; name=next; filename=a\r\n\r\n"),
			io.LimitReader(body, 64<<20)), body}, -1
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.AddCookie(&http.Cookie{Name: h.dash.cookieName(), Value: owner.cookies[h.dash.cookieName()]})
		h.dash.ServeHTTP(httptest.NewRecorder(), r)
		require.Zero(t, body.read, path)
	}
}

// A form of a visitor who has tried too often is not read.
func TestFormsOfStrangers(t *testing.T) {
	h := newFixture(t)
	form := func(path, from string) (status int, read int64) {
		body := &unread{}
		r := httptest.NewRequest(http.MethodPost, "https://diag.example.com"+path, io.LimitReader(body, 32<<10))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.dash.ServeHTTP(w, r)
		return w.Code, body.read
	}
	for range h.dash.Budget.SignIns.Limit {
		_, read := form("/dashboard/enter", "192.0.2.1:1")
		require.NotZero(t, read)
	}
	for _, path := range []string{"/dashboard/enter", "/dashboard/enter/mail"} {
		status, read := form(path, "192.0.2.1:1")
		require.Equal(t, http.StatusTooManyRequests, status)
		require.Zero(t, read)
	}
	status, read := form("/dashboard/enter", "198.51.100.1:1")
	require.Equal(t, http.StatusNotFound, status)
	require.NotZero(t, read)
}
