package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/billing/stripe"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// receivers are contacted over HTTPS: a webhook, the bots of Telegram, a biller, Stripe.
var receivers = []string{"hooks.example", "api.telegram.org", "biller.example", "api.stripe.com"}

// namesFail are the ways in which the names of others cannot be looked up.
var namesFail = map[string]func(w *diagtest.World, host string){
	"no such name": func(*diagtest.World, string) {},
	"no address":   func(w *diagtest.World, host string) { w.Zone(host + `. TXT "v=spf1 -all"`) },
	"DNS silent":   func(w *diagtest.World, host string) { w.Silence(host) },
	"SERVFAIL":     func(w *diagtest.World, host string) { w.Break(host, dns.RcodeServerFailure) },
	"REFUSED":      func(w *diagtest.World, host string) { w.Break(host, dns.RcodeRefused) },
	"a DNSSEC fault": func(w *diagtest.World, host string) {
		w.Fault(host, dns.TypeA, diagtest.Fault{Rcode: dns.RcodeServerFailure, Explain: dns.ExtendedErrorCodeDNSBogus})
	},
	"alias in circles": func(w *diagtest.World, host string) { w.Zone(host + ". CNAME " + host + ".") },
}

// connectionsFail are the ways in which hosts cannot be spoken with.
func connectionsFail() map[string]func(w *diagtest.World, host string) {
	list := map[string]func(w *diagtest.World, host string){}
	for _, b := range []diagtest.Behaviour{diagtest.Refuses, diagtest.Closes, diagtest.Resets, diagtest.Hangs, diagtest.Unreachable} {
		list[string(b)] = func(w *diagtest.World, host string) {
			w.HTTPS(host, nil)
			w.Behave(host+":443", b)
		}
	}
	for _, c := range []diagtest.Cert{diagtest.CertExpired, diagtest.CertNotYetValid, diagtest.CertWrongName,
		diagtest.CertSelfSigned, diagtest.CertUnknownAuthority, diagtest.CertMissingIntermediate} {
		list["certificate "+string(c)] = func(w *diagtest.World, host string) { w.Site(diagtest.Site{Host: host, Cert: c}) }
	}
	bytes := func(text string) func(w *diagtest.World, host string) {
		return func(w *diagtest.World, host string) {
			w.Host(host)
			w.Serve(host+":443", func(c net.Conn) { io.WriteString(c, text); c.Close() })
		}
	}
	list["plain HTTP"] = func(w *diagtest.World, host string) { w.Site(diagtest.Site{Host: host, Port: 443, Plain: true}) }
	list["an alert of TLS"] = bytes("\x15\x03\x03\x00\x02\x02\x28")
	list["rubbish for TLS"] = bytes("\x00\xff\x00\xff rubbish")
	list["half a record of TLS"] = bytes("\x16\x03\x03\x10\x00")
	list["private address"] = func(w *diagtest.World, host string) { w.Zone(host + ". A 10.0.0.1") }
	return list
}

// answersFail are the ways in which hosts return useless answers. The answers are those of HTTP/1.1, on the
// connection.
func answersFail() map[string]string {
	list := map[string]string{
		"no HTTP":             "SSH-2.0-OpenSSH_9.9\r\n",
		"broken status":       "HTTP/1.1 abc OK\r\n\r\n",
		"broken field":        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"broken length":       "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"nothing":             "",
		"half a body":         "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"schema_version\":",
		"half a body of 500":  "HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\noh",
		"broken chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"huge field":          "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 128<<10) + "\r\n\r\n",
		"redirect in circles": "HTTP/1.1 302 Found\r\nLocation: /hook\r\nContent-Length: 0\r\n\r\n",
		"redirect nowhere":    "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://[::1\r\nContent-Length: 0\r\n\r\n",
	}
	for _, status := range []int{204, 301, 400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 429, 500, 502, 503, 504} {
		list[fmt.Sprint(status)] = fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status))
	}
	for name, body := range map[string]string{
		"HTML": "<!doctype html><title>Log in</title>", "a list": "[]", "null": "null", "half of JSON": `{"status":`,
		"a number for a text": `{"schema_version":1,"status":"paid","object":7,"ok":"yes"}`,
		"another status":      `{"schema_version":"1","status":"lost"}`,
		"an unknown error":    `{"error":{"type":"api_error","message":"An error occurred"},"ok":false,"description":"no"}`,
		"bytes":               "\x00\xff\xfe",
	} {
		for _, status := range []int{200, 402, 500} {
			list[fmt.Sprintf("%d with %s", status, name)] = fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s",
				status, http.StatusText(status), len(body), body)
		}
	}
	return list
}

