package notify

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// Members see the cause of a failure in plain words, without the error texts of Go's libraries.
func TestPlain(t *testing.T) {
	broken := errors.New("net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 32768 bytes")
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{}, Err: os.NewSyscallError("connect", err)}
	}
	invalid := func(reason x509.InvalidReason) error {
		return &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: reason}}
	}
	for want, err := range map[string]error{
		"there was no answer that could be understood":                     broken,
		"no answer in time":                                                os.ErrDeadlineExceeded,
		"the host could not be looked up":                                  &net.DNSError{Err: "no such host", Name: "a.example"},
		"the host refuses connections":                                     dial(syscall.ECONNREFUSED),
		"the host cannot be reached":                                       dial(syscall.EHOSTUNREACH),
		"the connection ended before the answer was complete":              fmt.Errorf("reading: %w", io.ErrUnexpectedEOF),
		"the receiver does not accept the TLS handshake":                   tls.AlertError(40),
		"the server stopped before there was an answer":                    fmt.Errorf("asking: %w", context.Canceled),
		"a file could not be read or written":                              &os.PathError{Op: "open", Path: "/a", Err: os.ErrPermission},
		"the certificate of the receiver has expired, or is not valid yet": invalid(x509.Expired),
		"the certificate of the receiver is not valid":                     invalid(x509.CANotAuthorizedForThisName),
		"the certificate of the receiver is for another host": x509.HostnameError{
			Certificate: &x509.Certificate{}, Host: "a.example"},
		"the certificate of the receiver is from an authority that is not trusted": x509.UnknownAuthorityError{},
		"the address is not public": &ReasonError{Reason: "the address is not public", Err: broken},
	} {
		require.Empty(t, diagtest.Leaks(want))
		require.Equal(t, want, reasonOf(t.Context(), &url.Error{Op: "Post", URL: "https://a.example/secret", Err: err}))
	}
}

// A server that speaks plain HTTP where TLS is expected.
func TestPlainScheme(t *testing.T) {
	require.Equal(t, "the receiver does not accept the TLS handshake", reasonOf(t.Context(), http.ErrSchemeMismatch))
}

// brokenKey is a key that signs nothing.
type brokenKey struct{}

func (brokenKey) Public() crypto.PublicKey { return ed25519.PublicKey{} }

func (brokenKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("crypto: sign /etc/key: permission denied")
}

// A delivery of which no message can be made is tried once, and says why in plain words. The log says what was wrong.
func TestNoMessage(t *testing.T) {
	const unwritten = "the message of the event could not be written"
	for _, c := range []struct {
		name    string
		channel map[string]any // what its record holds in place of what it held
		event   map[string]any
		want    string
		log     string
	}{
		{name: "kind", channel: map[string]any{"kind": "pager"}, want: `there is no channel of kind "pager"`, log: "pager"},
		{name: "URL", channel: map[string]any{"target": "https://a.example/\x7f"}, want: "the URL of the channel cannot be used",
			log: "URL"},
		{name: "data for Slack", channel: map[string]any{"kind": Slack}, event: map[string]any{"data": []int{1}},
			want: unwritten, log: "json: cannot unmarshal"},
		{name: "type for Teams", channel: map[string]any{"kind": Teams}, event: map[string]any{"type": "key.lost"},
			want: unwritten, log: "key.lost"},
		{name: "data for Telegram", channel: map[string]any{"kind": Telegram}, event: map[string]any{"data": "x"},
			want: unwritten, log: "json: cannot unmarshal"},
		{name: "data for mail", channel: map[string]any{"kind": Email}, event: map[string]any{"data": 7},
			want: unwritten, log: "json: cannot unmarshal"},
		{name: "signature of mail", channel: map[string]any{"kind": Email, "target": "ops@example.com"},
			want: unwritten, log: "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var log bytes.Buffer
			w.worker.Log = slog.New(slog.NewTextHandler(&log, nil))
			w.worker.Mail = &MailServer{From: "diagd@example.org",
				DKIM: &MailSigner{Domain: "example.org", Selector: "s1", Key: brokenKey{}}}
			channel, _ := w.channel("x")
			d := w.test(channel)
			w.editRecord(channelKind, channel.ID, c.channel)
			w.editRecord(metering.EventKind, d.Event, c.event)
			require.Empty(t, w.pump())
			d = w.delivery(d.ID)
			require.Equal(t, FailedPermanent, d.State)
			require.Len(t, d.Attempts, 1)
			require.Equal(t, c.want, d.Attempts[0].Error)
			require.Empty(t, diagtest.Leaks(d.Attempts[0].Error))
			require.Contains(t, log.String(), c.log)
		})
	}
}

// editRecord replaces members of the document of a record.
func (w *world) editRecord(kind, id string, members map[string]any) {
	w.Helper()
	r, err := w.store.Record(context.Background(), w.account.ID, kind, id)
	require.NoError(w, err)
	var document map[string]any
	require.NoError(w, json.Unmarshal(r.Body, &document))
	maps.Copy(document, members)
	r.Body = metering.RecordBody(document)
	require.NoError(w, w.store.PutRecords(context.Background(), r))
}
