package diagtest

import (
	"context"
	"io"
	"net/netip"
	"os"
	"time"
)

// A Behaviour is what a TCP port does instead of serving.
type Behaviour int

// The behaviours.
const (
	Serves      Behaviour = 0 // what listens there answers; nobody means refused
	Refuses     Behaviour = 1 // connections are refused
	Resets      Behaviour = 2 // connections are accepted, and broken when something was read
	Hangs       Behaviour = 3 // connections are accepted, and nothing is ever answered
	Unreachable Behaviour = 4 // connections never come about
	Closes      Behaviour = 5 // connections are accepted, and closed at once
)

// serve returns the server for a behaviour, nil if the connection is refused.
func (b Behaviour) serve() func(*conn) {
	switch b {
	case Resets:
		return func(c *conn) {
			c.Read(make([]byte, 1))
			c.Reset()
		}
	case Hangs:
		return func(c *conn) {
			io.Copy(io.Discard, c) // until either side or the world closes it
			c.Close()
		}
	case Closes:
		return func(c *conn) { c.Close() }
	}
	return nil
}

// Behave makes a TCP port at an address such as "192.0.2.1:443" or "[2001:db8::1]:25" do something
// else than serve. Serves undoes it.
func (w *World) Behave(addr string, b Behaviour) {
	a, err := netip.ParseAddrPort(addr)
	w.check(err)
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	if b == Serves {
		delete(w.net.behave, a)
		return
	}
	w.net.behave[a] = b
}

// patience is how long a client of the world waits for a server that is silent if its context does
// not end before.
const patience = 30 * time.Second

// silence waits for what never comes, and returns the error for it. Outside a bubble no time passes.
func (w *World) silence(ctx context.Context) error {
	if !w.bubble {
		return os.ErrDeadlineExceeded
	}
	if err := w.wait(ctx, patience); err != nil {
		return err
	}
	return os.ErrDeadlineExceeded
}