// answer serves a text for every request over TLS.
func answer(text string) func(w *diagtest.World, host string) {
	return func(w *diagtest.World, host string) {
		w.Site(diagtest.Site{Host: host, HTTP1: true, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		})})
	}
}

// world has a failing service, and an account with members, channels and invoices.
type failing struct {
	t       *testing.T
	world   *diagtest.World
	env     *diag.Env
	clock   *meteringtest.Clock
	store   metering.Store
	account metering.AccountID
	texts   []string
}

func newFailing(t *testing.T) *failing {
	f := &failing{t: t, world: diagtest.NewWorld(t), clock: meteringtest.NewClock()}
	f.env = f.world.Env()
	f.store = memory.New(memory.Config{Clock: f.clock.Now})
	t.Cleanup(func() { require.NoError(t, f.store.Close()) })
	admin := metering.Admin{Store: f.store, Clock: f.clock.Now}
	account, err := admin.CreateAccount(t.Context(), "Example", "pack")
	require.NoError(t, err)
	f.account = account.ID
	return f
}

// add records human-readable text.
func (f *failing) add(v any, err error) {
	require.NoError(f.t, err)
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(f.t, e.Encode(v))
	f.texts = append(f.texts, b.String())
}

// deliver makes an attempt for each channel.
func (f *failing) deliver(mail *notify.MailServer, requests ...notify.ChannelRequest) {
	ctx := f.t.Context()
	connectThrough(mail, f.env)
	worker := &notify.Worker{Store: f.store, Client: guardedClient(f.env), Mail: mail, Clock: f.clock.Now}
	channels := notify.Channels{Store: f.store, Clock: f.clock.Now}
	for _, r := range requests {
		r.Account, r.Name = f.account, "ops"
		c, _, err := channels.Create(ctx, r)
		require.NoError(f.t, err)
		if r.Kind != "email" { // whose address must be confirmed first
			_, err = channels.Test(ctx, f.account, c.ID)
			require.NoError(f.t, err)
		}
	}
	require.NoError(f.t, worker.Flush(ctx))
	list, err := channels.Deliveries(ctx, f.account, "", 100)
	require.Len(f.t, list, len(requests))
	for _, d := range list {
		require.NotEmpty(f.t, d.Attempts)
	}
	f.add(list, err)
	f.add(channels.List(ctx, f.account))
}

// charge makes an attempt at an invoice by each biller.
func (f *failing) charge(billers ...billing.Biller) {
	ctx := f.t.Context()
	for _, biller := range billers {
		b := billing.Billing{Store: f.store, Draft: -1, Clock: f.clock.Now, Biller: biller}
		month := metering.PeriodOf(f.clock.Now())
		f.clock.Advance(billing.ClosesAt(month).Sub(f.clock.Now()))
		closed, err := b.Close(ctx, month)
		require.NoError(f.t, err)
		require.Equal(f.t, 1, closed.Created)
		paid, err := b.Pay(ctx)
		require.NoError(f.t, err)
		require.Positive(f.t, paid.Failed+paid.Pending+paid.Paid, "nothing was attempted")
		for v, err := range b.Invoices(ctx, billing.Filter{}) {
			f.add(v, err)
		}
		for n, err := range b.Notes(ctx, f.account) {
			f.add(n, err)
		}
	}
}

