package httpapi

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Operations for visitors are not charged, have no access to what belongs to keys, and together the memory of one account.
func TestUnmetered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, "self", nil)
		run := (&API{a.handler.(*server)}).Unmetered()
		upper, _ := Endpoints().Nearest("text/upper")
		result, err := run(t.Context(), upper, []byte(`{"text":"ab"}`))
		require.NoError(t, err)
		assert.Contains(t, string(result.Body), `"AB"`)
		assert.Zero(t, a.used())
		assert.Empty(t, a.seen)
		_, err = run(t.Context(), upper, []byte(`{"txt":"ab"}`))
		_, invalid := errors.AsType[*ViolationsError](err)
		require.True(t, invalid, err)
		hosted, _ := Endpoints().ByName("spf/hosted")
		_, err = run(t.Context(), hosted, []byte(`{}`))
		require.ErrorIs(t, err, errHosted)

		work := a.handler.(*server).Budget.Work
		lease, err := work.Take(t.Context(), budget.Owner{}, work.All)
		require.NoError(t, err)
		_, err = run(t.Context(), upper, []byte(`{"text":"ab"}`))
		require.ErrorIs(t, err, budget.ErrFull)
		others, err := work.Take(t.Context(), budget.Owner{Account: a.account.ID}, work.Account)
		require.NoError(t, err, "accounts keep theirs")
		others.Release()
		lease.Release()
	})
}

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
	assert.Equal(t, InsufficientScope, p.Code)

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
