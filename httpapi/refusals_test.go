package httpapi

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A kept reply is only for callers who may send the request now: key, address, rate and scope are checked before it.
func TestReplaysPassTheGate(t *testing.T) {
	for _, tt := range []struct {
		name       string
		invalidate func(t *testing.T, a *api) // what makes the second request inadmissible
		header     string
		want       ErrorCode
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
			tt.invalidate(t, a)
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

// Another plan applies to the next request: a key that has used up the smaller plan's bucket passes immediately.
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
