package postgres

import (
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// releases are holds that must be released and could not be, and those that may have been granted when a connection
// broke, unknown to their callers. They are released as soon as PostgreSQL answers.
type releases struct {
	mu   sync.Mutex
	list []release
}

type release struct {
	ticket metering.Ticket
	until  time.Time // by when a server that was cut off has done what it had begun; zero: it has begun nothing
}

// add notes holds of which a statement that failed may have granted some.
func (r *releases) add(until time.Time, tickets ...*metering.Ticket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tickets[:min(len(tickets), maxWaiting-len(r.list))] { // the lease ends those beyond
		r.list = append(r.list, release{*t, until})
	}
}

func (r *releases) take() []release {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// releaseAll releases the noted holds, and notes those again that may still exist.
func (s *Store) releaseAll() {
	accounts := make(map[metering.AccountID][]release)
	for _, r := range s.releases.take() {
		accounts[r.ticket.Account] = append(accounts[r.ticket.Account], r)
	}
	for account, list := range accounts {
		tokens := make([]int64, len(list))
		for i, r := range list {
			tokens[i] = int64(r.ticket.Token)
		}
		failed := s.release(account, tokens) != nil
		for _, r := range list {
			if failed && s.clock().Before(r.ticket.Lease) || time.Now().Before(r.until) {
				s.releases.add(r.until, &r.ticket)
			}
		}
	}
}
