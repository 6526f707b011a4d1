package smtpcheck

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

const (
	one = "example.com. MX 10 mx1.example.com.\n" +
		"mx1.example.com. A 192.0.2.1\n" +
		"1.2.0.192.in-addr.arpa. PTR mx1.example.com.\n"
	two = one +
		"example.com. MX 20 mx2.example.com.\n" +
		"mx2.example.com. A 192.0.2.2\n" +
		"2.2.0.192.in-addr.arpa. PTR mx2.example.com.\n"
	both = one +
		"mx1.example.com. AAAA 2001:db8::1\n" +
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. PTR mx1.example.com.\n"
)

// denied is the behavior of a server that does not relay.
var denied = map[string]string{"RCPT": "550 5.7.1 relaying denied"}

// good is a server without faults, on which the cases build.
func good(change ...func(*diagtest.SMTP)) func(*diagtest.World) {
	return on("mx1.example.com", change...)
}

func on(host string, change ...func(*diagtest.SMTP)) func(*diagtest.World) {
	return func(w *diagtest.World) {
		s := diagtest.SMTP{Host: host, Extensions: []string{"SIZE 52428800"}, Replies: map[string]string{}}
		for k, v := range denied {
			s.Replies[k] = v
		}
		for _, c := range change {
			c(&s)
		}
		w.SMTP(s)
	}
}

func says(command, reply string) func(*diagtest.SMTP) {
	return func(s *diagtest.SMTP) { s.Replies[command] = reply }
}

func certificate(c diagtest.Cert) func(*diagtest.SMTP) { return func(s *diagtest.SMTP) { s.Cert = c } }

func behaves(hostport string, b diagtest.Behaviour) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Behave(hostport, b) }
}

// raw is a server that sends a text and then nothing.
func raw(hostport, text string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Serve(hostport, func(c net.Conn) {
			io.WriteString(c, text)
			io.Copy(io.Discard, c)
		})
	}
}

// tlsWith replaces the TLS configuration of the good server.
func tlsWith(change func(*diagtest.World, *tls.Config)) func(*diagtest.World) {
	return func(w *diagtest.World) {
		c := &tls.Config{Time: w.Now, Certificates: []tls.Certificate{
			w.Certificate(diagtest.CertSpec{Names: []string{"mx1.example.com"}}),
		}}
		change(w, c)
		good(func(s *diagtest.SMTP) { s.TLS = c })(w)
	}
}

// secondHandshake lets the first handshake succeed, and the second fail after a while.
func secondHandshake(after time.Duration) func(*diagtest.World) {
	return tlsWith(func(_ *diagtest.World, c *tls.Config) {
		count := 0
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if count++; count == 1 {
				return nil, nil
			}
			time.Sleep(after)
			return nil, errors.New("no more")
		}
	})
}

func leaf(spec func(*diagtest.World) diagtest.CertSpec) func(*diagtest.World) {
	return tlsWith(func(w *diagtest.World, c *tls.Config) {
		s := spec(w)
		s.Names = []string{"mx1.example.com"}
		c.Certificates = []tls.Certificate{w.Certificate(s)}
	})
}

func rsaKey(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

type setup = []func(*diagtest.World)

// A sibling is a test case of a small world and a request.
type sibling struct {
	name    string
	zone    string
	setup   setup
	request string // JSON; empty: of example.com
}

// play runs the test in the world of a case.
func (c *sibling) play(t *testing.T) (r *Report) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(c.zone)
		for _, f := range c.setup {
			f(w)
		}
		var req Request
		require.NoError(t, json.Unmarshal([]byte(`{"helo": "client.example.net"}`), &req))
		if c.request == "" {
			c.request = `{"domain": "example.com"}`
		}
		require.NoError(t, json.Unmarshal([]byte(c.request), &req))
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var err error
		r, err = Check(ctx, w.Env(), req)
		require.NoError(t, err)
		require.Less(t, time.Since(begin), 30*time.Second)
		w.Close()
	})
	return r
}

// summary returns the state, the score and the codes of the findings.
func summary(v diag.Verdict) string {
	text := fmt.Sprintf("%s %s", v.State, diagtest.Score(v))
	for _, code := range diagtest.Codes(v) {
		text += " " + strings.TrimPrefix(string(code), "smtp.")
	}
	return text
}

// sketch returns a short description of a server.
func (s *Server) sketch() string {
	var words []string
	for word, is := range map[string]bool{
		"reachable": s.Reachable, "ehlo": s.EHLOOK, "starttls": s.StartTLS.Negotiated, "tls": s.TLS.Version != "",
		"ptr": s.PTR.ForwardConfirmed, "agrees": s.PTR.MatchesBanner, "findings": len(s.Findings) > 0, "error": s.Error != "",
	} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(append(words, string(s.Relay.Status)), " ")
}

// The report of each sibling is in testdata/siblings.txt: state, score and codes, then the texts, then the servers.
func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	var told strings.Builder
	for _, c := range siblings {
		t.Run(c.name, func(t *testing.T) {
			r := c.play(t)
			seen.Add(r.Verdict)
			fmt.Fprintf(&told, "%s: %s\n  %s\n", c.name, summary(r.Verdict), r.Headline)
			for _, f := range r.Findings {
				fmt.Fprintf(&told, "  %s: %s\n", f.Severity, f.Detail)
			}
			for _, s := range r.Servers {
				fmt.Fprintf(&told, "  > %s %d: %s\n", s.Address, s.Port, s.sketch())
			}
		})
	}
	diagtest.Golden(t, "testdata/siblings.txt", []byte(told.String()))
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}
