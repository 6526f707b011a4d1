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
	// maxAccountFailures and maxAccountSuccesses are how many requests of an account are kept, and maxActivityAccounts of
	// how many accounts. Failures are in no ledger, so more of them are kept.
	maxAccountFailures  = 400
	maxAccountSuccesses = 100
	maxActivityAccounts = 2_000
	// maxAccountTexts bounds the fields and messages of the failures of an account, in bytes. Older ones are dropped.
	maxAccountTexts = 32 << 10
)

// An Activity keeps in memory the outcome of the last requests of each account, including refusals and errors, which
// no ledger holds. It is local to a process, and bounded. The zero value is ready for use.
type Activity struct {
	mu        sync.Mutex
	since     time.Time // of the first request
	evictedAt time.Time // when an account was forgotten; zero: none was
	accounts  map[metering.AccountID]*recentRequests
}

// recentRequests are those of an account.
type recentRequests struct {
	since               time.Time // from which on all are known
	failures, successes ring
	texts               int // bytes of the fields and messages
}

// ring is the last requests of a kind. Once there are as many as are remembered, the next one takes the place of the
// oldest.
type ring struct {
	list []httpapi.Observation
	next int // the place of the oldest, and of the next one
}

// add adds a request, and returns the one whose place it takes, if it takes one.
func (r *ring) add(o httpapi.Observation, most int) (old httpapi.Observation, overwritten bool) {
	if len(r.list) < most {
		r.list = append(r.list, o)
		return old, false
	}
	old, r.list[r.next] = r.list[r.next], o
	r.next = (r.next + 1) % most
	return old, true
}

// lastAt is when the last request was; zero without one.
func (r *ring) lastAt() time.Time {
	if len(r.list) == 0 {
		return time.Time{}
	}
	return r.list[(r.next+len(r.list)-1)%len(r.list)].At
}

// all are the requests, the oldest first.
func (r *ring) all() []httpapi.Observation { return slices.Concat(r.list[r.next:], r.list[:r.next]) }

func (r *recentRequests) lastAt() time.Time {
	if a, b := r.failures.lastAt(), r.successes.lastAt(); a.After(b) {
		return a
	} else {
		return b
	}
}

func textSize(o httpapi.Observation) int { return len(o.Field) + len(o.Message) }

func (r *recentRequests) add(o httpapi.Observation) {
	if o.Code == codeOK {
		r.successes.add(o, maxAccountSuccesses)
		return
	}
	old, overwritten := r.failures.add(o, maxAccountFailures)
	r.texts += textSize(o) - textSize(old)
	if overwritten {
		r.since = r.failures.list[r.failures.next].At
	}
	for i := range r.failures.list {
		if r.texts <= maxAccountTexts {
			break
		}
		oldest := &r.failures.list[(r.failures.next+i)%len(r.failures.list)]
		r.texts -= textSize(*oldest)
		oldest.Field, oldest.Message = "", ""
	}
}

// codeOK is the code of a request that succeeded.
const codeOK = "OK"

// Observe is for [httpapi.Config.Observe]. What belongs to no account is not remembered.
func (a *Activity) Observe(o httpapi.Observation) {
	if o.Account == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accounts == nil {
		a.accounts, a.since = map[metering.AccountID]*recentRequests{}, o.At
	}
	r := a.accounts[o.Account]
	if r == nil {
		if len(a.accounts) >= maxActivityAccounts {
			a.evictOldest(o.At)
		}
		r = &recentRequests{since: a.knownSince()}
		a.accounts[o.Account] = r
	}
	r.add(o)
}

// knownSince is when what is known of an account begins that has no request.
func (a *Activity) knownSince() time.Time {
	if a.evictedAt.IsZero() {
		return a.since
	}
	return a.evictedAt
}

// evictOldest forgets the account that has been silent for the longest time.
func (a *Activity) evictOldest(now time.Time) {
	delete(a.accounts, slices.MinFunc(slices.Collect(maps.Keys(a.accounts)), func(x, y metering.AccountID) int {
		return a.accounts[x].lastAt().Compare(a.accounts[y].lastAt())
	}))
	a.evictedAt = now
}

// Requests returns the requests of an account that are remembered, the newest first, and the time since which all
// failures are; zero if none are.
func (a *Activity) Requests(account metering.AccountID) (list []httpapi.Observation, since time.Time) {
	if a == nil {
		return nil, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.accounts[account]
	if r == nil {
		return nil, a.knownSince()
	}
	list = append(r.failures.all(), r.successes.all()...)
	slices.SortStableFunc(list, func(x, y httpapi.Observation) int { return x.At.Compare(y.At) })
	slices.Reverse(list)
	return list, r.since
}
