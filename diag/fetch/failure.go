package fetch

import "context"

// DialError says in the words of an [Error] why no connection to a host was made, for diagnostics that connect
// themselves. Of a blocked address it tells nothing.
func DialError(ctx context.Context, host string, err error) *Error { return dialError(ctx, host, err) }

// HandshakeError says in the words of an [Error] why a TLS handshake failed.
func HandshakeError(ctx context.Context, err error) *Error {
	return handshakeError(ctx, "the server", err)
}
