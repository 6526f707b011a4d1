package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// maxAccountSums is how many selections of an account are kept summed, the last used ones; maxCachedAccounts of how
	// many accounts; and maxCachedKeys the keys of all of them together, which take some 100 bytes each. When there are
	// more accounts or keys, all but the last used selection are read anew.
	maxAccountSums    = 8
	maxCachedAccounts = 50
	maxCachedKeys     = 300_000
)

// A sumKey is a selection of charges of an account.
type sumKey struct {
	period              metering.Period // zero without one
	since               time.Time
	key                 metering.KeyID
	operation, endpoint string
}

// cachedSums holds the sums of a selection. The ledger is read on from where it was read before, for an account may
// have a million charges.
type cachedSums struct {
	sumKey
	sums metering.Sums
}

// accountSums are the selections of an account, the last used first. They are summed one at a time.
type accountSums struct {
	mu   sync.Mutex
	list []*cachedSums
}

// take returns the sums of a selection, in place of the longest unused one where there are too many; dropped is how
// many keys that had.
func (a *accountSums) take(k sumKey) (s *cachedSums, dropped int) {
	for i, one := range a.list {
		if one.sumKey == k {
			copy(a.list[1:], a.list[:i])
			a.list[0] = one
			return one, 0
		}
	}
	if len(a.list) == maxAccountSums {
		dropped = len(a.list[maxAccountSums-1].sums.Keys)
		a.list = a.list[:maxAccountSums-1]
	}
	s = &cachedSums{k, metering.NewSums(0)}
	a.list = append([]*cachedSums{s}, a.list...)
	return s, dropped
}

// sumCache holds cached sums. The zero value is ready for use.
type sumCache struct {
	mu       sync.Mutex
	accounts map[metering.AccountID]*accountSums
	keys     int // of all
}

func (c *sumCache) get(account metering.AccountID) *accountSums {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accounts[account] == nil {
		if c.accounts == nil || len(c.accounts) >= maxCachedAccounts {
			c.accounts, c.keys = map[metering.AccountID]*accountSums{}, 0
		}
		c.accounts[account] = &accountSums{}
	}
	return c.accounts[account]
}

// addKeys counts keys that were added to the first sums of an account, which is locked.
func (c *sumCache) addKeys(account metering.AccountID, a *accountSums, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys = max(0, c.keys+by); c.keys >= maxCachedKeys {
		a.list = a.list[:1]
		c.accounts, c.keys = map[metering.AccountID]*accountSums{account: a}, len(a.list[0].sums.Keys)
	}
}

// withSums updates the cached sums of a selection, and calls f while they are locked.
func (d *dashboard) withSums(ctx context.Context, f metering.EntryFilter, use func(metering.Sums)) error {
	k := sumKey{since: f.Since, key: f.Key, operation: f.Path, endpoint: f.Endpoint}
	if f.Period != nil {
		k.period = *f.Period
	}
	a := d.sumCache.get(f.Account)
	a.mu.Lock()
	defer a.mu.Unlock()
	s, dropped := a.take(k)
	f.After = s.sums.Last
	more, err := d.Store.Sums(ctx, f)
	if err != nil {
		return err
	}
	before := len(s.sums.Keys)
	if before == 0 {
		s.sums = more
	} else {
		s.sums.Add(more)
	}
	d.sumCache.addKeys(f.Account, a, len(s.sums.Keys)-before-dropped)
	use(s.sums)
	return nil
}
