package notify

import (
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"path"

	"github.com/diagkit/diagkit/metering"
)

// unsubscribed is why a channel is disabled by [Unsubscribe].
const unsubscribed = "the recipient has unsubscribed"

// unsubscribeKey is the part of the link that nobody can guess; empty where the channel has no secret.
func (d *channelDoc) unsubscribeKey() string {
	if d.Secret == "" || d.Kind != email {
		return ""
	}
	return derivedID("", d.Secret, "unsubscribe")
}

// listFields let a recipient end a channel (RFC 2369), also by one click of a mail program (RFC 8058).
func (m *message) listFields(base string) [][2]string {
	key := m.channel.unsubscribeKey()
	if base == "" || key == "" {
		return nil
	}
	return [][2]string{
		{"List-Unsubscribe", "<" + base + m.channel.record.ID + "/" + key + ">"},
		{"List-Unsubscribe-Post", "List-Unsubscribe=One-Click"},
	}
}

// Unsubscribe is the handler behind [MailServer.Unsubscribe]: the last two parts of the path are the channel and its
// key. POST ends the channel; GET shows a button, since programs that look at mail open links.
type Unsubscribe struct{ Channels Channels }

// ServeHTTP implements [http.Handler].
func (u Unsubscribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store")
	answer := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">`+
			"<title>Unsubscribe</title><h1>Unsubscribe</h1>"+text)
	}
	d, err := u.find(r)
	switch {
	case errors.Is(err, metering.ErrNotFound):
		answer(http.StatusNotFound, "<p>This link does not lead to a subscription.</p>")
		return
	case err == nil && r.Method == http.MethodPost:
		_, err = u.Channels.Disable(r.Context(), d.record.Account, d.record.ID, unsubscribed)
	}
	switch {
	case err != nil:
		answer(http.StatusServiceUnavailable, "<p>This did not work. Try again later.</p>")
	case r.Method == http.MethodPost || d.State == ChannelDisabled:
		answer(http.StatusOK, "<p>This address gets no more notifications.</p>")
	default:
		answer(http.StatusOK, `<form method="post"><button>Send no more notifications to this address</button></form>`)
	}
}

func (u Unsubscribe) find(r *http.Request) (*channelDoc, error) {
	dir, key := path.Split(r.URL.Path)
	f := metering.RecordFilter{Kind: channelKind, ID: path.Base(dir), Limit: 1}
	for record, err := range u.Channels.Store.Records(r.Context(), f) {
		if err != nil {
			return nil, err
		}
		d, err := readChannel(record)
		if err != nil {
			return nil, err
		}
		if want := d.unsubscribeKey(); want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(key)) == 1 {
			return d, nil
		}
	}
	return nil, metering.ErrNotFound
}
