package watch

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// What expires.
const (
	registration = "registration"
	certificate  = "certificate"
)

// An expiry is when something ends, and what of that was told.
type expiry struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	From time.Time `json:"from"`
	Told int       `json:"told,omitempty"` // the smallest of ahead that was told
}

func (e expiry) key() string { return e.What }

// ahead is how many days before an end it is told.
var ahead = []int{30, 14, 7, 3, 1}

const day = 24 * time.Hour

// due is the smallest number of days that has been reached and not told; 0 if there is none. Nothing is told before two
// thirds of a lifetime have passed, after which certificates are renewed by themselves.
func (e *expiry) due(now time.Time) (days int) {
	left := e.At.Sub(now)
	if left <= 0 || now.Before(e.From.Add(e.At.Sub(e.From)/3*2)) {
		return 0
	}
	for _, n := range ahead {
		if left <= time.Duration(n)*day && (e.Told == 0 || n < e.Told) {
			days = n
		}
	}
	return days
}

// weighExpiries takes what a run has seen of ends, and tells of those that are near: of several steps that were passed
// at once, the last.
func (c *comparison) weighExpiries() {
	for _, e := range c.seen.expiries {
		if old := find(c.Expiries, e.What); old == nil || !old.At.Equal(e.At) {
			c.Expiries = append(without(c.Expiries, e.What), e)
		}
	}
	slices.SortFunc(c.Expiries, func(a, b expiry) int { return a.At.Compare(b.At) })
	who := map[string]string{registration: byRegistrar, certificate: byWebHost}
	for i := range c.Expiries {
		e := &c.Expiries[i]
		if days := e.due(c.at); days > 0 {
			e.Told = days
			c.tell(metering.EventDomainExpiresSoon, e.What, data{Expiring: e.What, ExpiresAt: e.At, Days: days,
				Mend: c.mend(who[e.What], "")})
		}
	}
}
