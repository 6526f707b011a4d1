package dashboard

import (
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
	accounts map[metering.AccountID]*ring
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

// ring is the last requests of an account.
type ring struct {
	list []Request
	next int // where the next goes, once the list is full
	used time.Time
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
		a.accounts, a.since = map[metering.AccountID]*ring{}, at
	}
	of := a.accounts[o.Account]
	if of == nil {
		a.makeRoom()
		of = &ring{}
		a.accounts[o.Account] = of
	}
	of.used = at
	if len(of.list) < remembered {
		of.list = append(of.list, request)
		return
	}
	of.list[of.next] = request
	of.next = (of.next + 1) % remembered
}

// makeRoom forgets the account that has been silent for the longest time, where there are too many.
func (a *Activity) makeRoom() {
	if len(a.accounts) < rememberedAccounts {
		return
	}
	var oldest metering.AccountID
	for id, of := range a.accounts {
		if oldest == "" || of.used.Before(a.accounts[oldest].used) {
			oldest = id
		}
	}
	delete(a.accounts, oldest)
}

// Requests are those of an account that are remembered, the newest first, and since when there can be any.
func (a *Activity) Requests(account metering.AccountID) (list []Request, since time.Time) {
	if a == nil {
		return nil, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.accounts[account]; of != nil {
		list = append(slices.Clone(of.list[of.next:]), of.list[:of.next]...)
		slices.Reverse(list)
		if len(list) == remembered {
			return list, list[remembered-1].At
		}
	}
	return list, a.since
}
