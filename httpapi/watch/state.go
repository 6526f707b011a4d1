package watch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

// stateKind is that of the records with the state of a watched domain.
const stateKind = "watch_state"

// A state is the knowledge about a domain, and what is suspected.
type state struct {
	Snapshot
	End        Reason                `json:"end,omitempty"`        // the end of the domain
	Seen       []string              `json:"seen,omitempty"`       // parts that have answered in full
	Suspicions map[string]*suspicion `json:"suspicions,omitempty"` // by the key of a set of records, a code, or domainKey
	Expiries   []expiry              `json:"expiries,omitempty"`
	Registrar  string                `json:"registrar,omitempty"`
	Rules      string                `json:"rules,omitempty"` // by which the findings were made, see setRules
}

// setRules sets the rules by which the next run judges. If they differ from the previous ones, the first answer of
// each part sets its known state again: changes of the rules alone cause no events.
func (s *state) setRules(rules string) {
	if s.Rules != rules {
		s.Rules, s.Seen = rules, nil
	}
}

// The rule by which something counts as gone or as permanent (CONTRACT 9).
const (
	confirmationsNeeded  = 3
	confirmationInterval = 5 * time.Minute
	// maxSilentOthers is how often the other resolver may be silent before it counts as absent, and maxSilent how often
	// a query is sent without an answer before it is left to the next regular run.
	maxSilentOthers = 2
	maxSilent       = 8
)

// Flapping is one event per period: at most so many changes of a subject are reported in it.
const (
	stableAfter = 24 * time.Hour
	maxNotified = 2 // that a fault is there, and that it is gone
)

const maxSuspicions = 64

// domainKey is the key of the suspicion that the domain has ended; its Value is the Reason. The others are that
// records or faults are there, or gone.
const (
	domainKey = "domain"
	present   = "there"
	absent    = "gone"
)

// A suspicion is an unconfirmed change, and what was reported of its subject within a day.
type suspicion struct {
	doubt
	At     time.Time `json:"at,omitzero"`      // when it was reported
	Told   int       `json:"told,omitempty"`   // changes since then
	Flips  int       `json:"flips,omitempty"`  // those that were not reported
	Change *Change   `json:"change,omitempty"` // of records, as last reported
}

// A doubt counts the answers for a change.
type doubt struct {
	Value  string    `json:"value,omitempty"`  // the suspected value; empty without a doubt
	Check  string    `json:"check,omitempty"`  // the check that repeats it; otherwise the DNS is queried
	Count  int       `json:"count,omitempty"`  // answers that confirm it
	Other  int       `json:"other,omitempty"`  // those of another resolver
	Silent int       `json:"silent,omitempty"` // questions without an answer, of which the other resolver gets the first
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Record *Record   `json:"record,omitempty"` // of records that are there: as they are now
}

// needsQueries reports whether the doubt is settled by queries to resolvers, of which there may be two.
func (d *doubt) needsQueries() bool { return d.Value != "" && d.Check == "" }

// usesSecondResolver reports whether the next question is for the second resolver.
func (d *doubt) usesSecondResolver() bool {
	return d.needsQueries() && d.Other == 0 && d.Silent < maxSilentOthers
}

// isQueryDue reports whether to ask a resolver: the other one immediately.
func (d *doubt) isQueryDue(at time.Time) bool {
	return d.needsQueries() && (d.Count > 0 && d.usesSecondResolver() || at.Sub(d.Last) >= confirmationInterval)
}

// isConfirmed reports whether enough answers confirm it. For other values of records these are two, of which the
// authoritative servers may give the second immediately.
func (d *doubt) isConfirmed() bool {
	if d.Record != nil && (d.Other > 0 || d.Count > 1 && !d.usesSecondResolver()) {
		return true
	}
	return d.Count >= confirmationsNeeded && !d.usesSecondResolver()
}

// addAnswer counts an answer that confirms it, unless it comes too soon after the last one.
func (d *doubt) addAnswer(at time.Time, other bool) {
	if other {
		d.Other++
	}
	if d.Count == 0 || at.Sub(d.Last) >= confirmationInterval {
		d.Count++
		d.Last = at
	}
}

