package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// soon is how far ahead a step with a due date precedes faults that lose nothing (CONTRACT 1.14).
const soon = 30 * 24 * time.Hour

// maxPlaces bounds the places of a step.
const maxPlaces = 20

// Urgency compares steps: first comes what loses mail or visitors now, then what breaks by a date within 30 days, by
// that date, then other errors, then warnings (CONTRACT 1.14).
func Urgency(a, b Step, now time.Time) int {
	ua, ub := a.urgency(now), b.urgency(now)
	if ua == expiring && ub == expiring {
		if byDate := a.Due.Compare(b.Due); byDate != 0 {
			return byDate
		}
	}
	return cmp.Or(ua-ub, int(b.Severity)-int(a.Severity))
}

const (
	losing = iota
	expiring
	broken
	improvable
)

func (s *Step) urgency(now time.Time) int {
	switch {
	case s.Loses:
		return losing
	case !s.Due.IsZero() && s.Due.Before(now.Add(soon)):
		return expiring
	case s.Severity >= rule.Error:
		return broken
	default:
		return improvable
	}
}

// Order returns steps in the order in which to take them. Steps with the same value or the same text are
// merged into one with all their places. A step that depends on another follows it.
func Order(list []Step, now time.Time) []Step {
	steps := together(list)
	slices.SortStableFunc(steps, func(a, b Step) int { return Urgency(a, b, now) })
	return dependent(steps)
}

// together makes one step of those that ask for the same. The gravest counts.
func together(list []Step) (steps []Step) {
	for _, s := range list {
		same := func(o Step) bool {
			if s.Value == "" || o.Value == "" {
				return s.Value == o.Value && s.Text == o.Text
			}
			return s.Name == o.Name && s.Type == o.Type && s.Value == o.Value
		}
		i := slices.IndexFunc(steps, same)
		if i < 0 {
			s.Places = slices.Clone(s.Places)
			steps = append(steps, s)
			continue
		}
		steps[i] = steps[i].With(s)
	}
	return steps
}

// With returns the step merged with another that asks for the same, with the graver severity, the earlier
// date, and the places of both.
func (s Step) With(other Step) Step {
	s.Severity, s.Loses = max(s.Severity, other.Severity), s.Loses || other.Loses
	if s.Due.IsZero() || !other.Due.IsZero() && other.Due.Before(s.Due) {
		s.Due = other.Due
	}
	s.Places = slices.Clone(s.Places)
	for _, p := range other.Places {
		if !slices.Contains(s.Places, p) && len(s.Places) < maxPlaces {
			s.Places = append(s.Places, p)
		}
	}
	s.Merged = slices.Clone(s.Merged)
	for _, code := range append([]rule.Code{other.Code}, other.Merged...) {
		if code != s.Code && !slices.Contains(s.Merged, code) {
			s.Merged = append(s.Merged, code)
		}
	}
	return s
}

// dependent moves each step that depends on another behind it, and otherwise keeps the order. A dependency that is
// not in the list is ignored.
func dependent(steps []Step) []Step {
	done := make([]Step, 0, len(steps))
	placed := map[rule.Code]bool{}
	listed := map[rule.Code]bool{}
	for _, s := range steps {
		listed[s.Code] = true
	}
	for rest := steps; len(rest) > 0; {
		ready := slices.IndexFunc(rest, func(s Step) bool {
			return s.After == "" || s.After == s.Code || placed[s.After] || !listed[s.After]
		})
		ready = max(ready, 0) // a circle is cut where it begins
		s := rest[ready]
		placed[s.Code] = true
		done = append(done, s)
		rest = slices.Delete(slices.Clone(rest), ready, ready+1)
	}
	return done
}

// doers name who can take a step, except for the editor of the zone.
var doers = map[Who]string{
	NameServer: "at the name servers", MailServer: "at the mail server", WebServer: "at the web server",
	Sender: "at the sending services", Network: "by the operator of the address", Registrar: "at the registrar",
}

// Note describes a step of a list: who can take it, by when, after which one, and for which checks. It is empty if
// there is nothing to add.
func (s Step) Note(list []Step) string {
	var due, after, places string
	if !s.Due.IsZero() {
		due = "by " + Date(s.Due)
	}
	if i := slices.IndexFunc(list, func(o Step) bool {
		return s.After != "" && o.Code == s.After &&
			o.Code != s.Code
	}); i >= 0 {
		after = fmt.Sprintf("after step %d", i+1)
		if s.Wait > 0 {
			after += " and " + Seconds(s.Wait)
		}
	}
	if len(s.Places) > 1 {
		places = "for " + phrase.Series(s.Places, 4)
	}
	return Join(doers[s.Who], due, after, places)
}
