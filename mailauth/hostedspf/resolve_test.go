package hostedspf_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// The lifecycle of a profile: changes, failures that keep the published records, recovery, and its history.
func TestResolve(t *testing.T) {
	w, a := setUp(t)
	var events []hostedspf.EventType
	p := create(t, w, a)
	a.Notify = func(e hostedspf.Event) { events = append(events, e.Type) }

	w.Advance(time.Hour)
	r := resolve(t, w, a, p.ID)
	require.Equal(t, hostedspf.ResolutionUnchanged, r.Resolution.Status)
	require.Equal(t, hostedspf.Manual, r.Resolution.Trigger)
	require.Equal(t, []string{}, r.Resolution.Added)
	require.Equal(t, w.Now(), r.Profile.LastResolvedAt)
	require.Equal(t, p.LastChangedAt, r.Profile.LastChangedAt)
	require.Empty(t, events)

	w.Advance(time.Hour)
	service(w, "192.0.2.0/25", "198.51.100.0/24")
	r = resolve(t, w, a, p.ID)
	require.Equal(t, hostedspf.ResolutionChanged, r.Resolution.Status)
	require.Equal(t, []string{"198.51.100.0/24"}, r.Resolution.Added)
	require.Equal(t, []string{"192.0.2.128/25"}, r.Resolution.Removed)
	require.Equal(t, 2, r.Resolution.IP4Count)
	require.Equal(t, 1, r.Resolution.DNSLookups)
	require.Equal(t, r.Profile.RecordHash, r.Resolution.RecordHash)
	require.Equal(t, w.Now(), r.Profile.LastChangedAt)
	good := r.Profile

	w.Fault("_spf.example.org", 0, diagtest.Fault{Rcode: 2})
	for range 2 {
		w.Advance(time.Hour)
		r = resolve(t, w, a, p.ID)
		require.Equal(t, hostedspf.ResolutionFailed, r.Resolution.Status)
		require.Contains(t, r.Resolution.Error, "_spf.example.org")
		require.Equal(t, good.RecordHash, r.Resolution.RecordHash)
		require.Equal(t, 2, r.Resolution.IP4Count)
		require.Equal(t, hostedspf.Failed, r.Profile.Status)
		require.Equal(t, good.Records, r.Profile.Records, "the last good set stays")
		require.Equal(t, good.LastResolvedAt, r.Profile.LastResolvedAt)
		require.Contains(t, diagtest.Codes(r.Verdict), diag.Code("spf.hosted.source.unknown"))
		require.Contains(t, r.Sub, "The last good records stay published.")
		require.Nil(t, r.Score)
	}
	service(w, "192.0.2.0/25", "198.51.100.0/24")
	r = resolve(t, w, a, p.ID)
	require.Equal(t, hostedspf.Active, r.Profile.Status)
	require.Empty(t, r.Profile.LastError)
	require.Equal(t, []hostedspf.EventType{
		hostedspf.ProfileChanged, hostedspf.ProfileFailed, hostedspf.ProfileRecovered,
	}, events, "each failure after the first is no news")

	body, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(body), `"added":[],"removed":[]`)

	h, err := hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID,
		Status: hostedspf.ResolutionFailed})
	require.NoError(t, err)
	require.Len(t, h.Items, 2)
	require.NoError(t, hostedspf.Remove(t.Context(), a, p.ID))
	require.Equal(t, hostedspf.ProfileRemoved, events[len(events)-1])
}

func TestHistory(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	for range 4 {
		w.Advance(time.Hour)
		resolve(t, w, a, p.ID)
	}
	var got []time.Time
	req := hostedspf.HistoryRequest{ID: p.ID, Limit: 2}
	for {
		page, err := hostedspf.History(t.Context(), w.Env(), a, req)
		require.NoError(t, err)
		for _, r := range page.Items {
			got = append(got, r.ResolvedAt)
		}
		if !page.HasMore {
			require.Nil(t, page.NextCursor)
			break
		}
		req.Cursor = *page.NextCursor
		resolve(t, w, a, p.ID) // a new entry moves no page
	}
	require.Len(t, got, 5)
	for i := range got[1:] {
		require.Equal(t, time.Hour, got[i].Sub(got[i+1]))
	}
	from := got[3].Format(time.RFC3339Nano)
	page, err := hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID, Since: from,
		Until: got[1].Format(time.RFC3339)})
	require.NoError(t, err)
	require.Len(t, page.Items, 2, "since is included, until is not")
	page, err = hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID,
		Since: "2030-01-01T00:00:00Z"})
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Resolution{}, page.Items)
}

// slowly runs f in a bubble in which every name server takes a second.
func slowly(t *testing.T, f func(t *testing.T, w *diagtest.World, a hostedspf.Access)) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		w.Latency(time.Second)
		f(t, w, a)
	})
}

// Resolutions of one profile never overlap: each waits for the one before.
func TestResolveOneByOne(t *testing.T) {
	slowly(t, func(t *testing.T, w *diagtest.World, a hostedspf.Access) {
		p := create(t, w, a)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { resolve(t, w, a, p.ID) })
		}
		wg.Wait()
		h, err := hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID})
		require.NoError(t, err)
		require.Len(t, h.Items, 6)
		for i, r := range h.Items[1:] {
			later := h.Items[i]
			began := later.ResolvedAt.Add(-time.Duration(later.DurationMS) * time.Millisecond)
			require.False(t, began.Before(r.ResolvedAt), "%s began at %s, and %s ended at %s", later.ID, began, r.ID,
				r.ResolvedAt)
			require.Equal(t, time.Second, time.Duration(r.DurationMS)*time.Millisecond)
		}
	})
}

