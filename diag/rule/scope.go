package rule

import (
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
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
func (ScopeState) Values() []string { return kit.Values(Examined, LeftOut, NotAnswered) }

// A ScopePart is one of several parts of a subject, and whether it was examined: an address of a host, a
// report in a file, or an operation of a joined reply.
type ScopePart struct {
	Part   string     `json:"part" doc:"what it is: an address, a report, a check"`
	State  ScopeState `json:"state" doc:"whether it was examined; left_out: not asked for, out of reach or beyond a limit; unanswered: asked, without an answer"`
	Reason string     `json:"reason,omitempty" doc:"why it was not examined"`
}

// maxScope bounds the parts that a verdict lists (CONTRACT 1.7).
const maxScope = 32

// scoped is evidence that has several parts and knows which of them were examined, in the order of a reader.
type scoped interface{ Scope() []ScopePart }

// Examine sets the parts that the verdict covers: those that were not examined first, and at most 32.
func (v *Verdict) Examine(parts []ScopePart) {
	v.scope = map[ScopeState]int{}
	for _, p := range parts {
		v.scope[p.State]++
	}
	rank := map[ScopeState]int{NotAnswered: 0, LeftOut: 1, Examined: 2}
	list := slices.Clone(parts)
	slices.SortStableFunc(list, func(a, b ScopePart) int { return rank[a.State] - rank[b.State] })
	n := min(len(list), maxScope)
	v.Examined, v.ExaminedMore = list[:n:n], len(list)-n
}

// counts returns the number of parts in each state. A decoded verdict has only those that it lists; the rest count
// as the last of them, because unexamined parts come first.
func (v *Verdict) counts() map[ScopeState]int {
	if v.scope != nil {
		return v.scope
	}
	n := map[ScopeState]int{}
	for _, p := range v.Examined {
		n[p.State]++
	}
	if v.ExaminedMore > 0 && len(v.Examined) > 0 {
		n[v.Examined[len(v.Examined)-1].State] += v.ExaminedMore
	}
	return n
}

// Incomplete reports whether a part was queried and did not answer.
func (v *Verdict) Incomplete() bool { return v.counts()[NotAnswered] > 0 }

// OfAll returns how many of the parts were examined, such as "17 of 18", or the empty string if all were.
func (v *Verdict) OfAll() string {
	n := v.counts()
	known, all := n[Examined], n[Examined]+n[LeftOut]+n[NotAnswered]
	if known == all {
		return ""
	}
	return fmt.Sprintf("%d of %d", known, all)
}

// maxMissing bounds the parts that a sentence names.
const maxMissing = 3

// Unexamined names the parts that were not examined, with reasons. It is empty if all were.
func (v *Verdict) Unexamined() string {
	var names []string
	for _, p := range v.Examined {
		switch {
		case p.State == Examined:
		case p.Reason == "":
			names = append(names, p.Part)
		default:
			names = append(names, p.Part+" ("+p.Reason+")")
		}
	}
	return phrase.Series(names, maxMissing)
}

// claims returns the text of a verdict without a fault: its own text where all was examined, with omissions added;
// where a part did not answer, only how many did (CONTRACT 1.7, Scope).
func (v *Verdict) claims(t Text) Text {
	short := v.OfAll()
	switch {
	case short == "":
		return t
	case v.Incomplete():
		return Text{Headline: "No fault found in " + short + " parts; the rest did not answer",
			Sub: "Not examined: " + v.Unexamined() + ". Try again later."}
	}
	t.Sub += " Examined: " + short + " parts; left out: " + v.Unexamined() + "."
	return t
}
