package httpapi

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// TestStoreCrash breaks a request off at every call of the store, before and after it has done its work. Whatever
// was answered, the same request again is served, and charged once for both.
func TestStoreCrash(t *testing.T) {
	for _, done := range []bool{false, true} {
		for calls, finished := 0, false; !finished; calls++ {
			a := newAPI(t, "free", nil, row("/x", 3, echo))
			a.store.Die(calls, done, errors.New("the process died"))
			ask := func() int { return a.post("/x", `{"text":"a"}`, "Idempotency-Key", "0123456789").Code }
			finished = ask() == 200
			require.Less(t, calls, 20)
			require.True(t, !finished || calls >= 3, "a request makes more than %d calls", calls)
			a.store.Heal()
			a.clock.Advance(metering.ClaimLease) // what died cannot cancel
			require.Equal(t, 200, ask(), "after %d calls", calls)
			require.Equal(t, int64(3), a.used())
		}
	}
}