// Who waits for another resolution gives up with the context, and leaves no trace.
func TestResolveGivesUp(t *testing.T) {
	slowly(t, func(t *testing.T, w *diagtest.World, a hostedspf.Access) {
		p := create(t, w, a)
		c, err := a.Store.Claim(t.Context(), p.ID, hostedspf.Lease)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err = hostedspf.Resolve(ctx, w.Env(), a, hostedspf.ResolveRequest{ID: p.ID})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))

		// It does not start without enough time: slow name servers would be mistaken for silent ones.
		require.NoError(t, a.Store.Release(t.Context(), c))
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = hostedspf.Resolve(ctx, w.Env(), a, hostedspf.ResolveRequest{ID: p.ID})
		require.ErrorIs(t, err, context.DeadlineExceeded)

		// While it resolves itself, it frees the profile.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		_, err = hostedspf.Resolve(ctx, w.Env(), a, hostedspf.ResolveRequest{ID: p.ID})
		require.ErrorIs(t, err, context.Canceled)
		_, err = a.Store.Claim(t.Context(), p.ID, hostedspf.Lease)
		require.NoError(t, err)
		h, err := hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID})
		require.NoError(t, err)
		require.Len(t, h.Items, 1)
	})
}

// A dead node's claim holds a profile no longer than its lease.
func TestResolveAfterCrash(t *testing.T) {
	slowly(t, func(t *testing.T, w *diagtest.World, a hostedspf.Access) {
		p := create(t, w, a)
		_, err := a.Store.Claim(t.Context(), p.ID, hostedspf.Lease)
		require.NoError(t, err)
		began := time.Now()
		resolve(t, w, a, p.ID)
		require.Equal(t, hostedspf.Lease+time.Second, time.Since(began))
	})
}

// Silent name servers take no longer than a resolution may, and cause a failure.
func TestResolveSilence(t *testing.T) {
	slowly(t, func(t *testing.T, w *diagtest.World, a hostedspf.Access) {
		p := create(t, w, a)
		w.Silence("_spf.example.org")
		w.Silence("example.com")
		began := time.Now()
		r := resolve(t, w, a, p.ID)
		require.LessOrEqual(t, time.Since(began), hostedspf.Timeout)
		require.Equal(t, hostedspf.ResolutionFailed, r.Resolution.Status)
		require.Equal(t, p.Records, r.Profile.Records)
	})
}

// A profile that is removed while it is resolved is not found.
func TestResolveRemoved(t *testing.T) {
	slowly(t, func(t *testing.T, w *diagtest.World, a hostedspf.Access) {
		p := create(t, w, a)
		var err error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err = hostedspf.Resolve(t.Context(), w.Env(), a, hostedspf.ResolveRequest{ID: p.ID})
		})
		time.Sleep(time.Second / 2)
		require.NoError(t, hostedspf.Remove(t.Context(), a, p.ID))
		wg.Wait()
		require.ErrorIs(t, err, hostedspf.ErrNotFound)
	})
}

// faulty is a store that cannot store outcomes.
type faulty struct{ hostedspf.Store }

var errFull = errors.New("the disk is full")

func (faulty) Finish(context.Context, hostedspf.Claim, hostedspf.Outcome) (hostedspf.Profile, error) {
	return hostedspf.Profile{}, errFull
}

// releases is a store that counts claims which are given back.
type releases struct {
	hostedspf.Store
	count int
}

func (r *releases) Release(ctx context.Context, c hostedspf.Claim) error {
	r.count++
	return r.Store.Release(ctx, c)
}

// What is stored has ended its claim: it is not given back in another transaction.
func TestResolveReleases(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	store := &releases{Store: a.Store}
	a.Store = store
	resolve(t, w, a, p.ID)
	require.Zero(t, store.count)
	store.Store = faulty{store.Store}
	_, err := hostedspf.Resolve(t.Context(), w.Env(), a, hostedspf.ResolveRequest{ID: p.ID})
	require.ErrorIs(t, err, errFull)
	require.Equal(t, 1, store.count)
}

func TestResolveStoreFails(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	broken := a
	broken.Store = faulty{a.Store}
	broken.Notify = func(hostedspf.Event) { t.Error("nothing happened") }
	_, err := hostedspf.Resolve(t.Context(), w.Env(), broken, hostedspf.ResolveRequest{ID: p.ID})
	require.ErrorIs(t, err, errFull)
	resolve(t, w, a, p.ID)
}

// A profile without records is reported as such: no records remain published, and there are none to refer to.
func TestResolveWithoutRecords(t *testing.T) {
	w, a := setUp(t)
	w.Fault("_spf.example.org", 0, diagtest.Fault{Rcode: 2})
	p, err := hostedspf.Create(t.Context(), w.Env(), a, hostedspf.CreateRequest{
		Domain: domain, Zone: zone, SourceRecord: "v=spf1 include:_spf.example.org -all",
	})
	require.NoError(t, err)
	require.Empty(t, p.Records)
	r := resolve(t, w, a, p.ID)
	require.Equal(t, diag.Unknown, r.State)
	require.Nil(t, r.Score)
	require.Contains(t, r.Sub, "Nothing is published yet.")
	for _, recommendation := range r.Recommendations {
		require.Empty(t, recommendation.SuggestedValue)
	}
}
