package watch

import (
	"slices"
	"strings"
	"time"
)

// What expires.
const (
	registration = "registration"
	certificate  = "certificate"
)

// An expiry is when something ends, and of what of it was told.
type expiry struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	From time.Time `json:"from"`
	Told int       `json:"told,omitempty"` // the smallest of ahead that was told
}

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
		if left <= time.Duration(n)*day {
			days = n
		}
	}
	if e.Told != 0 && days >= e.Told {
		return 0
	}
	return days
}

// weighExpiries takes what a run has seen of ends, and tells of those that are near: of several steps that were passed
// at once, the last.
func (s *state) weighExpiries(o *observation, n *news) {
	for _, e := range o.expiries {
		i := slices.IndexFunc(s.Expiries, func(old expiry) bool { return old.What == e.What })
		switch {
		case i < 0:
			s.Expiries = append(s.Expiries, e)
		case !s.Expiries[i].At.Equal(e.At):
			s.Expiries[i] = e
		}
	}
	for i := range s.Expiries {
		if days := s.Expiries[i].due(o.at); days > 0 {
			s.Expiries[i].Told = days
			n.expire = append(n.expire, s.Expiries[i])
		}
	}
}

// next is what ends next.
func (s *state) next() (e expiry) {
	if len(s.Expiries) == 0 {
		return expiry{}
	}
	return slices.MinFunc(s.Expiries, func(a, b expiry) int { return a.At.Compare(b.At) })
}

// splitKey takes the key of a set of records apart.
func splitKey(key string) (name, kind, begins string) {
	name, rest, _ := strings.Cut(key, " ")
	kind, begins, _ = strings.Cut(rest, " ")
	return name, kind, begins
}
