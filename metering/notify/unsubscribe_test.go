package notify

import (
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The link in a message ends the channel by POST alone, and no other link does.
func TestUnsubscribe(t *testing.T) {
	p := &postOffice{}
	s := p.open(t, true, "user:p%40ss")
	s.Unsubscribe = "https://diag.example.com/unsubscribe/"
	w, d := mailed(t, s)
	m, err := mail.ReadMessage(strings.NewReader(p.messages[0]))
	require.NoError(t, err)
	require.Equal(t, "List-Unsubscribe=One-Click", m.Header.Get("List-Unsubscribe-Post"))
	link, err := url.Parse(strings.Trim(m.Header.Get("List-Unsubscribe"), "<>"))
	require.NoError(t, err)
	ask := func(method, path string) (int, ChannelState) {
		rec := httptest.NewRecorder()
		Unsubscribe{w.channels}.ServeHTTP(rec, httptest.NewRequest(method, path, strings.NewReader("List-Unsubscribe=One-Click")))
		c, err := w.channels.Channel(t.Context(), w.account.ID, d.Channel)
		require.NoError(t, err)
		return rec.Code, c.State
	}
	for _, wrong := range []string{"/unsubscribe/", "/unsubscribe/" + d.Channel, "/unsubscribe/" + d.Channel + "/",
		"/unsubscribe/" + d.Channel + "/" + strings.Repeat("a", idLength), "/unsubscribe/chn_a/" + strings.Repeat("a", idLength)} {
		code, state := ask("POST", wrong)
		require.Equal(t, 404, code, wrong)
		require.Equal(t, ChannelActive, state)
	}
	code, state := ask("GET", link.Path)
	require.Equal(t, 200, code)
	require.Equal(t, ChannelActive, state)
	code, state = ask("POST", link.Path)
	require.Equal(t, 200, code)
	require.Equal(t, ChannelDisabled, state)
	code, _ = ask("POST", link.Path)
	require.Equal(t, 200, code)
}
