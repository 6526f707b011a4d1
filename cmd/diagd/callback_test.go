package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/diagkit/diagkit/metering/sqlite"
)

const (
	callbackSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	paidWord       = `{"schema_version":"1","invoice":"2026-10","account":"acc_a","reference":"pi_1","status":"paid"}`
)

var callbackNow = time.Unix(1_800_000_000, 0)

// heard returns a listener for callbacks that answers as settle says, and records the words it received.
func heard(t testing.TB, answer error) (*callbacks, *[]billing.PaymentReport) {
	secret, err := notify.ParseSecret(callbackSecret)
	require.NoError(t, err)
	words := new([]billing.PaymentReport)
	return &callbacks{secret: secret, clock: func() time.Time { return callbackNow },
		limiter: budget.New(budget.Config{}).Callbacks, log: slog.New(slog.DiscardHandler),
		settle: func(_ context.Context, w billing.PaymentReport) (billing.Invoice, error) {
			*words = append(*words, w)
			return billing.Invoice{}, answer
		}}, words
}

// signed is a callback as a payment service sends it.
func signed(t testing.TB, body string, at time.Time) *http.Request {
	secret, err := notify.ParseSecret(callbackSecret)
	require.NoError(t, err)
	r := httptest.NewRequest("POST", callbackPath, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("webhook-id", "msg_1")
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", notify.Sign(secret, "msg_1", at, []byte(body)))
	return r
}

func answerTo(c *callbacks, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	c.handler().ServeHTTP(w, r)
	return w
}

// A word is passed on if its signature, its time and its form are valid; otherwise it is not, and the reply says why.
func TestCallback(t *testing.T) {
	other := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name   string
		body   string // paidWord if empty
		age    time.Duration
		change func(r *http.Request)
		status int
		text   string
	}{
		{name: "good", status: 204},
		{name: "four minutes old", age: 4 * time.Minute, status: 204},
		{name: "ahead", age: -4 * time.Minute, status: 204},
		{name: "several signatures", change: func(r *http.Request) {
			r.Header.Set("webhook-signature", "v1a,AAAA v1,c2hvcnQ= "+r.Header.Get("webhook-signature"))
		}, status: 204},
		{name: "pending", body: strings.Replace(paidWord, `"paid"`, `"pending"`, 1), status: 204},
		{name: "more fields", body: strings.Replace(paidWord, `{`, `{"note":"x",`, 1), status: 204},

		{name: "old", age: 6 * time.Minute, status: 401, text: "more than 5 minutes old"},
		{name: "future", age: -6 * time.Minute, status: 401, text: "from the future"},
		{name: "no signature", change: func(r *http.Request) { r.Header.Del("webhook-signature") }, status: 401, text: "missing"},
		{name: "no id", change: func(r *http.Request) { r.Header.Del("webhook-id") }, status: 401, text: "missing"},
		{name: "another id", change: other("webhook-id", "msg_2"), status: 401, text: "no signature matches"},
		{name: "another time", change: other("webhook-timestamp", "1800000001"), status: 401, text: "no signature matches"},
		{name: "malformed time", change: other("webhook-timestamp", "+1800000000"), status: 401, text: "malformed"},
		{name: "another secret", change: other("webhook-signature", "v1,"+strings.Repeat("A", 43)+"="), status: 401,
			text: "no signature matches"},
		{name: "another body", change: func(r *http.Request) { r.Body = http.NoBody }, status: 401, text: "no signature matches"},

		{name: "too long", body: strings.Repeat(" ", maxCallbackBytes+1), status: 413, text: "longer than 16384 bytes"},
		{name: "no JSON", body: "paid", status: 400, text: "not a JSON object"},
		{name: "another version", body: strings.Replace(paidWord, `"1"`, `"2"`, 1), status: 400, text: "schema_version"},
		{name: "another status", body: strings.Replace(paidWord, `"paid"`, `"refunded"`, 1), status: 400, text: "refunded"},
		{name: "no account", body: strings.Replace(paidWord, `"acc_a"`, `""`, 1), status: 400, text: "account"},
		{name: "no invoice", body: strings.Replace(paidWord, `"2026-10"`, `""`, 1), status: 400, text: "invoice"},
		{name: "GET", change: func(r *http.Request) { r.Method = "GET" }, status: 405},
		{name: "elsewhere", change: func(r *http.Request) { r.URL.Path = "/billing" }, status: 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			listener, words := heard(t, nil)
			if c.body == "" {
				c.body = paidWord
			}
			r := signed(t, c.body, callbackNow.Add(-c.age))
			if c.change != nil {
				c.change(r)
			}
			w := answerTo(listener, r)
			assert.Equal(t, c.status, w.Code, w.Body)
			assert.Contains(t, w.Body.String(), c.text)
			if c.status != http.StatusNoContent {
				assert.Empty(t, *words)
				return
			}
			require.Len(t, *words, 1)
			assert.Equal(t, "2026-10", (*words)[0].Invoice)
			assert.EqualValues(t, "pi_1", (*words)[0].Reference)
		})
	}
}

