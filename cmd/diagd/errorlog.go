package main

import (
	"log"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// repeatEvery is how often one kind of connection error is logged.
const repeatEvery = time.Minute

// clientErrors are the beginnings of messages of net/http that strangers can cause as often as they like.
var clientErrors = [...]string{"http: TLS handshake error", "http: Accept error", "http2: server connection error",
	"timeout waiting for SETTINGS frames"}

// An errorLog receives the error log of net/http about connections. Errors that clients cause are logged immediately,
// and then at most once a minute with their number.
type errorLog struct {
	log   *slog.Logger
	kinds [len(clientErrors)]struct {
		since      time.Time // of the last line
		suppressed int       // messages since then
	}
}

func newErrorLog(l *slog.Logger) *log.Logger { return log.New(&errorLog{log: l}, "", 0) }

// Write implements [io.Writer] for a [log.Logger]: each call is a message, one after another.
func (e *errorLog) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	var args []any
	if kind := slices.IndexFunc(clientErrors[:], func(s string) bool { return strings.HasPrefix(text, s) }); kind >= 0 {
		r := &e.kinds[kind]
		if time.Since(r.since) < repeatEvery {
			r.suppressed++
			return len(p), nil
		}
		if r.suppressed > 0 {
			args = []any{"not_logged", r.suppressed}
		}
		r.since, r.suppressed = time.Now(), 0
	}
	e.log.Warn(text, args...)
	return len(p), nil
}
