package hostedspftest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// A Reopener is a store that outlives its process. Reopen closes it, as a stopped server does, and opens it
// again on what it left behind; the store it was called on is not used any more.
type Reopener interface {
	Reopen(t *testing.T) hostedspf.Store
}

// TestStore tests that a store keeps every promise of [hostedspf.Store]. Each part gets an empty store of
// its own from open, which must end claims by the clock, and closes it.
func TestStore(t *testing.T, open func(t *testing.T, clock *Clock) hostedspf.Store) {
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			clock := NewClock()
			f := &fixture{t: t, clock: clock, store: open(t, clock)}
			t.Cleanup(func() { require.NoError(t, f.store.Close()) })
			part.test(t, f)
		})
	}
}

// A part of the suite tests one promise.
type part struct {
	name string
	test func(t *testing.T, f *fixture)
}

var parts = []part{
	{"empty", testEmpty},
}

// fixture is a store under test and short words for what is done with it.
type fixture struct {
	t     *testing.T
	clock *Clock
	store hostedspf.Store
}

func testEmpty(t *testing.T, f *fixture) {
	_, err := f.store.Profile(t.Context(), "spf_unknown")
	require.ErrorIs(t, err, hostedspf.ErrNotFound)
	page, err := f.store.Profiles(t.Context(), hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Profiles)
	require.Zero(t, page.Total)
}
