package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

func TestSuccessHeaders(t *testing.T) {
	a := newAPI(t, "pack", nil)
	r := a.post("/text/lower", `{"text":"STRASSE"}`)

	require.Equal(t, 200, r.Code, "%s", r.Body)
	require.JSONEq(t, `{"result":"strasse","input_bytes":7,"output_bytes":7,"changed":true}`, r.Body.String())
	require.Regexp(t, `^req_[a-z2-7]{26}$`, r.header("X-Request-Id"))
	want := map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store",
		"RateLimit-Policy": `"default";q=60;w=60`, "RateLimit": `"default";r=59;t=1`,
		"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59",
		"X-RateLimit-Reset": fmt.Sprint(a.clock.Now().Unix() + 1),
		"X-Credits-Limit":   "50000", "X-Credits-Remaining": "49999", "X-Credits-Consumed": "1",
		"X-Credits-Overage": "", "X-Idempotent-Replay": "", "Retry-After": "", "Access-Control-Allow-Origin": "",
	}
	for name, value := range want {
		require.Equal(t, value, r.header(name), name)
	}
	require.Equal(t, int64(1), a.used())
}

func TestRefusals(t *testing.T) {
	a := newAPI(t, "agency", nil)
	_, mailOnly := a.newKey(metering.MailRead)
	revoked, revokedSecret := a.newKey(metering.DNSRead)
	_, err := a.admin.RevokeKey(t.Context(), revoked.ID, "")
	require.NoError(t, err)
	expired, expiredSecret, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: a.account.ID, Name: "soon", Scopes: []metering.Scope{metering.DNSRead},
		ExpiresAt: new(a.clock.Now().Add(time.Hour)),
	})
	require.NoError(t, err)
	require.NotEmpty(t, expired.ID)
	_, listed, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: a.account.ID, Name: "listed", Scopes: []metering.Scope{metering.DNSRead},
		IPAllowlist: []netip.Prefix{testPrefix},
	})
	require.NoError(t, err)
	a.clock.Advance(time.Hour) // now == expires_at
	mistyped := a.secret[:len(a.secret)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(a.secret, "a")]

	tests := []struct {
		name, path, body string
		headers          []string
		status           int
		code             ErrorCode
		reason           string
	}{
		{"no header", "/text/lower", `{}`, []string{"Authorization", ""}, 401, InvalidAPIKey, ""},
		{"basic", "/text/lower", `{}`, []string{"Authorization", "Basic eDp5"}, 401, InvalidAPIKey, ""},
		{"malformed", "/text/lower", `{}`, []string{"Authorization", "Bearer nonsense"}, 401, InvalidAPIKey, ""},
		{"mistyped", "/text/lower", `{}`, []string{"Authorization", "Bearer " + mistyped}, 401, InvalidAPIKey, ""},
		{"revoked", "/text/lower", `{}`, []string{"Authorization", "Bearer " + revokedSecret}, 401, RevokedAPIKey, ""},
		{"expired", "/text/lower", `{}`, []string{"Authorization", "Bearer " + expiredSecret.Reveal()}, 401, ExpiredAPIKey, ""},
		{"address", "/text/lower", `{}`, []string{"Authorization", "Bearer " + listed.Reveal()}, 403, IPNotAllowed, ""},
		{"scope", "/text/lower", `{}`, []string{"Authorization", "Bearer " + mailOnly}, 403, InsufficientScope, ""},
		{"path", "/text/nothing", `{}`, nil, 404, InvalidRequest, reasonNotFound},
		{"slash in disguise", "/text%2flower", `{"text":"A"}`, nil, 404, InvalidRequest, reasonNotFound},
		{"unclean path", "//text/lower", `{}`, nil, 404, InvalidRequest, reasonNotFound},
		{"path without a key", "/text/nothing", `{}`, []string{"Authorization", ""}, 404, InvalidRequest, reasonNotFound},
		{"media type", "/text/lower", `{"text":""}`, []string{"Content-Type", "text/plain"}, 415, InvalidRequest, reasonMediaType},
		{"no media type", "/text/lower", `{"text":""}`, []string{"Content-Type", ""}, 415, InvalidRequest, reasonMediaType},
		{"charset", "/text/lower", `{"text":""}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, InvalidRequest, reasonMediaType},
		{"compressed", "/text/lower", `{"text":""}`, []string{"Content-Encoding", "gzip"}, 415, InvalidRequest, reasonMediaType},
		{"too large", "/text/lower", `{"text":"` + strings.Repeat("a", textBody) + `"}`, nil, 413, InvalidRequest, reasonTooLarge},
		{"malformed JSON", "/text/lower", `{"text":`, nil, 400, InvalidRequest, reasonMalformed},
		{"unknown field", "/text/lower", `{"text":"a","txet":"b"}`, nil, 400, InvalidRequest, reasonUnknown},
		{"missing field", "/text/lower", `{}`, nil, 400, InvalidRequest, reasonMissing},
		{"invalid field", "/text/lower", `{"text":"a","locale":"xx"}`, nil, 400, InvalidRequest, reasonInvalid},
		{"idempotency key", "/text/lower", `{"text":"a"}`, []string{"Idempotency-Key", "short"}, 400, InvalidRequest, reasonIdempotency},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := a.post(tt.path, tt.body, tt.headers...)
			p := r.problem()
			require.Equal(t, tt.status, r.Code, "%s", r.Body)
			require.Equal(t, tt.code, p.Code)
			require.Equal(t, tt.reason, p.Details.Reason)
			require.Empty(t, r.header("X-Credits-Consumed"))
			if tt.status == 401 {
				require.Equal(t, "Bearer", r.header("WWW-Authenticate"))
			}
		})
	}
	require.Zero(t, a.used(), "a refusal costs nothing")
}

// Every reply of the API reports the state of a bucket: that of a good key, whatever the path, otherwise the
// address's, if it has one.
func TestRateHeadersEverywhere(t *testing.T) {
	const own = `"default";q=60;w=60`
	for rate, policy := range map[int]string{0: `"default";q=120;w=60`, -1: ""} {
		a := newAPI(t, "pack", func(c *Config) { c.IPRate = rate })
		for _, tt := range []struct {
			method, path, key string
			status            int
			want              string
		}{
			{"POST", "/text/lower", "x", 401, policy},
			{"POST", "/nothing", "x", 404, policy},
			{"GET", "/text/lower", "", 405, policy},
			{"GET", "/openapi.json", "", 200, policy},
			{"PUT", "/openapi.json", "", 405, policy},
			{"POST", "", "", 404, policy},
			{"POST", "/../v2/text/lower", "", 404, policy},
			{"POST", "/nothing", a.secret, 404, own},
			{"GET", "/text/lower", a.secret, 405, own},
			{"GET", "/openapi.json", a.secret, 200, own},
			{"PUT", "/openapi.json", a.secret, 405, own},
			{"POST", "", a.secret, 404, own},
			{"POST", "/../v2/text/lower", a.secret, 404, own},
			{"POST", "/text/lower", a.secret, 400, own},
			{"POST", "/text/lower?a=b", a.secret, 400, own},
		} {
			r := a.do(attempt{tt.method, Prefix + tt.path, "", http.Header{"Authorization": {"Bearer " + tt.key}}, ""})
			require.Equal(t, tt.status, r.Code, tt.path)
			require.Equal(t, tt.want, r.header("RateLimit-Policy"), tt.path)
			for _, name := range rateHeaderNames {
				require.Equal(t, tt.want == "", r.header(name) == "", "%s: %s", tt.path, name)
			}
		}
	}
}

// Malformed, mistyped, unknown and missing keys must be indistinguishable.
func TestInvalidKeysLookAlike(t *testing.T) {
	a := newAPI(t, "agency", func(c *Config) { c.IPRate = -1 }) // the bucket of the address counts its requests
	unknown, err := metering.NewSecret(metering.Live, nil)
	require.NoError(t, err)
	var bodies []string
	for _, header := range []string{"", "Bearer", "Bearer x", "Bearer " + unknown.Reveal(), "Basic " + a.secret} {
		r := a.post("/text/lower", `{}`, "Authorization", header)
		text := fmt.Sprint(r.Body, r.Result().Header)
		bodies = append(bodies, strings.ReplaceAll(text, r.header("X-Request-Id"), "req"))
	}
	for _, b := range bodies {
		require.Equal(t, bodies[0], b)
	}
}

func TestScopeProblemNamesScopes(t *testing.T) {
	a := newAPI(t, "agency", nil)
	_, secret := a.newKey(metering.WebRead, metering.MailRead)
	r := a.post("/text/lower", `{}`, "Authorization", "bearer "+secret)
	p := r.problem()
	require.Equal(t, "dns:read", p.Details.Required)
	require.Equal(t, []string{"mail:read", "web:read"}, p.Details.Granted)
	require.Equal(t, "600", r.header("X-RateLimit-Limit"), "rate headers stand on refusals from the bucket on")
}

// A request to the server's root is directed to the documentation; a percent-encoded letter means the same.
func TestRootAndSpelling(t *testing.T) {
	a := newAPI(t, "agency", nil)
	r := a.do(attempt{"GET", "/", "", http.Header{}, ""})
	require.Equal(t, 404, r.Code)
	require.Contains(t, r.problem().Message, "/public/v1/openapi.json")
	require.Equal(t, 200, a.post("/text/%6cower", `{"text":"A"}`).Code)
}

func TestMethods(t *testing.T) {
	a := newAPI(t, "agency", nil)
	for _, method := range []string{"GET", "PUT", "OPTIONS", "DELETE", "HEAD"} {
		r := a.do(attempt{method, Prefix + "/text/lower", "", http.Header{}, ""})
		require.Equal(t, 405, r.Code, method)
		require.Equal(t, "POST", r.header("Allow"))
		if method != "HEAD" {
			require.Equal(t, reasonMethod, r.problem().Details.Reason)
		}
	}
	signed := http.Header{"Authorization": {"Bearer " + a.secret}}
	got := a.do(attempt{"GET", Prefix + "/spf/hosted", "", signed, ""})
	head := a.do(attempt{"HEAD", Prefix + "/spf/hosted", "", signed, ""})
	require.Equal(t, 200, head.Code)
	require.Empty(t, head.Body.String())
	require.Equal(t, strconv.Itoa(got.Body.Len()), head.header("Content-Length"))
	require.Equal(t, "1", head.header("X-Credits-Consumed"))
	require.Equal(t, "GET, HEAD", a.do(attempt{"PUT", Prefix + "/spf/hosted", "", signed, ""}).header("Allow"))

	r := a.do(attempt{"GET", openapiPath, "", http.Header{}, ""})
	require.Equal(t, 200, r.Code)
	require.Contains(t, r.Body.String(), `"openapi":"3.1.0"`)
	require.Equal(t, 405, a.do(attempt{"POST", openapiPath, "", http.Header{}, ""}).Code)
}

func TestQuota(t *testing.T) {
	a := newAPI(t, "free", nil, row("/one", 1, echo), row("/seven", 7, echo))
	for range 4 {
		require.Equal(t, 200, a.post("/seven", `{}`).Code)
	}
	r := a.post("/seven", `{}`)
	p := r.problem()
	require.Equal(t, 403, r.Code)
	require.Equal(t, QuotaExceeded, p.Code)
	require.Contains(t, p.Message, "larger plan")
	require.Equal(t, ProblemDetails{Reason: "allowance_used", ResetsAt: new(metering.PeriodOf(a.clock.Now()).End()), Tier: "free", Limit: new(int64(30)), Current: new(int64(28)), Requested: new(int64(7))}, p.Details)
	require.Equal(t, "30", r.header("X-Credits-Limit"))
	require.Equal(t, "2", r.header("X-Credits-Remaining"))

	require.Equal(t, 200, a.post("/one", `{}`).Code)
	r = a.post("/one", `{}`)
	require.Equal(t, "0", r.header("X-Credits-Remaining"))
	p = a.post("/one", `{}`).problem()
	require.Nil(t, p.Details.Requested, "nothing is left: the price is not to blame")
	require.Equal(t, int64(30), a.used())
}

func TestOverage(t *testing.T) {
	a := newAPI(t, "pack", nil, row("/big", 40_000, echo))
	_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) { acc.OverageEnabled = true })
	require.NoError(t, err)
	require.Empty(t, a.post("/big", `{}`).header("X-Credits-Overage"))
	r := a.post("/big", `{}`)
	require.Equal(t, 200, r.Code)
	require.Equal(t, "30000", r.header("X-Credits-Overage"))
	require.Equal(t, "0", r.header("X-Credits-Remaining"))
}

// Of overage, too, the price alone overshoots where the budget leaves some.
func TestQuotaOfOverage(t *testing.T) {
	a := newAPI(t, "pack", nil, row("/big", 50_000, echo), row("/nine", 9, echo), row("/seven", 7, echo))
	_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) {
		acc.OverageEnabled, acc.OverageBudgetCents = true, new(int64(1)) // ten credits
	})
	require.NoError(t, err)
	require.Equal(t, 200, a.post("/big", `{}`).Code)
	require.Equal(t, 200, a.post("/nine", `{}`).Code)
	p := a.post("/seven", `{}`).problem()
	require.Equal(t, QuotaExceeded, p.Code)
	require.Equal(t, new(int64(7)), p.Details.Requested)
	require.Equal(t, int64(50_009), *p.Details.Current)
}

// An earlier reply is still replayed to a suspended account; a new request is refused, with the reason.
func TestSuspended(t *testing.T) {
	a := newAPI(t, "pack", nil, row("/one", 1, echo))
	suspend := func(s *metering.Suspension) {
		_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) { acc.Suspension = s })
		require.NoError(t, err)
	}
	require.Equal(t, 200, a.post("/one", `{}`, "Idempotency-Key", "0123456789").Code)
	suspend(&metering.Suspension{At: a.clock.Now(), Reason: "not paid"})
	r := a.post("/one", `{}`)
	require.Equal(t, 403, r.Code)
	p := r.problem()
	require.Equal(t, QuotaExceeded, p.Code)
	require.Equal(t, ProblemDetails{
		Tier: "pack", Limit: new(int64(50_000)), Current: new(int64(1)), Reason: "suspended",
	}, p.Details)
	require.Equal(t, "true", a.post("/one", `{}`, "Idempotency-Key", "0123456789").header("X-Idempotent-Replay"))
	suspend(nil)
	require.Equal(t, 200, a.post("/one", `{}`).Code)
	require.Equal(t, int64(2), a.used())
}

func TestKeyRateLimit(t *testing.T) {
	a := newAPI(t, "free", nil, row("/one", 1, echo))
	for range 10 {
		require.Equal(t, 200, a.post("/one", `{}`).Code)
	}
	r := a.post("/one", `{}`)
	p := r.problem()
	require.Equal(t, 429, r.Code)
	require.Equal(t, "key", p.Details.Scope)
	require.Equal(t, int64(6), *p.Details.RetryAfter)
	require.Equal(t, "6", r.header("Retry-After"))
	require.Equal(t, "0", r.header("X-RateLimit-Remaining"))
	a.clock.Advance(6 * second)
	require.Equal(t, 200, a.post("/one", `{}`).Code)
}

// An address may guess 120 times a minute, and a customer behind it is bounded by the plan alone.
func TestAddressRateLimit(t *testing.T) {
	a := newAPI(t, "self", func(c *Config) { c.IPRate = 5 }, row("/one", 1, echo))
	for range 50 {
		require.Equal(t, 200, a.post("/one", `{}`).Code, "good keys give the token back")
	}
	for range 5 {
		require.Equal(t, 401, a.post("/one", `{}`, "Authorization", "Bearer x").Code)
	}
	r := a.post("/one", `{}`, "Authorization", "Bearer x")
	require.Equal(t, 429, r.Code)
	require.Equal(t, "ip", r.problem().Details.Scope)
	require.NotEmpty(t, r.header("Retry-After"))
	require.Equal(t, `"default";r=0;t=12`, r.header("RateLimit"), "of the address: the key's bucket was not looked at")
}

// Who guesses does not lock out a good key behind the same address; a bad one passes no longer than
// before, and the good one is bounded by its own bucket.
func TestGuessesDoNotLockOut(t *testing.T) {
	a := newAPI(t, "free", func(c *Config) { c.IPRate = 5 }, row("/one", 1, echo))
	require.Equal(t, 200, a.post("/one", `{}`).Code)
	revoked, secret := a.newKey(metering.DNSRead)
	require.Equal(t, 200, a.post("/one", `{}`, "Authorization", "Bearer "+secret).Code)
	_, fresh := a.newKey(metering.DNSRead)
	for range 10 {
		a.post("/one", `{}`, "Authorization", "Bearer x")
	}
	require.Equal(t, 200, a.post("/one", `{}`).Code)
	require.Equal(t, 200, a.post("/one", `{}`, "Authorization", "Bearer "+fresh).Code, "which was never seen")
	_, err := a.admin.RevokeKey(t.Context(), revoked.ID, "")
	require.NoError(t, err)
	codes := map[ErrorCode]int{}
	for range 100 {
		codes[a.post("/one", `{}`, "Authorization", "Bearer "+secret).problem().Code]++
	}
	require.Equal(t, map[ErrorCode]int{RevokedAPIKey: 2, RateLimited: 98}, codes, "one more than before it was known")
	for range 8 {
		require.Equal(t, 200, a.post("/one", `{}`).Code)
	}
	require.Equal(t, "key", a.post("/one", `{}`).problem().Details.Scope)
}

// An unknown key with a valid checksum is looked up a quarter as often again, and no more.
func TestGuessesWithChecksum(t *testing.T) {
	a := newAPI(t, "self", func(c *Config) { c.IPRate = 40 }, row("/one", 1, echo))
	for range 20 { // after a start
		_, secret := a.newKey(metering.DNSRead)
		for range 40 {
			a.post("/one", `{}`, "Authorization", "Bearer x")
		}
		require.Equal(t, 200, a.post("/one", `{}`, "Authorization", "Bearer "+secret).Code)
	}
	codes := map[int]int{}
	for range 200 {
		secret, err := metering.NewSecret(metering.Live, nil)
		require.NoError(t, err)
		codes[a.post("/one", `{}`, "Authorization", "Bearer "+secret.Reveal()).Code]++
	}
	require.Equal(t, map[int]int{401: 10, 429: 190}, codes)
}

func TestRevocationHoldsAtOnce(t *testing.T) {
	a := newAPI(t, "self", nil, row("/x", 1, echo))
	for range 20 {
		key, secret := a.newKey(metering.DNSRead)
		require.Equal(t, 200, a.post("/x", `{}`, "Authorization", "Bearer "+secret).Code)
		_, err := a.admin.RevokeKey(t.Context(), key.ID, metering.RevokedLeak)
		require.NoError(t, err)
		require.Equal(t, RevokedAPIKey, a.post("/x", `{}`, "Authorization", "Bearer "+secret).problem().Code)
	}
}

func TestObservations(t *testing.T) {
	a := newAPI(t, "pack", nil)
	a.post("/text/lower", `{"text":"A"}`)
	a.post("/text/lower", `{"text":"A"}`, "Authorization", "Bearer x")
	a.post("/nothing/example.com", `{}`)
	require.Equal(t, []Observation{
		{Endpoint: "POST /public/v1/text/lower", Code: "OK", Status: 200, Plan: "pack", Credits: 1, Account: a.account.ID, Key: a.key.ID},
		{Endpoint: "POST /public/v1/text/lower", Code: "INVALID_API_KEY", Status: 401,
			Message: "The API key is missing or not valid. Send it in a header: Authorization: Bearer svc_live_…"},
		{Endpoint: "unknown", Code: "INVALID_REQUEST", Status: 404, Plan: "pack", Account: a.account.ID, Key: a.key.ID,
			Message: "There is nothing at this path."},
	}, a.observed())
}

// No secret, no body and no idempotency key may occur in the server's log of a request.
func TestLogHoldsNoSecret(t *testing.T) {
	a := newAPI(t, "free", nil, row("/x", 1, func(_ context.Context, _ *diag.Env, req testRequest) (*testReport, error) {
		panic("while working")
	}), row("/y", 1, echo))
	a.post("/x", `{"text":"private words"}`, "Idempotency-Key", "idempotency-secret", "X-Request-Id", "theirs\n\"1\"")
	a.post("/y", `{"text":"private words"}`, "Idempotency-Key", "idempotency-secret")
	a.post("/y", `{"private":"words"}`)
	for _, needle := range []string{a.secret, a.secret[len(a.secret)-20:], "private", "idempotency-secret"} {
		require.NotContains(t, a.log.String(), needle)
	}
	require.Contains(t, a.log.String(), "while working")
	require.Contains(t, a.log.String(), `"client_request_id":"theirs\n\"1\""`)
	require.Contains(t, a.log.String(), string(a.key.ID))
}

// Customers' subjects are not logged unless the operator enables it, and remote servers that do not answer are not
// errors of the server.
func TestLogHoldsNoNames(t *testing.T) {
	fails := func(err error) func(context.Context, *diag.Env, testRequest) (*testReport, error) {
		return func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return nil, fmt.Errorf("examining customer.example: %w", err)
		}
	}
	log := &syncBuffer{}
	a := newAPI(t, "self", func(c *Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) },
		row("/bug", 1, fails(errors.New("a bug"))), row("/silent", 1, fails(diag.ErrUnavailable)),
		row("/late", 1, fails(context.DeadlineExceeded)))
	require.Equal(t, 502, a.post("/silent", `{}`).Code)
	require.Equal(t, 504, a.post("/late", `{}`).Code)
	require.Empty(t, log.String())
	require.Equal(t, 500, a.post("/bug", `{}`).Code)
	require.Contains(t, log.String(), "level=ERROR msg=request")
	require.NotContains(t, log.String(), "customer.example")
}
