package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// stateKind is that of the records with what is known of the domain of a watch.
const stateKind = "watch_state"

// A state is what is known of a domain, and what is to be confirmed.
type state struct {
	Snapshot
	End       Reason           `json:"end,omitempty"`  // as it was told
	Seen      []string         `json:"seen,omitempty"` // parts that have answered
	Doubts    []*doubt         `json:"doubts,omitempty"`
	Told      map[string]*told `json:"told,omitempty"` // by key of a set of records, or code of a finding
	Expiries  []expiry         `json:"expiries,omitempty"`
	Registrar string           `json:"registrar,omitempty"`
}

// The bounds of what waits to be confirmed and of what was told lately.
const (
	maxDoubts = 30
	maxTold   = 40
)

func parseState(r metering.Record) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(r.Body, s); err != nil {
		return nil, fmt.Errorf("reading what is known of watch %s: %w", r.ID, err)
	}
	s.Doubts = slices.DeleteFunc(s.Doubts, func(d *doubt) bool { return d == nil })
	for key, t := range s.Told {
		if t == nil {
			delete(s.Told, key)
		}
	}
	for _, f := range s.Findings {
		if f.Severity < diag.Info || f.Severity > diag.Critical {
			return nil, fmt.Errorf("reading what is known of watch %s: severity %d", r.ID, f.Severity)
		}
	}
	return s, nil
}

// The rule by which something counts as gone or as there to stay (CONTRACT 9).
const (
	answersNeeded = 3
	answersApart  = 5 * time.Minute
	// mostSilent is how often a resolver other than the first may be silent before it counts as not being there, and
	// mostTries how often a question is put without an answer before it is left to the next regular run.
	mostSilent = 2
	mostTries  = 8
)

// A topic is what a doubt is about.
type topic string

const (
	recordGone   topic = "record" // the key is that of a set of records
	faultThere   topic = "fault"  // a code
	faultGone    topic = "mended" // a code
	domainEnding topic = "ending" // a Reason
)

// A doubt is a change that is not believed yet.
type doubt struct {
	Topic  topic     `json:"topic"`
	Key    string    `json:"key"`
	Check  string    `json:"check,omitempty"` // by which it is looked at again; else the DNS is asked
	Count  int       `json:"count"`           // answers that say so
	Other  int       `json:"other,omitempty"` // of them by another resolver
	Silent int       `json:"silent,omitempty"`
	Tries  int       `json:"tries,omitempty"` // without an answer
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// asked reports whether the doubt is settled by questions to resolvers, of which there may be two.
func (d *doubt) asked() bool { return d.Check == "" }

// other reports whether the next question is for the second resolver.
func (d *doubt) other() bool { return d.asked() && d.Other == 0 && d.Silent < mostSilent }

// sure reports whether enough answers say so.
func (d *doubt) sure() bool { return d.Count >= answersNeeded && !d.other() }

// lost reports whether nobody answers.
func (d *doubt) lost() bool { return d.Tries >= mostTries }

// says counts an answer that says so, unless it comes too soon after the last one.
func (d *doubt) says(at time.Time, other bool) {
	if other {
		d.Other++
	}
	if d.Count > 0 && at.Sub(d.Last) < answersApart {
		return
	}
	d.Count++
	d.Last, d.Tries = at, 0
}

// mute counts a question without an answer.
func (d *doubt) mute(at time.Time, other bool) {
	if d.Tries++; other {
		d.Silent++
	}
	d.Last = at
}

// doubt returns the doubt about something, and makes one if there is room for it.
func (s *state) doubt(t topic, key, check string, at time.Time) *doubt {
	if d := s.doubted(t, key); d != nil {
		return d
	}
	d := &doubt{Topic: t, Key: key, Check: check, First: at, Last: at}
	if len(s.Doubts) < maxDoubts {
		s.Doubts = append(s.Doubts, d)
	}
	return d
}

func (s *state) doubted(t topic, key string) *doubt {
	i := slices.IndexFunc(s.Doubts, func(d *doubt) bool { return d.Topic == t && d.Key == key })
	if i < 0 {
		return nil
	}
	return s.Doubts[i]
}

// settle ends a doubt.
func (s *state) settle(t topic, key string) {
	s.Doubts = slices.DeleteFunc(s.Doubts, func(d *doubt) bool { return d.Topic == t && d.Key == key })
}

// steady is for how long what flaps is one event.
const steady = 24 * time.Hour

// told is what was said of something last.
type told struct {
	At    time.Time `json:"at"`
	Count int       `json:"count"`           // events since then
	Flips int       `json:"flips,omitempty"` // changes that were not told
	Old   []string  `json:"old,omitempty"`   // records, as they were told
	New   []string  `json:"new,omitempty"`
}

// mayTell reports whether a change is to be told now. Of what flaps, it is not: only how often it did, a day later.
func (s *state) mayTell(key string, at time.Time, most int) bool {
	t := s.Told[key]
	switch {
	case t == nil || at.Sub(t.At) >= steady && t.Flips == 0:
		if t == nil {
			s.forget()
			t = &told{}
			if s.Told == nil {
				s.Told = map[string]*told{}
			}
			s.Told[key] = t
		}
		t.At, t.Count = at, 1
		return true
	case t.Flips == 0 && t.Count < most:
		t.Count++
		return true
	}
	t.Flips++
	return false
}

// flapped returns what has flapped and is to be told again, with how often it did.
func (s *state) flapped(at time.Time) map[string]int {
	list := map[string]int{}
	for key, t := range s.Told {
		if t.Flips > 0 && at.Sub(t.At) >= steady {
			list[key] = t.Flips
			t.At, t.Count, t.Flips = at, 1, 0
		}
	}
	return list
}

// forget makes room for another thing told: the oldest goes.
func (s *state) forget() {
	for len(s.Told) >= maxTold {
		oldest := ""
		for key, t := range s.Told {
			if oldest == "" || t.At.Before(s.Told[oldest].At) {
				oldest = key
			}
		}
		delete(s.Told, oldest)
	}
}

// record is the state as it is to be stored, in the place of the record that it was read from. What does not fit loses
// its facts, which are known again after the next run.
func (s *state) record(r metering.Record) (metering.Record, error) {
	body, err := encode(s)
	if err == nil && len(body) > metering.MaxRecordBytes {
		bare := *s
		bare.Facts, bare.Told = nil, nil
		body, err = encode(&bare)
	}
	if err != nil {
		return r, fmt.Errorf("writing what is known of watch %s: %w", r.ID, err)
	}
	r.Body = body
	return r, nil
}

// keep leaves out what belongs to checks that are not made any more.
func (s *state) keep(domain string, names []string) {
	made := map[string]bool{}
	for _, c := range checksOf(domain, names) {
		made[c.Name] = true
	}
	s.Findings = slices.DeleteFunc(s.Findings, func(f Finding) bool { return !made[checkOf(f.Part)] })
	s.Records = slices.DeleteFunc(s.Records, func(r Record) bool { return !made[checkOf(r.Part)] })
	s.Facts = slices.DeleteFunc(s.Facts, func(f Fact) bool { return !made[checkOf(f.Part)] })
	s.Seen = slices.DeleteFunc(s.Seen, func(part string) bool { return !made[checkOf(part)] })
	s.Doubts = slices.DeleteFunc(s.Doubts, func(d *doubt) bool { return !d.asked() && !made[d.Check] })
}