// Billing's answer to a word is returned to its sender; an internal error is only logged.
func TestCallbackOutcome(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		text   string
		retry  string
	}{
		{metering.ErrNotFound, 404, "the account has no such invoice", ""},
		{&billing.RefusedError{Account: "acc_a", Invoice: "2026-10", Reason: "is void"}, 409,
			"invoice 2026-10 of acc_a is void", ""},
		{billing.ErrBusy, 503, billing.ErrBusy.Error(), "300"},
		{errors.New("disk s3cret"), 503, "retry later", "60"},
	} {
		listener, _ := heard(t, c.err)
		w := answerTo(listener, signed(t, paidWord, callbackNow))
		assert.Equal(t, c.status, w.Code)
		assert.Contains(t, w.Body.String(), c.text)
		assert.NotContains(t, w.Body.String(), "s3cret")
		assert.Equal(t, c.retry, w.Header().Get("Retry-After"))
	}
}

// Replies to callbacks reveal no internals of the server: for bad signatures, for bodies that are broken or do not
// arrive, and for a store that fails.
func TestCallbackLeaksNothing(t *testing.T) {
	database := errors.New(`ERROR: relation "records" does not exist (SQLSTATE 42P01)`)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	fails := func(err error) func(*http.Request) {
		return func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(err)) }
	}
	for _, c := range []struct {
		name   string
		body   string // paidWord if empty
		change func(r *http.Request)
		outage meteringtest.Fault
		status int
	}{
		{name: "no timestamp", change: header("webhook-timestamp", ""), status: 401},
		{name: "a word for a timestamp", change: header("webhook-timestamp", "soon"), status: 401},
		{name: "a timestamp of 30 digits", change: header("webhook-timestamp", strings.Repeat("9", 30)), status: 401},
		{name: "no base64", change: header("webhook-signature", "v1,%%%"), status: 401},
		{name: "half of base64", change: header("webhook-signature", "v1,AAA"), status: 401},
		{name: "no version", change: header("webhook-signature", ","), status: 401},
		{name: "another secret", change: header("webhook-signature", "v1,"+strings.Repeat("A", 43)+"="), status: 401},

		{name: "late body", change: fails(os.ErrDeadlineExceeded), status: 408},
		{name: "broken off", change: fails(io.ErrUnexpectedEOF), status: 400},
		{name: "reset", change: fails(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), status: 400},
		{name: "too long", body: strings.Repeat("x", maxCallbackBytes+1), status: 413},

		{name: "blank", body: " ", status: 400},
		{name: "no JSON", body: "<paid/>", status: 400},
		{name: "half of JSON", body: paidWord[:len(paidWord)/2], status: 400},
		{name: "a list", body: "[]", status: 400},
		{name: "null", body: "null", status: 400},
		{name: "a number for a text", body: strings.Replace(paidWord, `"acc_a"`, "7", 1), status: 400},
		{name: "an object for a status", body: strings.Replace(paidWord, `"paid"`, `{"a":1}`, 1), status: 400},
		{name: "a status of two lines", body: strings.Replace(paidWord, `"paid"`, `"paid\n"`, 1), status: 400},
		{name: "no UTF-8", body: strings.Replace(paidWord, `"paid"`, "\"\xff\"", 1), status: 400},
		{name: "twice", body: strings.Replace(paidWord, `{`, `{"status":"paid",`, 1), status: 400},
		{name: "control characters", body: strings.Replace(paidWord, `"pi_1"`, `"\u0000"`, 1), status: 400},

		{name: "no such invoice", status: 404},
		{name: "store", outage: meteringtest.Fault{Call: meteringtest.Any, Err: database}, status: 503},
		{name: "store unavailable", outage: meteringtest.Fault{Call: meteringtest.Any,
			Err: fmt.Errorf("%w: %w", metering.ErrUnavailable, database)}, status: 503},
		{name: "store does not answer", outage: meteringtest.Fault{Call: meteringtest.Any,
			Err: context.DeadlineExceeded}, status: 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := meteringtest.Faulty(memory.New(memory.Config{}))
			defer store.Close()
			if c.outage.Err != nil {
				store.Inject(c.outage)
			}
			listener, _ := heard(t, nil)
			listener.settle = billing.Billing{Store: store, Clock: listener.clock}.Settle
			r := signed(t, cmp.Or(c.body, paidWord), callbackNow)
			if c.change != nil {
				c.change(r)
			}
			w := answerTo(listener, r)
			assert.Equal(t, c.status, w.Code, w.Body)
			assert.NotEmpty(t, w.Body.String())
			assert.Empty(t, diagtest.Leaks(w.Body.String()))
		})
	}
}

