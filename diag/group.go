package diag

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// A Group runs functions concurrently and waits for all of them, like [sync.WaitGroup], but a panic in one of
// them does not end the program: Wait panics with it in the goroutine that waits, where a server can turn it
// into an error. Diagnostics start goroutines only through a Group, because their input is untrusted. The
// zero Group is ready to use; it must not be copied after first use.
type Group struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	panic *GoPanic
}

// A GoPanic is a panic of another goroutine, as [Group.Wait] and [Catch] pass it on.
type GoPanic struct {
	Value any
	Stack []byte // stack of the goroutine that panicked
}

func (p *GoPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Catch runs f and returns its panic, or nil. A *GoPanic is returned unchanged. Use it in goroutines that
// nobody waits for, and where the failure of one part must not end the others.
func Catch(f func()) (p *GoPanic) {
	defer func() {
		if v := recover(); v != nil {
			var carried bool
			if p, carried = v.(*GoPanic); !carried {
				p = &GoPanic{v, debug.Stack()}
			}
		}
	}()
	f()
	return nil
}

// Go runs f in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		if p := Catch(f); p != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.panic == nil {
				g.panic = p
			}
		}
	})
}

// Wait returns when all functions have returned. If one of them panicked, it panics with a *[GoPanic].
func (g *Group) Wait() {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.panic != nil {
		panic(g.panic)
	}
}
