package meteringtest

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

func testAccounts(t *testing.T, f *fixture) {
	budget := int64(1234)
	want := metering.Account{
		ID: "acc_b", Name: "Ünïcode & <co>", Plan: flex, OverageEnabled: true, OverageBudgetCents: &budget,
		CreatedAt: f.clock.Now(),
	}
	require.NoError(t, f.store.PutAccount(t.Context(), want))
	budget = 9 // the store must have its own copy
	got, err := f.store.Account(t.Context(), "acc_b")
	require.NoError(t, err)
	require.Equal(t, int64(1234), *got.OverageBudgetCents)
	want.Version, want.OverageBudgetCents = 1, got.OverageBudgetCents
	require.Equal(t, want, got)

	_, err = f.store.Account(t.Context(), "acc_none")
	require.ErrorIs(t, err, metering.ErrNotFound)

	require.NoError(t, f.store.PutAccount(t.Context(), metering.Account{ID: "acc_c", Plan: Tiny,
		CreatedAt: f.clock.Now().Add(-time.Hour)}))
	require.NoError(t, f.store.PutAccount(t.Context(), metering.Account{ID: "acc_a", Plan: Tiny,
		CreatedAt: f.clock.Now()}))
	list, err := f.store.Accounts(t.Context())
	require.NoError(t, err)
	var ids []metering.AccountID
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	require.Equal(t, []metering.AccountID{"acc_c", "acc_a", "acc_b"}, ids, "by creation time, then id")
	require.Nil(t, list[0].OverageBudgetCents)
}

func testAccountVersions(t *testing.T, f *fixture) {
	id := f.account(Tiny)
	a, err := f.store.Account(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, int64(1), a.Version)

	a.Name = "first"
	require.NoError(t, f.store.PutAccount(t.Context(), a))
	a.Name = "second"
	require.ErrorIs(t, f.store.PutAccount(t.Context(), a), metering.ErrVersion, "the version was used")
	a.Version = 0
	require.ErrorIs(t, f.store.PutAccount(t.Context(), a), metering.ErrVersion, "it exists already")
	require.Error(t, f.store.PutAccount(t.Context(), metering.Account{ID: "acc_none", Version: 3, Plan: Tiny}))

	a, err = f.store.Account(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "first", a.Name)
	require.Equal(t, int64(2), a.Version)
}

