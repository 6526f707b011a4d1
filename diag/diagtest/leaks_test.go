package diagtest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Error texts of Go's libraries are detected, and texts for people are not.
func TestLeaks(t *testing.T) {
	_, number := strconv.Atoi("x")
	address := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		&net.OpError{Op: "read", Net: "tcp", Addr: address, Err: syscall.ECONNRESET},
		&net.DNSError{Err: "no such host", Name: "a.example", Server: "192.0.2.53:53"},
		io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled, net.ErrClosed, number,
		x509.UnknownAuthorityError{}, x509.HostnameError{Host: "a.example", Certificate: &x509.Certificate{}},
		tls.AlertError(40), tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		http.ErrSchemeMismatch, http.ErrHandlerTimeout, json.Unmarshal([]byte("<"), new(int)), json.Unmarshal([]byte("{"), new(int)),
		json.Unmarshal([]byte(`"a"`), new(int)), errors.New("sql: no rows in result set"),
		errors.New(`ERROR: relation "ledger" does not exist (SQLSTATE 42P01)`), syscall.EPIPE, os.ErrPermission,
		fmt.Errorf("asking %s: refused", "[::1]:53"), errors.New("%!d(string=a)"), fmt.Errorf("%v", &struct{ a int }{}),
		&os.PathError{Op: "mkdir", Path: "/srv/private", Err: syscall.ENOTDIR}, fmt.Errorf("%v", error(nil)), fmt.Errorf("%v", map[string]int{}), errors.New("runtime error: index out of range [1]"),
	} {
		require.NotEmpty(t, diagtest.Leaks("it failed: "+err.Error()+"."), err)
	}
	for _, text := range []string{
		"the host refuses connections", "Read the TCP port, and look up TXT records: they are missing.", "TLS: 1.3 only",
		`{"error":"the biller answered 500 Internal Server Error"}`, "https://example.com/", "_smtp._tls: TLSRPTv1",
		"cipher suite 0x1301", "The JSON: invalid. An error: none", "127.0.0.1 points to itself",
	} {
		require.Empty(t, diagtest.Leaks(text))
	}
}
