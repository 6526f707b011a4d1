package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/require"
)

func TestFailuresAreFree(t *testing.T) {
	tests := []struct {
		name   string
		run    func(context.Context, *diag.Env, testRequest) (*testReport, error)
		status int
		reason string
	}{
		{"bug", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, errors.New("dial tcp 10.1.2.3:5432: secret detail")
		}, 500, reasonInternal},
		{"panic", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			panic("secret detail")
		}, 500, reasonInternal},
		{"panic in a concurrent lookup", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			var g diag.Group
			g.Go(func() { panic("secret detail") })
			g.Wait()
			return nil, nil
		}, 500, reasonInternal},
		{"upstream", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, fmt.Errorf("secret detail: %w", diag.ErrUnavailable)
		}, 502, reasonUnavailable},
		{"upstream with a name", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, fmt.Errorf("asking: %w", diag.Unavailable("the resolver Quad9", errors.New("secret detail")))
		}, 502, reasonUnavailable},
		{"deadline", func(ctx context.Context, _ *diag.Env, _ testRequest) (*testReport, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 504, reasonTimeout},
		{"input", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, input.Invalid("text", "is not to our taste")
		}, 400, reasonInvalid},
		{"several inputs", func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, errors.Join(input.Invalid("text", "one"), input.Invalid("text", "two"))
		}, 400, reasonInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, "free", nil, row("/x", 3, tt.run))
				for _, headers := range [][]string{nil, {"Idempotency-Key", "0123456789"}, {"Idempotency-Key", "0123456789"}} {
					r := a.post("/x", `{}`, headers...)
					p := r.problem()
					require.Equal(t, tt.status, r.Code, "%s", r.Body)
					require.Equal(t, tt.reason, p.Details.Reason)
					require.NotContains(t, r.Body.String(), "secret")
				}
				require.Zero(t, a.used())
			})
		})
	}
	f := problemFor(fmt.Errorf("asking: %w", diag.Unavailable("the resolver Quad9", errors.New("secret detail"))))
	require.Equal(t, "There was no usable answer from the resolver Quad9.", f.problem.Message)
	f = problemFor(diag.Unavailable("the resolver Quad9", context.DeadlineExceeded))
	require.Equal(t, http.StatusGatewayTimeout, f.status)
	require.Equal(t, "There was no answer from the resolver Quad9 in time.", f.problem.Message)
}

func TestOverload(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	a := newAPI(t, "self", func(c *Config) { c.MaxRunning = 1 },
		row("/slow", 1, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			started <- true
			<-release
			return &testReport{}, nil
		}), row("/fast", 1, echo))
	done := make(chan int)
	go func() { done <- a.post("/slow", `{}`).Code }()
	<-started
	r := a.post("/fast", `{}`)
	require.Equal(t, 503, r.Code)
	require.Equal(t, reasonOverloaded, r.problem().Details.Reason)
	require.Equal(t, "1", r.header("Retry-After"))
	close(release)
	require.Equal(t, 200, <-done)
	require.Equal(t, 200, a.post("/fast", `{}`).Code)
	require.Equal(t, int64(2), a.used())
}

// A client that disconnects before the work began pays nothing; with an idempotency key the work continues, is kept
// and charged, and the reply waits for a retry.
func TestLostClient(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	runs := 0
	a := newAPI(t, "self", nil, row("/x", 1, func(ctx context.Context, _ *diag.Env, _ testRequest) (*testReport, error) {
		runs++
		leave()
		return &testReport{}, ctx.Err()
	}))
	send := func(headers ...string) *reply {
		h := http.Header{"Authorization": {"Bearer " + a.secret}, "Content-Type": {"application/json"}}
		if len(headers) > 0 {
			h.Set(headers[0], headers[1])
		}
		return a.doContext(ctx, attempt{"POST", Prefix + "/x", "{}", h, ""})
	}
	require.NotEqual(t, 200, send().Code)
	require.Zero(t, a.used())

	ctx, leave = context.WithCancel(t.Context())
	defer leave()
	require.Equal(t, 200, send("Idempotency-Key", "0123456789").Code)
	require.Equal(t, int64(1), a.used())
	ctx = t.Context()
	require.Equal(t, "true", send("Idempotency-Key", "0123456789").header("X-Idempotent-Replay"))
	require.Equal(t, 2, runs)
}

