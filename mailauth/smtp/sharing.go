package smtp

import (
	"context"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

type sharingKey struct{}

// Sharing returns a context below which all who call [Secure] with the same configuration share one session, which is
// closed already: an operation of several diagnostics connects once to look at a certificate.
func Sharing(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharingKey{}, new(sync.Map))
}

// A meeting is a session that somebody holds, or has held.
type meeting struct {
	done    chan struct{}
	session *Session
	err     error
}

// shared lets the first who wants a session hold it, and all others wait for it, or for the end of their context.
func shared(ctx context.Context, env *diag.Env, c Config, held *sync.Map) (*Session, error) {
	m := &meeting{make(chan struct{}), newSession(env, c), &Error{Step: StepConnect, Kind: Overrun}} // should it panic
	if other, found := held.LoadOrStore(c, m); found {
		first := other.(*meeting)
		select {
		case <-first.done:
			return first.session, first.err
		case <-ctx.Done():
			return m.session, &Error{Step: StepConnect, Kind: Overrun, Err: ctx.Err()}
		}
	}
	defer close(m.done)
	m.session, m.err = secure(ctx, env, c)
	m.session.Close()
	return m.session, m.err
}