// refresh resolves a hosted SPF profile of a record that names a host.
func (f *failing) refresh(host string) {
	ctx := context.WithoutCancel(f.t.Context())
	access := hostedspf.Access{Store: hostedmemory.New(hostedmemory.Config{Clock: f.clock.Now}), Owner: "key_a"}
	p, err := hostedspf.Create(ctx, f.env, access, hostedspf.CreateRequest{
		Domain: diag.MustDomain("example.com"), IncludeHost: diag.MustName("_flat.example.net"),
		SourceRecord: "v=spf1 include:" + host + " a:" + host + " mx:" + host + " exists:%{i}." + host + " -all",
	})
	f.add(p, err)
	report, err := hostedspf.Resolve(ctx, f.env, access, hostedspf.ResolveRequest{ID: p.ID})
	f.add(report, err)
	report2, err := hostedspf.Show(ctx, f.env, access, hostedspf.ShowRequest{ID: p.ID})
	f.add(report2, err)
}

// check checks all recorded text.
func (f *failing) check() {
	for r, err := range f.store.Records(f.t.Context(), metering.RecordFilter{Kind: metering.EventKind}) {
		f.add(string(r.Body), err)
	}
	require.NotEmpty(f.t, f.texts)
	for _, text := range f.texts {
		assert.Empty(f.t, diagtest.Leaks(text), "%s", text)
	}
}

// A failure of others is described to members, customers and receivers in our own words: the text contains no error
// of Go's, of the system's or of a database, and no path or address of the program.
func TestFailuresInPlainWords(t *testing.T) {
	ways := connectionsFail()
	for name, way := range namesFail {
		ways[name] = way
	}
	for name, text := range answersFail() {
		ways[name] = answer(text)
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailing(t)
				for _, host := range receivers {
					way(f.world, host)
				}
				f.deliver(nil, notify.ChannelRequest{Kind: notify.Webhook, Target: "https://hooks.example/hook"},
					notify.ChannelRequest{Kind: "telegram", Target: "-1001234567890", Token: "123456789:" + strings.Repeat("a", 35)})
				client := guardedClient(f.env)
				paid, err := stripe.New("sk_test_" + strings.Repeat("a", 24))
				require.NoError(t, err)
				paid.Client, paid.Clock = client, f.clock.Now
				f.charge(billing.WebhookBiller{URL: "https://biller.example/charge", Client: client, Clock: f.clock.Now}, paid)
				client.CloseIdleConnections()
				f.check()
			})
		})
	}
}

// Likewise where a folder for invoices cannot be written.
func TestBrokenFolderInPlainWords(t *testing.T) {
	f := newFailing(t)
	f.charge(billing.FileBiller{Dir: "/dev/null/invoices"})
	f.check()
}

// Likewise of names that hosted SPF looks up, and of a resolver of ours that fails.
func TestFailuresOfHostedSPF(t *testing.T) {
	resolvers := map[string]error{
		"connection refused": &net.OpError{Op: "read", Net: "udp", Err: errors.New("connection refused")},
		"end of file":        io.ErrUnexpectedEOF,
		"no TLS":             errors.New("tls: first record does not look like a TLS handshake"),
		"timeout":            context.DeadlineExceeded,
		"rubbish":            &dns.Error{},
	}
	for name, way := range namesFail {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailing(t)
				way(f.world, "spf.example")
				f.refresh("spf.example")
				f.check()
			})
		})
	}
	for name, err := range resolvers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailing(t)
				f.env.Resolver = resolverFunc(func(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, err })
				f.refresh("spf.example")
				f.check()
			})
		})
	}
	for name, patient := range map[string]bool{"slow": true, "slower than allowed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFailing(t)
				f.world.Zone("spf.example. A 192.0.2.1")
				f.env.Resolver = resolverFunc(func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
					if !patient {
						time.Sleep(time.Minute) // whatever the context
					}
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(4 * time.Second):
						return f.world.Exchange(ctx, q)
					}
				})
				f.refresh("spf.example")
				f.check()
			})
		})
	}
}

type resolverFunc func(context.Context, *dns.Msg) (*dns.Msg, error)

func (f resolverFunc) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return f(ctx, q) }

