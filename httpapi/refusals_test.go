package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A kept reply is for who may send the request now: key, address, rate and scope are checked before it.
func TestReplaysPassTheGate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spoil  func(t *testing.T, a *api) // what makes the second request inadmissible
		header string
		want   ErrorCode
	}{
		{"nothing", func(*testing.T, *api) {}, "", ""},
		{"revoked", func(t *testing.T, a *api) {
			_, err := a.admin.RevokeKey(t.Context(), a.key.ID, "")
			require.NoError(t, err)
		}, "", RevokedAPIKey},
		{"expired", func(_ *testing.T, a *api) { a.clock.Advance(time.Hour) }, "", ExpiredAPIKey},
		{"another address", func(*testing.T, *api) {}, "203.0.113.1", IPNotAllowed},
		{"rate", func(_ *testing.T, a *api) {
			for a.post("/x", "{").Code != 429 {
			}
		}, "", RateLimited},
		{"another key", func(_ *testing.T, a *api) { _, a.secret = a.newKey(metering.MailRead) }, "", InsufficientScope},
		{"another key with the scope", func(_ *testing.T, a *api) { _, a.secret = a.newKey(metering.DNSRead) }, "", "run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, "free", func(c *Config) {
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
			}, row("/x", 1, echo))
			key, secret, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
				Account: a.account.ID, Name: "a", Scopes: []metering.Scope{metering.DNSRead},
				ExpiresAt:   new(a.clock.Now().Add(time.Hour)),
				IPAllowlist: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
			})
			require.NoError(t, err)
			a.key, a.secret = key, secret.Reveal()
			require.Equal(t, 200, a.post("/x", `{"text":"a"}`, "Idempotency-Key", "0123456789").Code)
			tt.spoil(t, a)
			r := a.post("/x", `{"text":"a"}`, "Idempotency-Key", "0123456789", "X-Forwarded-For", tt.header)
			switch tt.want {
			case "":
				assert.Equal(t, "true", r.header("X-Idempotent-Replay"))
			case "run":
				assert.Equal(t, 200, r.Code)
				assert.Empty(t, r.header("X-Idempotent-Replay"), "keys do not share replies")
			default:
				assert.Equal(t, tt.want, r.problem().Code)
				assert.Empty(t, r.header("X-Idempotent-Replay"))
			}
		})
	}
}

// Another plan holds for the next request: who has used up the smaller one's bucket passes at once.
func TestPlanChangeHoldsAtOnce(t *testing.T) {
	a := newAPI(t, "free", nil, row("/x", 1, echo))
	for a.post("/x", "{}").Code != 429 {
	}
	setPlan := func(plan metering.PlanID) {
		_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) { acc.Plan = plan })
		require.NoError(t, err)
	}
	setPlan("pack")
	r := a.post("/x", "{}")
	require.Equal(t, 200, r.Code)
	require.Equal(t, "60", r.header("X-RateLimit-Limit"))
	require.Equal(t, "50000", r.header("X-Credits-Limit"))
	setPlan("free")
	require.Equal(t, 429, a.post("/x", "{}").Code)
	a.clock.Advance(time.Minute)
	require.Equal(t, 200, a.post("/x", "{}").Code, "no longer than the new plan's minute")
}

// Malformed, mistyped, unknown and missing keys take the same time, as far as can be measured from outside: what is
// no secret has its lookup in the store too.
func TestInvalidKeysTakeAsLong(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a while")
	}
	a := newAPIOn(t, inNewFile, "self", func(c *Config) { c.IPRate, c.Log, c.Observe = -1, nil, nil })
	unknown, err := metering.NewSecret(metering.Live, nil)
	require.NoError(t, err)
	text := unknown.Reveal()
	mistyped := text[:20] + map[bool]string{true: "b", false: "a"}[text[20] == 'a'] + text[21:]
	kinds := map[string]string{
		"unknown": "Bearer " + text, "mistyped": "Bearer " + mistyped, "malformed": "Bearer x",
		"other scheme": "Basic " + text, "none": "",
	}
	took := map[string][]time.Duration{}
	for range 1500 { // in turn, so that whatever else the machine does hits all alike
		for kind, header := range kinds {
			c := attempt{"POST", Prefix + "/text/lower", "{}", http.Header{"Authorization": {header}}, "198.51.100.1:4000"}
			began := time.Now()
			r := a.do(c)
			took[kind] = append(took[kind], time.Since(began))
			require.Equal(t, 401, r.Code)
		}
	}
	median := func(kind string) time.Duration {
		slices.Sort(took[kind])
		return took[kind][len(took[kind])/2]
	}
	for kind := range kinds {
		t.Logf("%s: %s", kind, median(kind))
		assert.Less(t, median(kind), median("unknown")*3/2, kind)
		assert.Less(t, median("unknown"), median(kind)*3/2, kind)
	}
}
