package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A hook is a request that a receiver got.
type hook struct {
	header http.Header
	body   []byte
}

// newReceiver starts a receiver on a real port, and returns the flags with which a server may reach it.
func newReceiver(t *testing.T) (url string, got <-chan hook, flags []string) {
	t.Helper()
	hooks := make(chan hook, 16)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hooks <- hook{r.Header, body}
	}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	return server.URL, hooks, []string{"--allow-networks=127.0.0.1/32", "--ca-file=" + ca}
}

func allowPort(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return "--allow-ports=" + u.Port()
}

// receive waits for a receiver's next request.
func receive(t *testing.T, got <-chan hook) hook {
	t.Helper()
	select {
	case h := <-got:
		return h
	case <-time.After(patience):
		require.FailNow(t, "nothing was delivered")
		return hook{}
	}
}

// From the act in one process to the signed request at a receiver, which a running server sends.
func TestChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	address, got, flags := newReceiver(t)
	store, _ := newStore(t)
	s := start(t, append(flags, store, allowPort(t, address), "--log-level=debug")...)
	made := parsed[channelView](t, "channel", "create", "--name=ops", "--target="+address+"/hook?key=geheim", store,
		"--categories=api_key", allowPort(t, address))
	secret, err := notify.ParseSecret(made.Secret)
	require.NoError(t, err)
	assert.Equal(t, address+"/hook?…", made.Target)

	tested := parsed[deliveryView](t, "channel", "test", made.ID, store)
	assert.Equal(t, notify.Delivered, tested.State)
	h := receive(t, got)
	require.NoError(t, notify.Verify(h.header, h.body, time.Now(), secret))
	assert.Equal(t, tested.ID, h.header.Get("X-Service-Delivery-ID"))

	key := parsed[keyView](t, "key", "create", "--name=ci", "--scopes=dns:read", store)
	h = receive(t, got) // the server hears of it by its Watch
	require.NoError(t, notify.Verify(h.header, h.body, time.Now(), secret))
	var body notify.Body
	require.NoError(t, json.Unmarshal(h.body, &body))
	assert.Equal(t, metering.EventKeyCreated, body.EventType)
	assert.Contains(t, string(body.Data), key.ID)

	list := parsed[[]deliveryView](t, "channel", "deliveries", made.ID, store)
	require.Len(t, list, 2)
	assert.Equal(t, body.DeliveryID, list[0].ID)
	replayed := parsed[deliveryView](t, "channel", "replay", list[0].ID, store)
	assert.Equal(t, list[0].ID, replayed.ReplayOf)
	again := receive(t, got)
	assert.Equal(t, h.header.Get("Webhook-Id"), again.header.Get("Webhook-Id"))
	assert.NotEqual(t, h.header.Get("X-Service-Delivery-ID"), again.header.Get("X-Service-Delivery-ID"))

	rotated := parsed[channelView](t, "channel", "rotate", made.ID, store)
	parsed[deliveryView](t, "channel", "test", made.ID, store)
	h = receive(t, got)
	assert.Len(t, strings.Fields(h.header.Get("Webhook-Signature")), 2)

	var seen bytes.Buffer
	for _, args := range [][]string{{"channel", "list"}, {"channel", "deliveries"}, {"channel", "disable", made.ID},
		{"channel", "enable", made.ID}} {
		seen.WriteString(command(t, append(args, store)...))
		seen.WriteString(command(t, append(args, store, "--json")...))
	}
	assert.Contains(t, seen.String(), "disabled (disabled by the operator)")
	assert.Contains(t, command(t, "channel", "remove", made.ID, store), "was removed")
	require.Equal(t, exitOK, s.wait())
	seen.WriteString(s.log.String())
	assertAbsent(t, "lists and logs", seen.Bytes(), []string{made.Secret, rotated.Secret})
	assert.NotContains(t, seen.String(), "geheim")
}

