package budget

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keyOf(account, key string) Owner {
	return Owner{metering.AccountID(account), metering.KeyID(key)}
}

func requireEmpty(t *testing.T, p *Pool) {
	t.Helper()
	require.Zero(t, p.total)
	require.Empty(t, p.accounts)
	require.Empty(t, p.keys)
	require.Empty(t, p.queue)
}

func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{All: 400, Account: 200, Key: 100}
		take := func(key string, amount int64) *Lease {
			l, err := p.Take(t.Context(), keyOf("x", key), amount)
			require.NoError(t, err)
			return l
		}
		whole := take("a", 1000)
		assert.EqualValues(t, 100, whole.Amount(), "more than the share of a key counts as the share")

		waiting := make(chan *Lease)
		go func() { waiting <- take("a", 10) }()
		synctest.Wait()
		other := take("b", 90) // does not wait behind the key that has its share
		whole.Shrink(91)
		synctest.Wait()
		assert.Len(t, p.queue, 1, "there is not enough yet")
		whole.Shrink(90)
		second := <-waiting

		began := time.Now()
		_, err := p.Take(t.Context(), keyOf("x", "a"), 1)
		assert.ErrorIs(t, err, ErrFull)
		assert.Equal(t, MaxWait, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.Take(ctx, keyOf("x", "a"), 1)
		assert.ErrorIs(t, err, context.Canceled)

		for _, l := range []*Lease{whole, other, second, whole, nil, {}} {
			l.Release()
		}
		requireEmpty(t, p)
	})
}

// Many keys of one account hold no more than the account may, and leave the rest to others.
func TestPoolOfOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{All: 400, Account: 200, Key: 100}
		for _, key := range []string{"a", "b"} {
			_, err := p.Take(t.Context(), keyOf("x", key), 100)
			require.NoError(t, err)
		}
		for _, owner := range []Owner{keyOf("x", "c"), keyOf("x", "")} {
			_, err := p.Take(t.Context(), owner, 1)
			require.ErrorIs(t, err, ErrFull, owner)
		}
		l, err := p.Take(t.Context(), keyOf("y", ""), 300)
		require.NoError(t, err)
		require.EqualValues(t, 200, l.Amount(), "an account without a key has the share of an account")
		require.EqualValues(t, 400, p.Held())
	})
}

// One account has half of the leases, also of those that wait.
func TestPoolLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{All: 4, Account: 2, Key: 1, Leases: 5}
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 { // one runs, and two wait
			go func() { _, _ = p.Take(ctx, keyOf("x", "a"), 1) }()
		}
		synctest.Wait()
		began := time.Now()
		_, err := p.Take(ctx, keyOf("x", "b"), 1)
		require.ErrorIs(t, err, ErrFull)
		require.Zero(t, time.Since(began), "it does not wait")
		for range 2 {
			_, err := p.Take(ctx, keyOf("y", ""), 1)
			require.NoError(t, err)
		}
		_, err = p.Take(ctx, keyOf("z", ""), 1)
		require.ErrorIs(t, err, ErrFull, "all have five")
		cancel()
		synctest.Wait()
		require.Equal(t, holding{3, 3}, p.total)
	})
}

// Whatever many goroutines take and give back, no owner and no sum ever exceeds its bound, and all is given back in the
// end.
func TestPoolHolds(t *testing.T) {
	p := &Pool{All: 1000, Account: 500, Key: 250}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			owner := keyOf([]string{"x", "y"}[i%2], []string{"a", "b", "c", "d", "e"}[i%5])
			for n := range 200 {
				l, err := p.Take(t.Context(), owner, int64(n%300))
				if !assert.NoError(t, err) {
					return
				}
				p.mu.Lock()
				held, account, mine := p.total.amount, p.accounts[owner.Account].amount, p.keys[owner.Key].amount
				p.mu.Unlock()
				if held > p.All || account > p.Account || mine > p.Key {
					t.Errorf("held %d, of account %s %d, of key %s %d", held, owner.Account, account, owner.Key, mine)
				}
				l.Shrink(int64(n % 7))
				l.Release()
			}
		})
	}
	wg.Wait()
	requireEmpty(t, p)
}