func TestStoreFaults(t *testing.T) {
	boom := errors.New("disk I/O error at /var/lib/secret")
	for _, call := range []meteringtest.Call{meteringtest.Begin, meteringtest.Settle} {
		t.Run(string(call), func(t *testing.T) {
			a := newAPI(t, "free", nil, row("/x", 3, echo))
			a.store.Inject(meteringtest.Fault{Call: call, Times: 1, Err: boom})
			r := a.post("/x", `{"text":"paid content"}`)
			require.Equal(t, 500, r.Code)
			require.NotContains(t, r.Body.String(), "secret")
			require.NotContains(t, r.Body.String(), "paid content")
			require.Zero(t, a.used())
			require.Contains(t, a.log.String(), "disk I/O", "the operator must learn of it")
			require.Equal(t, 200, a.post("/x", `{}`).Code)
		})
	}
}

// While the store cannot take charges, the reply has a Retry-After, and costs nothing.
func TestStoreUnavailable(t *testing.T) {
	for _, call := range []meteringtest.Call{meteringtest.Begin, meteringtest.Settle, meteringtest.KeyByHash} {
		t.Run(string(call), func(t *testing.T) {
			a := newAPI(t, "free", nil, row("/x", 3, echo))
			full := fmt.Errorf("settling: %w: disk is full: %w", metering.ErrUnavailable, context.DeadlineExceeded)
			a.store.Inject(meteringtest.Fault{Call: call, Times: 1, Err: full})
			r := a.post("/x", `{"text":"a"}`)
			require.Equal(t, 503, r.Code)
			require.Equal(t, decimal(storeRetry), r.header("Retry-After"))
			require.Equal(t, InternalError, r.problem().Code)
			require.Equal(t, reasonInternal, r.problem().Details.Reason)
			require.NotContains(t, r.Body.String(), "disk")
			require.Contains(t, a.log.String(), "disk is full")
			require.Zero(t, a.used())
			require.Equal(t, 200, a.post("/x", `{"text":"a"}`).Code)
		})
	}
	f := problemFor(fmt.Errorf("creating: %w", hostedspf.ErrUnavailable))
	require.Equal(t, 503, f.status)
}

// An outage of the store is logged when it begins and when it ends, with the number of failed requests, not for each
// request.
func TestOutageIsToldOnce(t *testing.T) {
	var log syncBuffer
	a := newAPI(t, "self", func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }, row("/x", 1, echo))
	lines := func() int { return strings.Count(log.String(), "\n") }
	for round := range 2 {
		a.store.Inject(meteringtest.Fault{Call: meteringtest.Begin, Times: 100, Err: metering.ErrUnavailable})
		for range 100 {
			require.Equal(t, 503, a.post("/x", `{}`).Code)
			a.clock.Advance(time.Second)
		}
		require.Equal(t, 2*round+1, lines(), log.String())
		a.store.Heal()
		require.Equal(t, 200, a.post("/x", `{}`).Code)
		require.Equal(t, 2*round+1, lines(), "it may come back")
		a.clock.Advance(outageQuiet)
		for range 10 {
			require.Equal(t, 200, a.post("/x", `{}`).Code)
		}
		require.Equal(t, 2*round+2, lines(), log.String())
	}
	require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"))
	require.Equal(t, 2, strings.Count(log.String(), "refused=100"))
}

// rotate gives the caller the successor of its key.
func rotate(t *testing.T, a *api) {
	_, key, secret, err := a.admin.RotateKey(t.Context(), a.key.ID, metering.DefaultGrace)
	require.NoError(t, err)
	a.key, a.secret = key, secret.Reveal()
}

