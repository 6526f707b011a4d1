package httpapi

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A key that acts in the process is charged as a request that shows its secret, and refused by all that is not about
// the way here.
func TestAsk(t *testing.T) {
	a := newAPI(t, "self", nil)
	asked := &API{a.handler.(*server)}
	key, _, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: a.account.ID, Name: "watches", Scopes: []metering.Scope{metering.DNSRead},
		IPAllowlist: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")},
	})
	require.NoError(t, err)
	upper, ok := Endpoints().Nearest("text/upper")
	require.True(t, ok)

	answer, err := asked.Ask(t.Context(), key.ID, upper, []byte(`{"text":"ab"}`))
	require.NoError(t, err)
	assert.Contains(t, string(answer.Body), `"AB"`)
	assert.Regexp(t, "^req_", answer.RequestID)
	assert.EqualValues(t, upper.Credits, answer.Credits)
	assert.EqualValues(t, upper.Credits, a.used())
	assert.Positive(t, answer.Remaining)

	_, err = asked.Ask(t.Context(), key.ID, upper, []byte(`{"txt":"ab"}`))
	wrong, ok := errors.AsType[*ViolationsError](err)
	require.True(t, ok, err)
	assert.Equal(t, "txt", wrong.Violations[0].Field)

	mail, ok := Endpoints().Nearest("spf/lookup")
	require.True(t, ok)
	_, err = asked.Ask(t.Context(), key.ID, mail, []byte(`{"domain":"example.com"}`))
	p, ok := errors.AsType[*Problem](err)
	require.True(t, ok, err)
	assert.Equal(t, insufficientScope, p.Code)

	_, err = a.admin.RevokeKey(t.Context(), key.ID, "")
	require.NoError(t, err)
	_, err = asked.Ask(t.Context(), key.ID, upper, []byte(`{"text":"ab"}`))
	refused, ok := errors.AsType[*metering.RefusedError](err)
	require.True(t, ok, err)
	assert.Equal(t, metering.RevokedKey, refused.Reason)
	_, err = asked.Ask(t.Context(), "key_none", upper, nil)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	assert.EqualValues(t, upper.Credits, a.used(), "refusals cost nothing")
}