// Likewise of a mail server, at each step.
func TestFailuresOfMailServers(t *testing.T) {
	ways := map[string]func(*diagtest.World, *diagtest.SMTP){
		"no STARTTLS": func(_ *diagtest.World, s *diagtest.SMTP) { s.NoStartTLS = true },
		"no AUTH":     func(_ *diagtest.World, s *diagtest.SMTP) { s.Extensions, s.Encrypted = nil, []string{"SIZE 1"} },
	}
	for _, step := range []string{"CONNECT", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "DATA."} {
		for _, reply := range []string{"421 4.7.0 Busy", "451 4.3.0 Later", "535 5.7.8 No", "550 5.1.1 Unknown",
			"554 5.7.1 Refused", "rubbish", "99", "250-half", diagtest.NoReply, diagtest.HangUp} {
			ways[step+" "+strings.Trim(reply, "\x00")] = func(_ *diagtest.World, s *diagtest.SMTP) {
				s.Replies[step] = reply
			}
		}
	}
	for _, c := range []diagtest.Cert{diagtest.CertExpired, diagtest.CertNotYetValid, diagtest.CertWrongName,
		diagtest.CertSelfSigned, diagtest.CertUnknownAuthority, diagtest.CertMissingIntermediate} {
		ways["certificate "+string(c)] = func(_ *diagtest.World, s *diagtest.SMTP) { s.Cert = c }
	}
	for _, b := range []diagtest.Behaviour{diagtest.Refuses, diagtest.Closes, diagtest.Resets, diagtest.Hangs, diagtest.Unreachable} {
		ways[string(b)] = func(w *diagtest.World, _ *diagtest.SMTP) {
			w.Behave("mx.example:587", b)
			w.Behave("mx.example:465", b)
		}
	}
	for name, way := range namesFail {
		ways[name] = func(w *diagtest.World, s *diagtest.SMTP) { s.Host = "other.example"; way(w, "mx.example") }
	}
	for name, way := range ways {
		for scheme, port := range map[string]uint16{"submission": 587, "submissions": 465} {
			t.Run(name+" "+scheme, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFailing(t)
					server := diagtest.SMTP{Host: "mx.example", Port: port, Implicit: port == 465,
						Extensions: []string{"AUTH PLAIN"}, Replies: map[string]string{"AUTH": "235 2.7.0 Good"}}
					way(f.world, &server)
					f.world.SMTP(server)
					mail, err := notify.ParseMailServer(scheme+"://user:secret@mx.example", "diag@example.com")
					require.NoError(t, err)
					f.deliver(mail, notify.ChannelRequest{Kind: "email", Target: "someone@example.org"})
					if err := mail.Send(t.Context(), "someone@example.org", "Test", "Test"); err != nil {
						f.add(err.Error(), nil)
					}
					f.check()
				})
			})
		}
	}
}

// Likewise of commands, in the log that members read.
func TestFailedCommandsInPlainWords(t *testing.T) {
	store, _ := newStore(t)
	key := parsed[[]keyView](t, "key", "list", store)[0]
	for _, test := range []struct {
		want string
		args []string
	}{
		{"name: must have 1 to 64 characters", []string{"channel", "create", "--kind=webhook", "--target=https://a.example/"}},
		{"a file could not be read or written", []string{"channel", "create", "--kind=webhook", "--name=a",
			"--target=https://a.example/", "--secret-file=/dev/null/secret"}},
		{"not found", []string{"key", "revoke", "key_none"}},
		{"there is no such profile", []string{"spf", "pause", "spf_none"}},
		{"a queried server did not respond", []string{"spf", "create", "--key=" + string(key.ID), "--domain=example.com",
			"--include-host=h.example.net", "--resolver=udp://127.0.0.1:1"}},
		{"--include-host or --spf-dns-zone", []string{"spf", "create", "--key=" + string(key.ID), "--domain=example.com"}},
		{"not found", []string{"billing", "void", string(key.Account), "2026-01", "--reason=a"}},
	} {
		before := len(parsed[[]metering.Act](t, "log", store))
		require.NotEqual(t, exitOK, run(t.Context(), append(test.args, store), io.Discard, io.Discard), test.args)
		list := parsed[[]metering.Act](t, "log", store)
		require.Len(t, list, before+1, test.args)
		assert.Contains(t, list[0].Error, test.want)
		assert.Empty(t, diagtest.Leaks(list[0].Error))
	}
}
