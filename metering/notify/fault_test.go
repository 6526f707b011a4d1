package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
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
		require.Equal(t, want, plain(t.Context(), &url.Error{Op: "Post", URL: "https://a.example/secret", Err: err}))
	}
}

// A server that speaks plain HTTP where TLS is expected.
func TestPlainScheme(t *testing.T) {
	require.Equal(t, "the receiver does not accept the TLS handshake", plain(t.Context(), http.ErrSchemeMismatch))
}
