package diag

import (
	"fmt"
	"slices"
)

// ScopeState says whether one of several parts of a subject was examined.
type ScopeState string

// The states of a part (CONTRACT 1.7, Scope).
const (
	Examined    ScopeState = "examined"
	LeftOut     ScopeState = "left_out"   // not asked for, out of our reach, or beyond a bound of ours
	NotAnswered ScopeState = "unanswered" // asked, and not answered
)

// Values lists the states.
func (ScopeState) Values() []string { return Values(Examined, LeftOut, NotAnswered) }

// A ScopePart is one of several that a verdict could speak of: an address of a host, a report in a file, an operation of
// a joined reply.
type ScopePart struct {
	Part   string     `json:"part" doc:"what it is: an address, a report, a check"`
	State  ScopeState `json:"state" doc:"whether it was examined; left_out: not asked for, out of reach or beyond a limit; unanswered: asked, without an answer"`
	Reason string     `json:"reason,omitempty" doc:"why it was not examined"`
}

// maxScope bounds the parts that a verdict lists (CONTRACT 1.7).
const maxScope = 32

// scoped is evidence that has several parts and knows which of them were examined, in the order of a reader.
type scoped interface{ Scope() []ScopePart }

// A Scope is what of a subject a verdict speaks for. Reports have one by their [Verdict].
type Scope struct {
	Examined     []ScopePart `json:"examined,omitempty" maxitems:"32" doc:"the parts of the subject, if there are several, and whether each was examined; those that were not come first"`
	ExaminedMore int         `json:"examined_more,omitempty" min:"1" doc:"how many parts there are beside those listed"`

	all map[ScopeState]int // how many there are of each state
}

// ScopeOf makes a scope of all parts: those that were not examined first, and at most as many as a verdict lists.
func ScopeOf(parts []ScopePart) Scope {
	s := Scope{all: map[ScopeState]int{}}
	for _, p := range parts {
		s.all[p.State]++
	}
	rank := map[ScopeState]int{NotAnswered: 0, LeftOut: 1, Examined: 2}
	list := slices.Clone(parts)
	slices.SortStableFunc(list, func(a, b ScopePart) int { return rank[a.State] - rank[b.State] })
	n := min(len(list), maxScope)
	s.Examined, s.ExaminedMore = list[:n:n], len(list)-n
	return s
}

// counts tells how many parts there are of each state. A scope that was decoded knows those that it lists; the rest were
// examined, since those that were not come first.
func (s Scope) counts() map[ScopeState]int {
	if s.all != nil {
		return s.all
	}
	n := map[ScopeState]int{}
	for _, p := range s.Examined {
		n[p.State]++
	}
	if s.ExaminedMore > 0 {
		n[s.Examined[len(s.Examined)-1].State] += s.ExaminedMore
	}
	return n
}

// Incomplete reports whether a part was asked and did not answer.
func (s Scope) Incomplete() bool { return s.counts()[NotAnswered] > 0 }

// OfAll says how many of the parts were examined, such as "17 of 18", and is empty if all were.
func (s Scope) OfAll() string {
	n := s.counts()
	known, all := n[Examined], n[Examined]+n[LeftOut]+n[NotAnswered]
	if known == all {
		return ""
	}
	return fmt.Sprintf("%d of %d", known, all)
}

// maxMissing bounds the parts that a sentence names.
const maxMissing = 3

// Unexamined names what was not examined, with reasons, and is empty if all was.
func (s Scope) Unexamined() string {
	var names []string
	for _, p := range s.Examined {
		switch {
		case p.State == Examined:
		case p.Reason == "":
			names = append(names, p.Part)
		default:
			names = append(names, p.Part+" ("+p.Reason+")")
		}
	}
	return Series(names, maxMissing)
}

// Claims is what a verdict without a fault may say: its own text where all was examined, with what was left out added;
// where a part did not answer, only how many did (CONTRACT 1.7, Scope).
func (s Scope) Claims(t Text) Text {
	short := s.OfAll()
	switch {
	case short == "":
		return t
	case s.Incomplete():
		return Text{Headline: "No fault found in " + short + " parts; the rest did not answer",
			Sub: "Not examined: " + s.Unexamined() + ". Try again later."}
	}
	t.Sub += " Examined: " + short + " parts; left out: " + s.Unexamined() + "."
	return t
}
