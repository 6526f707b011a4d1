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

// unsubscribeKey is the unguessable part of the link; empty if the channel has no secret.
func (d *channelDoc) unsubscribeKey() string {
	if d.Secret == "" || d.Kind != Email {
		return ""
	}
	return derivedID("", d.Secret, "unsubscribe")
}

// listFields are the header fields by which a recipient ends a channel (RFC 2369), also by one click of a mail program
// (RFC 8058).
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
// key. POST ends all channels of the account that send mail to the address; GET shows a button, since programs that
// scan mail open links.
type Unsubscribe struct{ Channels Channels }

// ServeHTTP implements [http.Handler].
func (u Unsubscribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := recipientPageWriter(w, "Unsubscribe")
	d, err := u.Channels.byKey(r, (*channelDoc).unsubscribeKey)
	switch {
	case errors.Is(err, metering.ErrNotFound):
		answer(http.StatusNotFound, "<p>This link does not lead to a subscription.</p>")
		return
	case err == nil && r.Method == http.MethodPost:
		err = u.Channels.optOut(r.Context(), d)
	}
	switch {
	case err != nil:
		answer(http.StatusServiceUnavailable, "<p>This did not work. Try again later.</p>")
	case r.Method == http.MethodPost || d.State == ChannelDisabled:
		answer(http.StatusOK, "<p>This address no longer receives notifications.</p>")
	default:
		answer(http.StatusOK, `<form method="post"><button>Unsubscribe this address</button></form>`)
	}
}

// Confirm is the handler behind [MailServer.Confirm]: the last two parts of the path are the channel and the code that
// its address was sent. POST confirms; GET shows a button.
type Confirm struct{ Channels Channels }

// ServeHTTP implements [http.Handler].
func (c Confirm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := recipientPageWriter(w, "Confirm notifications")
	d, err := c.Channels.byKey(r, (*channelDoc).confirmCode)
	if err == nil && r.Method == http.MethodPost {
		_, err = c.Channels.Confirm(r.Context(), d.record.Account, d.record.ID, path.Base(r.URL.Path))
	}
	_, refused := errors.AsType[*metering.FieldError](err)
	switch {
	case refused, errors.Is(err, metering.ErrNotFound):
		answer(http.StatusNotFound, "<p>This link was used, has expired, or was replaced by a newer one.</p>")
	case err != nil:
		answer(http.StatusServiceUnavailable, "<p>This did not work. Try again later.</p>")
	case r.Method == http.MethodPost:
		answer(http.StatusOK,
			"<p>Notifications are sent to this address from now on. Each message has a link to end them.</p>")
	default:
		answer(http.StatusOK, `<form method="post"><button>Send notifications to this address</button></form>`)
	}
}

// recipientPageWriter returns a function that writes a page for the reader of a message who followed a link in it.
func recipientPageWriter(w http.ResponseWriter, title string) func(status int, text string) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store")
	return func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">`+
			"<title>"+title+"</title><h1>"+title+"</h1>"+text)
	}
}

// byKey finds the channel that the last but one part of the path names, if the last is its key.
func (c Channels) byKey(r *http.Request, keyOf func(*channelDoc) string) (*channelDoc, error) {
	dir, key := path.Split(r.URL.Path)
	f := metering.RecordFilter{Kind: channelKind, ID: path.Base(dir), Limit: 1}
	for record, err := range c.Store.Records(r.Context(), f) {
		if err != nil {
			return nil, err
		}
		d, err := readChannel(record)
		if err != nil {
			return nil, err
		}
		if want := keyOf(d); want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(key)) == 1 {
			return d, nil
		}
	}
	return nil, metering.ErrNotFound
}