// A retry with a new secret is a replay of a charge under the old secret. A sealed reply can be decrypted with the
// old secret only, and one that was too large was not kept; neither is charged again.
func TestRepetitionAfterRotation(t *testing.T) {
	sealed := row("/secret", 1, echo)
	sealed.Operation = sealed.Operation.sealReplies()
	large := row("/large", 1, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
		return &testReport{Text: strings.Repeat("x", metering.MaxReplyBytes)}, nil
	})
	a := newAPI(t, "self", nil, row("/x", 1, echo), sealed, large)
	first := map[string]*reply{}
	for _, path := range []string{"/x", "/secret", "/large"} {
		first[path] = a.post(path, `{"text":"a"}`, "Idempotency-Key", "key-for-"+path)
		require.Equal(t, 200, first[path].Code)
	}
	used := a.used()
	rotate(t, a)
	r := a.post("/x", `{"text":"a"}`, "Idempotency-Key", "key-for-/x")
	require.Equal(t, "true", r.header("X-Idempotent-Replay"))
	require.Equal(t, first["/x"].Body.String(), r.Body.String())
	for _, path := range []string{"/secret", "/large"} {
		r := a.post(path, `{"text":"a"}`, "Idempotency-Key", "key-for-"+path)
		require.Equal(t, 409, r.Code, path)
		require.Equal(t, IdempotencyConflict, r.problem().Code)
		require.Equal(t, reasonReplyGone, r.problem().Details.Reason)
	}
	require.Equal(t, used, a.used())
}

// The charge was written and only its acknowledgement lost: the retry is a replay.
func TestLostAcknowledgement(t *testing.T) {
	a := newAPI(t, "free", nil, row("/x", 3, echo))
	a.store.Inject(meteringtest.Fault{Call: meteringtest.Settle, Times: 1, After: true, Err: errors.New("lost")})
	require.Equal(t, 500, a.post("/x", `{"text":"a"}`, "Idempotency-Key", "0123456789").Code)
	r := a.post("/x", `{"text":"a"}`, "Idempotency-Key", "0123456789")
	require.Equal(t, 200, r.Code)
	require.Equal(t, "true", r.header("X-Idempotent-Replay"))
	require.Equal(t, int64(3), a.used())
}

// A sealed reply is replayed to its owner, and cannot be read from the store alone.
func TestSealedReply(t *testing.T) {
	runs := 0
	sealed := row("/secret", 1, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
		runs++
		return &testReport{Text: fmt.Sprint("correct horse ", runs)}, nil
	})
	sealed.Operation = sealed.Operation.sealReplies()
	a := newAPI(t, "self", nil, sealed)
	first := a.post("/secret", `{}`, "Idempotency-Key", "0123456789")
	require.Contains(t, first.Body.String(), "correct horse 1")

	hash, err := metering.ParseIdempotencyKey([]string{"0123456789"})
	require.NoError(t, err)
	begun, err := a.store.Begin(t.Context(), metering.Op{
		RequestID: "x", Account: a.account.ID, Key: a.key.ID, Endpoint: "x", Credits: 1, Now: a.clock.Now(),
		Lease: a.clock.Now().Add(second), Idempotency: hash,
		Fingerprint: new(metering.Fingerprint("POST", Prefix+"/secret", jsonMedia, []byte(`{}`))),
	})
	require.NoError(t, err)
	require.Equal(t, metering.SealedReply, begun.Replay.Reply.Form)
	require.NotContains(t, string(begun.Replay.Reply.Body), "horse")
	_, err = unseal("svc_live_of_somebody_else", hash, begun.Replay.Reply.Body)
	require.ErrorIs(t, err, errSealed)

	again := a.post("/secret", `{}`, "Idempotency-Key", "0123456789")
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, "true", again.header("X-Idempotent-Replay"))
	require.Equal(t, 1, runs)
}
