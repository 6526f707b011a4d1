package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// However many connections fail, the log has a line a minute and kind; other messages all stay.
func TestErrorLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newWatched()
		l := newErrorLog(slog.New(slog.NewTextHandler(out, nil)))
		for i := range 1000 {
			l.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", i)
			l.Printf("http: Accept error: too many open files; retrying in %v", time.Duration(i))
			l.Printf("http2: server connection error from 192.0.2.1:%d: connection error: COMPRESSION_ERROR", i)
			l.Printf("timeout waiting for SETTINGS frames from 192.0.2.1:%d", i)
		}
		assert.Equal(t, 4, strings.Count(out.String(), "\n"), out)
		time.Sleep(repeatEvery) // of the bubble
		l.Print("http: TLS handshake error from 192.0.2.9:1: EOF")
		assert.Contains(t, out.String(), "192.0.2.9:1: EOF\" not_logged=999")
		for i := range 3 {
			l.Print(fmt.Sprint("http: something else ", i))
		}
		assert.Equal(t, 8, strings.Count(out.String(), "\n"), out)
	})
}
