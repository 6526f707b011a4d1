package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/require"
)

func TestSeverityText(t *testing.T) {
	for _, s := range []Severity{Info, Warning, Error, Critical} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back Severity
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
		require.Equal(t, Severity(0).Values()[s], s.String())
	}
	require.Equal(t, "severity(7)", Severity(7).String())
	_, err := Severity(-1).MarshalText()
	require.Error(t, err)
	require.Error(t, new(Severity).UnmarshalText([]byte("grave")))
}

func TestValues(t *testing.T) {
	require.Equal(t, []string{"valid", "warning", "invalid", "missing", "unknown"}, State("").Values())
	require.Equal(t, []string{"excellent", "good", "warning", "critical", "unknown"}, Band("").Values())
	require.Equal(t, []string{"pass", "partial", "fail", "not_applicable"}, FactorStatus("").Values())
	require.Equal(t, []string{"high", "medium", "low"}, Priority("").Values())
	require.Equal(t, []string{"secure", "insecure", "bogus", "indeterminate"}, DNSSECStatus("").Values())
}

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

func TestQuote(t *testing.T) {
	require.Equal(t, "v=spf1 -all", Quote("v=spf1 -all"))
	require.Equal(t, `"a\x1b[2J"`, Quote("a\x1b[2J"))
	require.Equal(t, "a\uFFFD", Quote("a\xff"))
	require.Equal(t, maxQuoted+len("…"), len(Quote(strings.Repeat("x", 1000))))
}

func TestSeries(t *testing.T) {
	list := []string{"a", "b", "c", "d"}
	for n, want := range []string{"", "a", "a and b", "a, b and c", "a, b, c and 1 more"} {
		require.Equal(t, want, Series(list[:n], 3))
	}
}

func TestSentence(t *testing.T) {
	require.Equal(t, "The term is empty.", Sentence("the term is empty"))
	require.Equal(t, "ip4 is misspelt.", Sentence("ip4 is misspelt"))
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

func TestInputError(t *testing.T) {
	err := fmt.Errorf("request: %w", Invalid("ports[2]", "%d is too large", 70000))
	fault, ok := errors.AsType[*InputError](err)
	require.True(t, ok)
	require.EqualError(t, fault, "ports[2]: 70000 is too large")
	field, reason := fault.InputField()
	require.Equal(t, "ports[2]", field)
	require.Equal(t, "70000 is too large", reason)
}

func TestExactlyOne(t *testing.T) {
	names := []string{"text", "data_base64"}
	require.NoError(t, ExactlyOne(names, true, false))
	require.NoError(t, ExactlyOne(names, false, true))
	for _, given := range [][]bool{{false, false}, {true, true}, nil} {
		require.EqualError(t, ExactlyOne(names, given...), "text: exactly one of text, data_base64 must be given")
	}
	require.NoError(t, ExactlyOne(nil))
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 records", "1 record", "2 records"} {
		require.Equal(t, want, Count(n, "record"))
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"preload", "preload", 0}, {"prelaod", "preload", 1}, {"preloads", "preload", 1},
		{"max_age", "max-age", 1}, {"includesubdomain", "includesubdomains", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 100), "a", maxCompared},
	} {
		require.Equal(t, tt.want, Distance(tt.a, tt.b), tt.a)
		require.Equal(t, tt.want, Distance(tt.b, tt.a), tt.a)
	}
}
