package main

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// repeatEvery is how often one kind of connection error is logged.
const repeatEvery = time.Minute

// noisy are the beginnings of messages of net/http that strangers can cause as often as they like.
var noisy = []string{"http: TLS handshake error", "http: Accept error"}

// An errorLog takes what net/http says of connections. What strangers cause is logged at once, and then
// no more than once a minute with how many there were.
type errorLog struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*repeats
}

type repeats struct {
	since time.Time // of the last line
	held  int       // messages since then
}

func newErrorLog(l *slog.Logger) *log.Logger {
	return log.New(&errorLog{log: l, kinds: map[string]*repeats{}}, "", 0)
}

// Write implements [io.Writer] for a [log.Logger]: each call is a message.
func (e *errorLog) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	for _, kind := range noisy {
		if strings.HasPrefix(text, kind) {
			e.repeat(kind, text)
			return len(p), nil
		}
	}
	e.log.Warn(text)
	return len(p), nil
}

func (e *errorLog) repeat(kind, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.kinds[kind]
	if r == nil {
		r = &repeats{}
		e.kinds[kind] = r
	}
	if time.Since(r.since) < repeatEvery {
		r.held++
		return
	}
	if r.held > 0 {
		e.log.Warn(text, "not_logged", r.held)
	} else {
		e.log.Warn(text)
	}
	r.since, r.held = time.Now(), 0
}
