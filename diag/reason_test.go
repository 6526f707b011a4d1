package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/require"
)

func TestReason(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{fmt.Errorf("asking 192.0.2.1:53: %w", context.DeadlineExceeded), "no response"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "no response"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "connection closed by the other side"},
		{io.ErrUnexpectedEOF, "connection closed by the other side"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, "no route to the host"},
		{errors.New("first\nsecond"), "first; second"},
		{&resolver.AskError{Server: resolver.Server{}, Err: errors.New("odd reply")}, "odd reply"},
		{&net.OpError{Op: "read", Source: new(net.UDPAddr), Err: errors.New("odd reply")}, "the connection failed"},
		{fmt.Errorf("asking tls://192.0.2.1: %w", &tls.CertificateVerificationError{Err: errors.New("x509: certificate is …")}),
			"its certificate is not trusted"},
		{fmt.Errorf("asking: %w", x509.UnknownAuthorityError{}), "its certificate is not trusted"},
		{fmt.Errorf("asking tls://192.0.2.1: %w", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}),
			"the TLS handshake failed"},
		{fmt.Errorf("asking tls://192.0.2.1: %w", tls.AlertError(40)), "the TLS handshake failed"},
		{&url.Error{Op: "Post", URL: "https://192.0.2.1/secret", Err: errors.New("http2: server sent GOAWAY")}, "the connection failed"},
		{fmt.Errorf("asking: %w", net.ErrClosed), "the connection failed"},
		{fmt.Errorf("asking: %w", syscall.EPIPE), "connection closed by the other side"},
		{fmt.Errorf("asking: %w", context.Canceled), "broken off before there was a response"},
		{&net.DNSError{Err: "no such host", Name: "a.example", Server: "192.0.2.53:53"}, "the name could not be looked up"},
		{fmt.Errorf("asking 192.0.2.1: %w: it answers REFUSED", resolver.ErrLame), "it answers REFUSED"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Reason(tt.err))
	}
}

// A step ends early enough to report what it has learned.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 5*time.Second, TimeLeft(t.Context(), 5*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.Equal(t, 9*time.Second, TimeLeft(ctx, time.Minute))
		began := time.Now()
		step, cancelStep := Within(ctx, time.Minute)
		defer cancelStep()
		<-step.Done()
		require.Equal(t, 9*time.Second, time.Since(began))
		require.NoError(t, ctx.Err())
	})
}
