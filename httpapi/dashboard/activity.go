package dashboard

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

const (
	// remembered is how many requests of an account are remembered, and rememberedAccounts of how many accounts.
	remembered         = 500
	rememberedAccounts = 2_000
)

// An Activity remembers in memory what became of the last requests of each account, refusals and errors among them,
// which no ledger holds. It is that of one process, and bounded. The zero value is ready for use.
type Activity struct {
	Clock func() time.Time // nil means time.Now

	mu       sync.Mutex
	since    time.Time
	accounts map[metering.AccountID][]Request // in their order, at most twice as many as are remembered
}

// A Request is what is remembered of one.
type Request struct {
	ID       string
	At       time.Time
	Endpoint string
	Key      metering.KeyID
	Code     string // "OK", or the code of the error
	Status   int
	Credits  int64
	Duration time.Duration
	Replay   bool
}

// Observe is for [httpapi.Config.Observe]. What belongs to no account is not remembered.
func (a *Activity) Observe(o httpapi.Observation) {
	if o.Account == "" {
		return
	}
	now := time.Now
	if a.Clock != nil {
		now = a.Clock
	}
	at := now().UTC()
	request := Request{o.RequestID, at, o.Endpoint, o.Key, o.Code, o.Status, o.Credits, o.Duration, o.Replay}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accounts == nil {
		a.accounts, a.since = map[metering.AccountID][]Request{}, at
	}
	list, known := a.accounts[o.Account]
	if !known && len(a.accounts) >= rememberedAccounts { // the one that has been silent for the longest time is forgotten
		last := func(id metering.AccountID) time.Time { of := a.accounts[id]; return of[len(of)-1].At }
		delete(a.accounts, slices.MinFunc(slices.Collect(maps.Keys(a.accounts)), func(x, y metering.AccountID) int {
			return last(x).Compare(last(y))
		}))
	}
	if list = append(list, request); len(list) == 2*remembered {
		list = slices.Clone(list[remembered:])
	}
	a.accounts[o.Account] = list
}

// Requests are those of an account that are remembered, the newest first, and since when there can be any.
func (a *Activity) Requests(account metering.AccountID) (list []Request, since time.Time) {
	if a == nil {
		return nil, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	since, list = a.since, slices.Clone(a.accounts[account])
	if len(list) > remembered {
		list = list[len(list)-remembered:]
		since = list[0].At
	}
	slices.Reverse(list)
	return list, since
}