func testKeys(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	at := func(d time.Duration) *time.Time { v := f.clock.Now().Add(d); return &v }
	full := f.newKey(account)
	full.Name = "every field"
	full.Environment = metering.Test
	full.Scopes = []metering.Scope{metering.WebRead, metering.MailWrite}
	full.IPAllowlist = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::1/128")}
	full.ExpiresAt, full.RevokedAt, full.GraceUntil = at(time.Hour), at(2*time.Hour), at(3*time.Hour)
	full.RevokedReason, full.RotatedFrom, full.RotatedTo = metering.RevokedLeak, "key_before", "key_after"
	bare := f.newKey(account)
	bare.Scopes = nil
	other := f.newKey(f.account(Tiny))
	require.NoError(t, f.store.PutKeys(t.Context(), full, bare, other))
	require.NoError(t, f.store.PutKeys(t.Context()), "nothing to do")

	for _, want := range []metering.Key{full, bare} {
		want.Version = 1
		got, err := f.store.Key(t.Context(), want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = f.store.KeyByHash(t.Context(), want.Hash)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	list := f.keys(metering.KeyFilter{Account: account})
	require.Len(t, list, 2, "of this account")
	require.Equal(t, []metering.KeyID{full.ID, bare.ID}, []metering.KeyID{list[0].ID, list[1].ID}, "in order")

	_, err := f.store.Key(t.Context(), "key_none")
	require.ErrorIs(t, err, metering.ErrNotFound)
	_, err = f.store.KeyByHash(t.Context(), [32]byte{1})
	require.ErrorIs(t, err, metering.ErrNotFound)
	require.Empty(t, f.keys(metering.KeyFilter{Account: "acc_none"}))
}

func testKeyVersions(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	k := f.newKey(account)
	require.NoError(t, f.store.PutKeys(t.Context(), k))
	require.ErrorIs(t, f.store.PutKeys(t.Context(), k), metering.ErrVersion, "it exists already")
	k.Version = 1
	k.Name = "first"
	require.NoError(t, f.store.PutKeys(t.Context(), k))
	require.ErrorIs(t, f.store.PutKeys(t.Context(), k), metering.ErrVersion, "the version was used")

	twice := f.newKey(account)
	again := twice
	again.Hash[0]++
	require.ErrorIs(t, f.store.PutKeys(t.Context(), twice, again), metering.ErrVersion, "the same key twice")
	_, err := f.store.Key(t.Context(), twice.ID)
	require.ErrorIs(t, err, metering.ErrNotFound, "all or none")

	stranger := f.newKey("acc_none")
	require.ErrorIs(t, f.store.PutKeys(t.Context(), stranger), metering.ErrNotFound)
}

func testKeyHashes(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	first, second := f.newKey(account), f.newKey(account)
	second.Hash = first.Hash
	require.NoError(t, f.store.PutKeys(t.Context(), first))
	require.Error(t, f.store.PutKeys(t.Context(), second), "two keys with one secret")
	_, err := f.store.Key(t.Context(), second.ID)
	require.ErrorIs(t, err, metering.ErrNotFound)
	got, err := f.store.KeyByHash(t.Context(), first.Hash)
	require.NoError(t, err)
	require.Equal(t, first.ID, got.ID)
}

func testRotation(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	before := f.newKey(account)
	require.NoError(t, f.store.PutKeys(t.Context(), before))
	before.Version = 1
	after := f.newKey(account)
	grace := f.clock.Now().Add(time.Hour)
	before.RotatedTo, before.GraceUntil, after.RotatedFrom = after.ID, &grace, before.ID

	stale := before
	stale.Version = 7
	require.ErrorIs(t, f.store.PutKeys(t.Context(), after, stale), metering.ErrVersion)
	_, err := f.store.Key(t.Context(), after.ID)
	require.ErrorIs(t, err, metering.ErrNotFound, "the new key came without its predecessor")

	require.NoError(t, f.store.PutKeys(t.Context(), before, after))
	got, err := f.store.Key(t.Context(), before.ID)
	require.NoError(t, err)
	require.Equal(t, metering.KeyRotating, got.State(f.clock.Now()))
	require.Equal(t, metering.KeyRevoked, got.State(grace))
}

func testLastUse(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	lastUse := func() *time.Time {
		k, err := f.store.Key(t.Context(), customer.Key)
		require.NoError(t, err)
		return k.LastUsedAt
	}
	require.Nil(t, lastUse())
	f.spend(customer, 1)
	first := f.clock.Now()
	require.Equal(t, first, *lastUse())

	k, err := f.store.Key(t.Context(), customer.Key)
	require.NoError(t, err)
	k.LastUsedAt = nil
	require.NoError(t, f.store.PutKeys(t.Context(), k), "a write of the key does not change its last use")
	require.Equal(t, first, *lastUse())

	f.clock.Advance(time.Second)
	f.spend(customer, 1)
	require.Equal(t, f.clock.Now(), *lastUse())
}

// watching follows the changes in a goroutine until the test ends.
func (f *fixture) watching(ctx context.Context, since int64) <-chan metering.Change {
	news := make(chan metering.Change, 100)
	changes := f.store.Watch(ctx, since)
	go func() {
		defer close(news)
		for c, err := range changes {
			if err != nil {
				return
			}
			news <- c
		}
	}()
	return news
}

// drain waits for the end of watches that were cancelled.
func drain(watches ...<-chan metering.Change) {
	for _, news := range watches {
		for range news {
		}
	}
}

// watchTimeout is far more than the second that a change may take.
const watchTimeout = 10 * time.Second

func (f *fixture) next(news <-chan metering.Change) metering.Change {
	f.t.Helper()
	select {
	case c, ok := <-news:
		require.True(f.t, ok, "the watch ended")
		return c
	case <-time.After(watchTimeout):
		require.Fail(f.t, "no change was yielded")
		return metering.Change{}
	}
}

func testWatch(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	news, too := f.watching(ctx, 0), f.watching(ctx, 0)
	account := f.account(Tiny)
	k, l := f.newKey(account), f.newKey(account)
	require.NoError(t, f.store.PutKeys(t.Context(), k, l))
	k.Version = 1
	require.NoError(t, f.store.PutKeys(t.Context(), k))
	want := []metering.Change{{Account: account}, {Key: k.ID}, {Key: l.ID}, {Key: k.ID}}
	for _, watch := range []<-chan metering.Change{news, too} {
		last := int64(0)
		for _, w := range want {
			got := f.next(watch)
			require.Greater(t, got.Seq, last)
			last, got.Seq = got.Seq, 0
			require.Equal(t, w, got)
		}
	}
	require.Error(t, f.store.PutKeys(t.Context(), k), "a write that fails is no change")
	second := f.account(Tiny)
	require.Equal(t, second, f.next(news).Account)
	cancel()
	drain(news, too)
}

func testWatchSince(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	first := f.watching(ctx, 0)
	a, b, c := f.account(Tiny), f.account(Tiny), f.account(Tiny)
	seq := f.next(first).Seq
	rest := f.watching(ctx, seq)
	require.Equal(t, b, f.next(rest).Account)
	require.Equal(t, c, f.next(rest).Account)
	require.NotEqual(t, a, b)

	// A watcher that stops early and resumes misses nothing.
	var last int64
	for change, err := range f.store.Watch(ctx, seq) {
		require.NoError(t, err)
		last = change.Seq
		break
	}
	d := f.account(Tiny)
	again := f.watching(ctx, last)
	require.Equal(t, c, f.next(again).Account)
	require.Equal(t, d, f.next(again).Account)
	cancel()
	drain(first, rest, again)
}

func testWatchEnds(t *testing.T, f *fixture) {
	ends := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, closed := f.store.Watch(ctx, 0), f.store.Watch(t.Context(), 0)
	end := func(changes func(func(metering.Change, error) bool)) {
		for _, err := range changes {
			ends <- err
		}
	}
	go end(cancelled)
	cancel()
	require.ErrorIs(t, <-ends, context.Canceled)
	go end(closed)
	require.NoError(t, f.store.Close())
	require.ErrorIs(t, <-ends, metering.ErrClosed)
}

func testGeneration(t *testing.T, f *fixture) {
	g, ok := f.store.(metering.Generational)
	if !ok {
		t.Log("the store has no Generation, which is optional")
		return
	}
	last := g.Generation()
	rises := func(what string) {
		require.Greater(t, g.Generation(), last, what)
		last = g.Generation()
	}
	customer := f.account(Tiny)
	rises("PutAccount")
	k := f.newKey(customer)
	require.NoError(t, f.store.PutKeys(t.Context(), k))
	rises("PutKeys")
	f.spend(metering.Op{Account: customer, Key: k.ID}, 1)
	require.Equal(t, last, g.Generation(), "a charge is no change")
}

func testEndedContext(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	ticket := f.begin(f.op(customer, 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := f.store.Begin(ctx, f.op(customer, 1))
	require.ErrorIs(t, err, context.Canceled)
	_, err = f.store.Settle(ctx, ticket, f.outcome("reply"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, f.store.PutKeys(ctx, f.newKey(customer.Account)), context.Canceled)
	require.ErrorIs(t, f.store.PutAccount(ctx, metering.Account{ID: "acc_x", Plan: Tiny}), context.Canceled)
	require.ErrorIs(t, f.store.PutRecords(ctx, f.record(customer.Account, "a")), context.Canceled)
	f.uses(customer.Account, 0, 3)

	// A client that has gone away is the usual reason for a Cancel.
	require.NoError(t, f.store.Cancel(ctx, ticket))
	f.uses(customer.Account, 0, 0)
}

func testClosed(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	ticket := f.begin(f.op(customer, 1))
	require.NoError(t, f.store.Close())
	calls := map[string]func() error{
		"Begin":      func() error { _, err := f.store.Begin(t.Context(), f.op(customer, 1)); return err },
		"Settle":     func() error { _, err := f.store.Settle(t.Context(), ticket, f.outcome("")); return err },
		"Cancel":     func() error { return f.store.Cancel(t.Context(), ticket) },
		"Account":    func() error { _, err := f.store.Account(t.Context(), customer.Account); return err },
		"Accounts":   func() error { _, err := f.store.Accounts(t.Context()); return err },
		"PutAccount": func() error { return f.store.PutAccount(t.Context(), metering.Account{ID: "acc_x"}) },
		"Key":        func() error { _, err := f.store.Key(t.Context(), customer.Key); return err },
		"Keys": func() error {
			_, err := metering.Collect(f.store.Keys(t.Context(), metering.KeyFilter{Account: customer.Account}))
			return err
		},
		"CountKeys": func() error {
			_, err := f.store.CountKeys(t.Context(), metering.KeyFilter{Account: customer.Account})
			return err
		},
		"Sums": func() error {
			_, err := f.store.Sums(t.Context(), metering.EntryFilter{Account: customer.Account, Period: &ticket.Period})
			return err
		},
		"Hours": func() error {
			_, err := f.store.Hours(t.Context(), customer.Account, []metering.KeyID{customer.Key}, time.Time{})
			return err
		},
		"KeyByHash":  func() error { _, err := f.store.KeyByHash(t.Context(), [32]byte{}); return err },
		"PutKeys":    func() error { return f.store.PutKeys(t.Context(), f.newKey(customer.Account)) },
		"Audit":      func() error { _, err := f.store.Audit(t.Context()); return err },
		"Record":     func() error { _, err := f.store.Record(t.Context(), customer.Account, "note", "a"); return err },
		"PutRecords": func() error { return f.store.PutRecords(t.Context(), f.record(customer.Account, "a")) },
		"Records": func() error {
			for _, err := range f.store.Records(t.Context(), metering.RecordFilter{Kind: "note"}) {
				return err
			}
			return nil
		},
		"Balance": func() error {
			_, err := f.store.Balance(t.Context(), customer.Account, metering.PeriodOf(f.clock.Now()))
			return err
		},
		"Entries": func() error {
			for _, err := range f.store.Entries(t.Context(), metering.EntryFilter{}) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		require.ErrorIs(t, call(), metering.ErrClosed, name)
	}
}
