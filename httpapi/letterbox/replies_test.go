package letterbox

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipeListener has connections without a network, whose deadlines pass in the time of a bubble.
type pipeListener struct {
	conns chan net.Conn
	ended context.Context
	end   context.CancelFunc
}

func newPipeListener() *pipeListener {
	l := &pipeListener{conns: make(chan net.Conn)}
	l.ended, l.end = context.WithCancel(context.Background())
	return l
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended.Done():
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.end(); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 25} }

// dial opens a session. What the client says may wait for its replies for as long as it likes.
func (l *pipeListener) dial(t *testing.T) *wire {
	here, there := net.Pipe()
	l.conns <- there
	t.Cleanup(func() { here.Close() })
	w := &wire{t, here, bufio.NewReader(here)}
	w.hear()
	return w
}

// rest is what the server says until it ends the connection.
func (w *wire) rest() string {
	w.t.Helper()
	all, err := io.ReadAll(w.Reader)
	require.NoError(w.t, err)
	return string(all)
}

// handshake begins TLS, and fails. It leaves the connection to what the server says then.
func (w *wire) handshake(c *tls.Config) {
	w.t.Helper()
	w.ask("STARTTLS", 220)
	require.Error(w.t, tls.Client(w.Conn, c).Handshake())
}

// Whatever is refused, cut off or broken, and whenever the client falls silent, replies show nothing of the inside of
// the server.
func TestRepliesLeakNothing(t *testing.T) {
	const hello, from = "EHLO mail.example.org", "MAIL FROM:<a@example.org>"
	says := func(w *wire, commands ...string) (replies string) {
		for _, c := range commands {
			replies += w.say(c)
		}
		return replies
	}
	send := func(w *wire, text string) {
		_, err := io.WriteString(w.Conn, text)
		require.NoError(t, err)
	}
	for name, talk := range map[string]func(p *post, w *wire, to string) string{
		"550 5.1.1": func(_ *post, w *wire, _ string) string { return says(w, hello, from, "RCPT TO:<joe@box.example>") },
		"553 5.1.7": func(_ *post, w *wire, _ string) string { return says(w, hello, "MAIL FROM:<a@b(c>") },
		"421 4.7.0 Too many unknown": func(_ *post, w *wire, _ string) (replies string) {
			says(w, hello, from)
			for range maxRefusedRecipients {
				replies = w.say("RCPT TO:<joe@box.example>")
			}
			return replies + w.rest()
		},
		"421 4.7.0 One message": func(p *post, w *wire, to string) string {
			w.to(to)
			send(w, p.letter()+".\r\n")
			return w.hear() + says(w, from) + w.rest()
		},
		"452": func(_ *post, w *wire, to string) string {
			return says(w, hello, from, "RCPT TO:<"+to+">", "RCPT TO:<"+to+">")
		},
		"501 5.5.4 Unable to parse SIZE": func(_ *post, w *wire, _ string) string { return says(w, hello, from+" SIZE=0x1") },
		"501 5.5.4 Malformed size": func(_ *post, w *wire, to string) string {
			return says(w, hello, from, "RCPT TO:<"+to+">", "BDAT 99999999999999999999 LAST")
		},
		"500 5.5.4 Unknown": func(_ *post, w *wire, _ string) string { return says(w, hello, from+" X=\x00") },
		"500 5.5.2":         func(_ *post, w *wire, _ string) string { return says(w, "XXXX \x00\xff") },
		"501 5.5.2": func(_ *post, w *wire, _ string) string {
			return says(w, "EHLO", "X", hello, "MAIL FROM:a@", "MAIL FROM:<\"a", "MAIL TO:<>", from, "RCPT TO:<@@>")
		},
		"502": func(_ *post, w *wire, _ string) string { return says(w, from, "DATA", "BDAT 0", "HELP") },
		"523": func(_ *post, w *wire, _ string) string { return says(w, hello, "AUTH PLAIN %%%") },
		"552": func(_ *post, w *wire, _ string) string {
			return says(w, hello, fmt.Sprintf("%s SIZE=%d", from, maxMessage+1))
		},
		"500 5.4.0": func(_ *post, w *wire, _ string) string {
			go io.WriteString(w.Conn, "EHLO "+strings.Repeat("x", maxLine))
			return w.rest()
		},
		"554 5.6.0": func(_ *post, w *wire, to string) string {
			w.to(to)
			go io.WriteString(w.Conn, strings.Repeat("x", maxLine+2))
			return w.hear() + w.rest()
		},
		"451 4.3.2": func(p *post, w *wire, to string) string {
			for i := range p.Budget.LetterQueue.All {
				_, ok := p.Budget.LetterQueue.Take(addr(i << 8))
				require.True(t, ok)
			}
			w.to(to)
			send(w, p.letter()+".\r\n")
			return w.hear()
		},
		"421 4.4.2 Idle": func(_ *post, w *wire, _ string) string { return says(w, hello) + w.rest() },
		"451 4.4.2": func(p *post, w *wire, to string) string {
			w.to(to)
			send(w, p.letter())
			return w.rest()
		},
		"451 4.4.2 The message": func(_ *post, w *wire, to string) string {
			says(w, hello, from, "RCPT TO:<"+to+">")
			send(w, "BDAT 1000 LAST\r\nFrom: ")
			return w.rest()
		},
		"550 5.0.0 Handshake": func(_ *post, w *wire, _ string) string {
			says(w, hello)
			w.handshake(&tls.Config{ServerName: "box.example", MaxVersion: tls.VersionTLS12}) // without trusted roots
			return w.rest()
		},
		"550 5.0.0": func(_ *post, w *wire, _ string) string {
			says(w, hello)
			w.ask("STARTTLS", 220)
			go io.WriteString(w.Conn, "\x16\x03\x01\x00\x04rubbish, and more of it\r\n")
			return w.rest()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipeListener()
				p := newPostOn(t, l)
				_, to := p.address()
				w := l.dial(t)
				replies := talk(p, w, to)
				assert.Contains(t, replies, name)
				assert.Empty(t, diagtest.Leaks(replies), replies)
				w.Close()
				p.pending.Wait()
			})
		})
	}
}

// A chunk that ends with its connection is no message.
func TestCutChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		p := newPostOn(t, l)
		_, to := p.address()
		w := l.dial(t)
		w.ask("EHLO x", 250)
		w.ask("MAIL FROM:<>", 250)
		w.ask("RCPT TO:<"+to+">", 250)
		_, err := io.WriteString(w.Conn, "BDAT 1000 LAST\r\n"+p.letter())
		require.NoError(t, err)
		require.NoError(t, w.Close())
		synctest.Wait()
		require.True(t, p.isWaiting(localOf(to)))
		require.Zero(t, p.Budget.Letters.Held())
	})
}

// brokenResolver fails as no resolver should.
type brokenResolver struct{}

func (brokenResolver) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) {
	panic("runtime error: index out of range [7] at /srv/resolver.go:7")
}

// A message is taken whose analysis fails. The page says so, and not why.
func TestFailedAnalysis(t *testing.T) {
	p := newPost(t)
	p.Env = &diag.Env{Resolver: brokenResolver{}, Clock: p.Clock}
	path, to := p.address()
	require.NoError(t, p.send(to, p.signed()))
	page := p.wait(path)
	require.Contains(t, page, "could not be analyzed")
	require.Empty(t, diagtest.Leaks(page))
}
