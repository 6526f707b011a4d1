package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// hangs never answers: when the client has gone it ends the connection without a reply, which the client
// could otherwise still read.
func hangs(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Waiting is tested in a bubble, whose clock jumps.
func TestDoTimeouts(t *testing.T) {
	tests := []struct {
		name    string
		site    http.HandlerFunc
		took    time.Duration
		message string
	}{
		{"silent server", hangs,
			fetch.HeadTimeout, "the answer of example.com did not come in time"},
		{"head drop by drop", raw(func(c net.Conn) {
			for _, b := range []byte("HTTP/1.1 200 OK\r\nX-Slow: very slow indeed\r\n\r\n") {
				time.Sleep(time.Second) // of the bubble
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
			}
		}), fetch.HeadTimeout, "the answer of example.com did not come in time"},
		{"body drop by drop", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, ".")
				http.NewResponseController(w).Flush()
				time.Sleep(time.Second) // of the bubble
			}
		}, fetch.DefaultTimeout, "the body did not arrive in time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.HTTP("example.com", tt.site)
				begin := time.Now()
				r := do(t, w, get("http://example.com/"))
				require.Equal(t, fetch.Timeout, r.Err.Code)
				require.True(t, r.Err.Unanswered)
				require.Equal(t, tt.message, r.Err.Message)
				require.Equal(t, tt.took, time.Since(begin))
				time.Sleep(time.Minute) // of the bubble, for the server to notice
			})
		})
	}
}

func TestDoTimeoutsOfTheLowerLayers(t *testing.T) {
	tests := []struct {
		name    string
		spoil   func(*diagtest.World)
		code    fetch.Reason
		message string
	}{
		{"resolver", func(w *diagtest.World) { w.Silence("example.com") }, fetch.DNS,
			"the address of example.com could not be looked up: no response"},
		{"connection", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Unreachable) }, fetch.Timeout,
			"no connection to port 443 of example.com was made in time"},
		{"handshake", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Hangs) }, fetch.Timeout,
			"the TLS handshake with example.com did not end in time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.HTTPS("example.com", nil)
				tt.spoil(w)
				begin := time.Now()
				r := do(t, w, get("https://example.com/"))
				require.Equal(t, tt.code, r.Err.Code)
				require.True(t, r.Err.Unanswered)
				require.Equal(t, tt.code == fetch.DNS, errors.Is(fetch.Unavailable(nil, r), diag.ErrUnavailable))
				require.Contains(t, r.Err.Message, tt.message)
				require.Equal(t, fetch.ConnectTimeout, time.Since(begin))
			})
		})
	}
}

func TestDoContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(hangs))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r, err := fetch.Do(ctx, w.Env(), get("https://example.com/"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Nil(t, r)
	})
}

func TestDoTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(3 * time.Second) // of the bubble
			io.WriteString(w, "hello")
		}))
		w.SetLatencies(diagtest.Latency{DNS: time.Second, Connect: 2 * time.Second})
		r := do(t, w, get("https://example.com/"))
		require.Nil(t, r.Err)
		require.Equal(t, fetch.Timing{DNS: time.Second, Connect: 2 * time.Second, FirstByte: 3 * time.Second,
			Total: 6 * time.Second}, r.Timing)
		require.EqualValues(t, 6000, r.Final().LatencyMS)
	})
}
