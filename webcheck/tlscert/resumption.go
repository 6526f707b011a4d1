package tlscert

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// ticketTimeout bounds the wait for a session ticket, which in TLS 1.3 follows the handshake (RFC 8446 section 4.6.1).
const ticketTimeout = 1 * time.Second

// A keeper keeps the session of the last connection, and calls put when it gets one.
type keeper struct {
	tls.ClientSessionCache
	put func()
}

// Put implements [tls.ClientSessionCache].
func (k *keeper) Put(key string, session *tls.ClientSessionState) {
	k.ClientSessionCache.Put(key, session)
	if session != nil && k.put != nil {
		k.put()
	}
}

// resume learns whether the server resumes a session by a ticket: two connections are made, one after the other.
func (e *evidence) resume(ctx context.Context, env *diag.Env) probe.Answer {
	if e.failure != nil || e.asksClient {
		return probe.Unknown
	}
	k := &keeper{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	if _, ok := e.shake(ctx, env, k); !ok {
		return probe.Unknown
	}
	state, ok := e.shake(ctx, env, k)
	switch {
	case !ok:
		return probe.Unknown
	case state.DidResume:
		return probe.Yes
	default:
		return probe.No
	}
}

// shake makes a connection with the session that is kept, and waits for a ticket if it is a new one.
func (e *evidence) shake(ctx context.Context, env *diag.Env, k *keeper) (state tls.ConnectionState, ok bool) {
	bounded, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, release, err := e.open(bounded, env)
	if err != nil {
		return state, false
	}
	defer release()
	config := &tls.Config{
		ServerName: e.name, InsecureSkipVerify: true, NextProtos: protocols(e.req.Port), MinVersion: tls.VersionTLS10,
		Time: env.Now, ClientSessionCache: k,
	}
	e.avoidIntolerances(config)
	client := tls.Client(conn, config)
	k.put = nil
	if client.HandshakeContext(bounded) != nil {
		return state, false
	}
	state = client.ConnectionState()
	if state.Version == tls.VersionTLS13 && !state.DidResume {
		conn.SetReadDeadline(time.Now().Add(ticketTimeout))
		k.put = func() { conn.SetReadDeadline(time.Unix(1, 0)) } // the wait is over
		client.Read(make([]byte, 1))
	}
	return state, true
}