// addSilence counts a question without an answer. Too many end the doubt.
func (d *doubt) addSilence(at time.Time) {
	d.Last = at
	if d.Silent++; d.Silent >= maxSilent {
		*d = doubt{}
	}
}

// addSuspicion returns the doubt that something has changed to a value, which is a new one if the suspected value was
// another. If there is no room it is not kept.
func (s *state) addSuspicion(key, value, check string, at time.Time) *suspicion {
	p := s.Suspicions[key]
	if p == nil {
		p = &suspicion{}
		if s.Suspicions == nil {
			s.Suspicions = map[string]*suspicion{}
		}
		if len(s.Suspicions) < maxSuspicions {
			s.Suspicions[key] = p
		}
	}
	if p.Value != value {
		p.doubt = doubt{Value: value, Check: check, First: at, Last: at}
	}
	return p
}

func (s *state) removeSuspicion(key string) {
	if p := s.Suspicions[key]; p != nil {
		p.doubt = doubt{}
	}
}

func (s *state) hasPending() bool {
	for _, p := range s.Suspicions {
		if p.Value != "" {
			return true
		}
	}
	return false
}

// mayNotify reports whether to report a change now. Flapping is not reported: only how often it occurred, a day later.
func (p *suspicion) mayNotify(at time.Time, most int) bool {
	if p.Flips == 0 && at.Sub(p.At) >= stableAfter {
		p.At, p.Told = at, 0
	}
	if p.Flips > 0 || p.Told >= most {
		p.Flips++
		return false
	}
	p.Told++
	return true
}

// countFlips returns how often it flapped, if that is to be reported now.
func (p *suspicion) countFlips(at time.Time) (flips int) {
	if p.Flips > 0 && at.Sub(p.At) >= stableAfter {
		flips = p.Flips
		p.At, p.Told, p.Flips = at, 1, 0
	}
	return flips
}

// isStale reports whether nothing is in doubt or was reported within a day.
func (p *suspicion) isStale(at time.Time) bool {
	return p.Value == "" && p.Flips == 0 && at.Sub(p.At) >= stableAfter
}

// record returns the state in its stored form, in place of the record that it was read from. A state that does not
// fit loses what the next runs learn again.
func (s *state) record(r metering.Record) (metering.Record, error) {
	written, err := write(r, s)
	if err == nil && len(written.Body) > metering.MaxRecordBytes {
		bare := *s
		bare.Facts, bare.Suspicions = nil, nil
		return write(r, &bare)
	}
	return written, err
}

// keepChecks leaves out what belongs to checks that are not made any more.
func (s *state) keepChecks(checks []target.Check) {
	made := map[string]bool{}
	for _, c := range checks {
		made[c.Name] = true
	}
	s.Findings = slices.DeleteFunc(s.Findings, func(f Finding) bool { return !made[checkOf(f.Part)] })
	s.Records = slices.DeleteFunc(s.Records, func(r Record) bool { return !made[checkOf(r.Part)] })
	s.Facts = slices.DeleteFunc(s.Facts, func(f Fact) bool { return !made[checkOf(f.Part)] })
	s.Seen = slices.DeleteFunc(s.Seen, func(part string) bool { return !made[checkOf(part)] })
	maps.DeleteFunc(s.Suspicions, func(key string, p *suspicion) bool {
		switch {
		case p == nil || p.Value == "":
			return p == nil
		case !p.needsQueries():
			return !made[p.Check]
		case p.Record != nil:
			return !made[checkOf(p.Record.Part)]
		}
		return key != domainKey && find(s.Records, key) == nil
	})
}

func read[T any](r metering.Record) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(r.Body, v); err != nil {
		return nil, wrapError("reading", r, err)
	}
	return v, nil
}

func wrapError(what string, r metering.Record, err error) error {
	return fmt.Errorf("%s the %s %s: %w", what, r.Kind, r.ID, err)
}

func write(r metering.Record, v any) (metering.Record, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return r, wrapError("writing", r, err)
	}
	r.Body = body
	return r, nil
}