// Bad signatures are bounded by address, and good ones are not; clients behind a proxy are not distinguished.
func TestCallbackRate(t *testing.T) {
	listener, words := heard(t, nil)
	listener.proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	bad := func(from string) int {
		r := signed(t, paidWord, callbackNow.Add(-time.Hour))
		r.RemoteAddr = from
		return answerTo(listener, r).Code
	}
	for range 500 {
		require.Equal(t, 204, answerTo(listener, signed(t, paidWord, callbackNow)).Code)
		require.Equal(t, 401, bad("10.0.0.1:1"))
	}
	refused := 0
	for range 500 {
		if bad("198.51.100.1:1") == 429 {
			refused++
		}
	}
	assert.Equal(t, 380, refused)
	assert.Equal(t, 401, bad("198.51.100.2:1"))
	assert.Len(t, *words, 500)
}

// The flags belong together, secrets are taken from the environment and the file only, and shown nowhere.
func TestPaymentFlags(t *testing.T) {
	const key = "sk_test_0123456789abcdefghijABCD"
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		want string // the fault; none if empty
	}{
		{name: "stripe", env: map[string]string{"DIAG_STRIPE_KEY": key}, args: []string{"--biller=stripe"}},
		{name: "file", args: []string{"--biller=stripe", "--config", writeConfig(t, "stripe-key = "+key)}},
		{name: "callback", env: map[string]string{"DIAG_CALLBACK_SECRET": callbackSecret},
			args: []string{"--callback-listen=127.0.0.1:0"}},
		{name: "no key", args: []string{"--biller=stripe"}, want: "set DIAG_STRIPE_KEY"},
		{name: "another key", env: map[string]string{"DIAG_STRIPE_KEY": "pk" + key[2:]}, args: []string{"--biller=stripe"},
			want: "publishable"},
		{name: "key on the command line", args: []string{"--biller=stripe", "--stripe-key=" + key}, want: "set DIAG_STRIPE_KEY"},
		{name: "secret on the command line", args: []string{"--callback-listen=127.0.0.1:0", "--callback-secret", callbackSecret},
			want: "set DIAG_CALLBACK_SECRET"},
		{name: "no secret", args: []string{"--callback-listen=127.0.0.1:0"}, want: "must be set together"},
		{name: "no listener", env: map[string]string{"DIAG_CALLBACK_SECRET": callbackSecret}, want: "must be set together"},
		{name: "bad secret", env: map[string]string{"DIAG_CALLBACK_SECRET": callbackSecret[:20]},
			args: []string{"--callback-listen=127.0.0.1:0"}, want: "not a signing secret"},
		{name: "bad address", env: map[string]string{"DIAG_CALLBACK_SECRET": callbackSecret},
			args: []string{"--callback-listen=127.0.0.1:http:1"}, want: "too many colons"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			code, v, text := checkConfig(t, append(c.args, "--store=memory:")...)
			assert.NotContains(t, text, key[8:])
			assert.NotContains(t, text, callbackSecret[6:])
			if c.want == "" {
				assert.Equal(t, exitOK, code, text)
				return
			}
			assert.Equal(t, exitFaults, code)
			require.Len(t, v.Faults, 1)
			assert.Contains(t, v.Faults[0].Source+v.Faults[0].Fault, c.want)
		})
	}
	assert.NotContains(t, command(t, "serve", "--help"), "--stripe-key")
}