// A customer's use of the API causes notifications while the server runs, and pending ones are sent when a server
// starts.
func TestUsageIsNotified(t *testing.T) {
	address, got, flags := newReceiver(t)
	store, _ := newStore(t)
	account := parsed[accountView](t, "account", "create", "--name=small", "--plan=free", store)
	of := "--account=" + string(account.ID)
	key := parsed[keyView](t, "key", "create", "--name=ci", "--scopes=web:read", of, store)
	made := parsed[channelView](t, "channel", "create", "--name=ops", "--target="+address, of, store,
		"--categories=usage", allowPort(t, address))
	waiting := parsed[deliveryView](t, "channel", "test", made.ID, "--wait=0", of, store)
	assert.Equal(t, notify.Pending, waiting.State)

	s := start(t, append(flags, store, allowPort(t, address))...)
	assert.Equal(t, waiting.ID, receive(t, got).header.Get("X-Service-Delivery-ID"))
	s.secret = key.Secret
	for range 11 {
		s.post("/http/qr", `{"data":"x"}`) // 2 credits of 30 each, 10 a minute
	}
	told := map[string]string{}
	for range 2 {
		h := receive(t, got)
		told[h.header.Get("X-Service-Event-Type")] = string(h.body)
	}
	assert.Contains(t, told["usage.threshold_reached"], `"threshold_percent":50`)
	assert.Contains(t, told["usage.rate_limited"], key.ID)
	require.Equal(t, exitOK, s.wait())
	assert.Empty(t, got)
}

// The guard protects every receiver: nothing is sent to addresses that are not public.
func TestChannelsAreGuarded(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	address, got, flags := newReceiver(t)
	store, _ := newStore(t)
	s := start(t, flags[1], store, allowPort(t, address)) // without --allow-networks
	for name, target := range map[string]string{
		"loopback": address, "metadata": "https://169.254.169.254/latest/", "name": "https://localhost/",
		"mapped": "https://[::ffff:127.0.0.1]/",
	} {
		made := parsed[channelView](t, "channel", "create", "--name="+name, "--target="+target, store, allowPort(t, address))
		var out, errs bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), []string{"channel", "test", made.ID, store}, &out, &errs))
		assert.Regexp(t, "is not public|stands for the machine itself", errs.String())
	}
	assert.Empty(t, got)
	require.Equal(t, exitOK, s.wait())
}

// answers is a resolver that knows one address, which may change.
type answers struct{ ip atomic.Pointer[string] }

func (a *answers) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	m := new(dns.Msg).SetReply(q)
	if q.Question[0].Qtype == dns.TypeA {
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(*a.ip.Load()),
		}}
	}
	return m, nil
}

// A name that was public when the channel was made, and no longer is, is refused too.
func TestGuardedClientAfterDNSChange(t *testing.T) {
	resolver := &answers{}
	resolver.ip.Store(new("5.9.0.80"))
	var dialled atomic.Int32
	env := &diag.Env{Resolver: resolver, Dial: func(context.Context, string, string) (net.Conn, error) {
		dialled.Add(1)
		return nil, errors.New("reached")
	}}
	client := guardedClient(env)
	for _, tt := range []struct{ ip, want string }{
		{"5.9.0.80", "no connection to port 443"}, {"127.0.0.1", "is not public"}, {"169.254.169.254", "is not public"},
		{"10.0.0.1", "is not public"}, {"5.9.0.80", "no connection to port 443"},
	} {
		resolver.ip.Store(&tt.ip)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example.com/x", nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorContains(t, err, tt.want)
	}
	assert.EqualValues(t, 2, dialled.Load())
	conn, err := guardedDial(env, diag.SMTPPorts)(t.Context(), "tcp", "127.0.0.1:587")
	if err == nil {
		conn.Close()
	}
	assert.ErrorContains(t, err, "is not public")
}

// A wrong name on a command line is a usage error, which says what is wrong and what to do.
func TestChannelIDs(t *testing.T) {
	store, _ := newStore(t)
	for want, args := range map[string][]string{
		"--account: account acc_none: not found; diagd account list": {"list", "--account=acc_none"},
		"channel chn_a of": {"test", "chn_a"}, "diagd channel list": {"deliveries", "chn_none"},
		"delivery dlv_a of": {"replay", "dlv_a"}, "channel chn_b of": {"rotate", "chn_b"},
		"--limit: must be 0 or more": {"deliveries", "--limit=-1"},
		"--before: \"noon\" is no":   {"deliveries", "--before=noon"},
		"--allow-ports":              {"create", "--name=a", "--target=https://a.example:9/"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), append([]string{"channel", store}, args...), &out, &errs), want)
		assert.Contains(t, errs.String(), want)
		assert.LessOrEqual(t, strings.Count(errs.String(), "not found"), 1)
	}
}
