package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// progressAfter is how long a check may run before progress is shown.
const progressAfter = time.Second

// progress tells a person what is being waited for, on standard error: in one line that is written over on a terminal.
type progress struct {
	a       *app
	mu      sync.Mutex
	names   []string
	began   time.Time
	written bool
	stop    chan struct{}
	ended   sync.WaitGroup
}

// startProgress begins to tell of something by its name, until end is called.
func (a *app) startProgress(name string) *progress {
	p := &progress{a: a, names: []string{name}, began: time.Now(), stop: make(chan struct{})}
	if a.progress && !a.quiet {
		p.ended.Go(p.run)
	}
	return p
}

func (p *progress) run() {
	ticker := time.NewTicker(progressAfter)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.write()
		}
	}
}

// waiting says what is still awaited.
func (p *progress) waiting(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
}

func (p *progress) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = true
	fmt.Fprintf(p.a.stderr, "\r\x1b[K%s: %d s", printable(diag.Series(p.names, 4)), int(time.Since(p.began).Seconds()))
}

// end takes the line away.
func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
	if p.written {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
	}
}