// A server with both hears callbacks on a listener of its own, and shows its secrets nowhere.
func TestServeCallbacks(t *testing.T) {
	const key = "rk_test_0123456789abcdefghijABCD"
	t.Setenv("DIAG_STRIPE_KEY", key)
	t.Setenv("DIAG_CALLBACK_SECRET", callbackSecret)
	s := start(t, "--store=memory:", "--biller=stripe", "--callback-listen=127.0.0.1:0", "--log-level=debug",
		"--metrics-listen=127.0.0.1:0")
	url := s.log.wait(t, `"?listening for payment callbacks"? url=(\S+)`)[1]
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	say := func(r *http.Request) int {
		to, err := http.NewRequest("POST", url, r.Body)
		require.NoError(t, err)
		to.Header = r.Header
		resp, err := http.DefaultClient.Do(to)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	assert.Equal(t, 404, say(signed(t, paidWord, time.Now())), "there is no such invoice")
	assert.Equal(t, 401, say(signed(t, paidWord, time.Now().Add(-time.Hour))))
	assert.Equal(t, 404, get(t, s.url+callbackPath).status, "the API does not hear callbacks")
	seen := get(t, metrics+"/debug/pprof/cmdline").body + get(t, metrics+"/debug/pprof/goroutine?debug=2").body
	require.Equal(t, exitOK, s.wait())
	assertAbsent(t, "log or pprof", []byte(seen+s.log.String()), []string{key, callbackSecret})
	_, err := http.Post(url, "", nil)
	assert.Error(t, err, "it has ended")
}

// Whatever comes, only what is signed is passed on, and the answer is one of few.
func FuzzCallback(f *testing.F) {
	f.Add(paidWord, "msg_1", "1800000000", "v1,AAAA", false)
	f.Add(paidWord, "msg_1", "1800000000", "", true)
	f.Add(`{"schema_version":"1","account":{}}`, "", "", "v1,", true)
	f.Add("", "a", "-1", "v1, v1,x", true)
	f.Fuzz(func(t *testing.T, body, id, timestamp, signature string, sign bool) {
		listener, words := heard(t, nil)
		r := signed(t, body, callbackNow)
		if !sign {
			r.Header = http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		}
		w := answerTo(listener, r)
		if !sign {
			require.Empty(t, *words)
			require.Contains(t, []int{401, 413}, w.Code)
			return
		}
		require.Contains(t, []int{204, 400, 413}, w.Code)
		require.Equal(t, w.Code == 204, len(*words) == 1)
		require.LessOrEqual(t, w.Body.Len(), 500)
		for _, word := range *words {
			require.True(t, word.Status.Known() && word.Account != "" && word.Invoice != "")
		}
	})
}

// A word ends a pending payment; one that comes again changes nothing, and one that contradicts it is refused.
func TestCallbackSettles(t *testing.T) {
	flag, _ := newStore(t)
	id := debtor(t, flag)
	store, err := sqlite.Open(t.Context(), strings.TrimPrefix(flag, "--store=sqlite:"), sqlite.Config{})
	require.NoError(t, err)
	defer store.Close()
	b := billing.Billing{Store: store, Biller: slowBiller{}, Draft: -1}
	_, err = b.Close(t.Context(), lastClosableMonth())
	require.NoError(t, err)
	paid, err := b.Pay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, paid.Pending)
	listener, _ := heard(t, nil)
	listener.settle = b.Settle
	say := func(status string) int {
		word := strings.NewReplacer("acc_a", string(id), "2026-10", lastClosableMonth().String(), "paid", status).Replace(paidWord)
		return answerTo(listener, signed(t, word, callbackNow)).Code
	}
	for _, c := range []struct {
		status string
		want   int
	}{{"pending", 204}, {"paid", 204}, {"paid", 204}, {"pending", 204}, {"declined", 409}, {"paid", 204}} {
		assert.Equal(t, c.want, say(c.status), c.status)
	}
	for v, err := range b.Invoices(t.Context(), billing.Filter{Account: id}) {
		require.NoError(t, err)
		assert.Equal(t, billing.Paid, v.State)
		assert.EqualValues(t, "pi_1", v.Payment)
		assert.Len(t, v.Attempts, 1)
	}
}
