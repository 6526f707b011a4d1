package dashboard

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The form of an operation may have what its request may have, and is read once there is room for it: of what the API
// lets forms and requests beside the endpoints hold.
func TestMemoryOfForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
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
		release, err := h.dash.API.Hold(t.Context(), h.account.ID, 1<<40) // the account's share
		require.NoError(t, err)
		busy := form(1 << 10)
		assert.Equal(t, http.StatusServiceUnavailable, busy.status)
		assert.NotEmpty(t, busy.header.Get("Retry-After"))
		release()
		for range 20 { // each gives back what it held
			require.Equal(t, http.StatusSeeOther, form(512<<10).status)
		}
		release, err = h.dash.API.Hold(t.Context(), h.account.ID, 1<<40)
		require.NoError(t, err)
		release()
		h.gate.Close()
	})
}
