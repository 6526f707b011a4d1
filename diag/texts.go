package diag

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Text is what a verdict says in words. Reports without a [Verdict] embed it.
type Text struct {
	// Headline is the record and its outcome: one plain sentence of at most 70 characters, no full stop.
	Headline string `json:"verdict_headline" maxlen:"70" doc:"the outcome in a plain sentence"`
	// Sub is the consequence and the next step, in one or two sentences.
	Sub string `json:"verdict_sub" doc:"the consequence and the next step"`
}

// MaxHeadline bounds a headline, in characters (CONTRACT 1.8).
const MaxHeadline = 70

// Texts holds the texts of one diagnostic by outcome. A key is the code of a rule, a state or a band.
// The text of a verdict is that of the gravest failed rule of the verdict's state: the one that stands here under its
// code, else its title and its advice. Of a valid state rules of severity info and ignorance speak only if they have a
// text; but where rules were left open ignorance always speaks, so that a good verdict claims only what was examined.
// Else it is the text of the band, or that of the state; of a valid state never the words "warning" and "unknown",
// which are a state and a band alike.
type Texts map[string]Text

func (t Texts) pick(failed []failedRule, state State, band Band, open bool) Text {
	for i := range failed {
		r := &failed[i]
		ignorant := state == Valid && r.info.State == Unknown
		if r.info.State != state && !ignorant {
			continue
		}
		if text, ok := t[string(r.info.Code)]; ok {
			return text
		}
		if state != Valid || ignorant && open {
			return r.text()
		}
	}
	keys := []string{string(state), string(band)}
	if state == Valid && !State(band).known() {
		keys = []string{string(band), string(state)}
	} else if state == Valid {
		keys = []string{string(state)}
	}
	for _, k := range keys {
		if text, ok := t[k]; ok {
			return text
		}
	}
	return Text{}
}

// text is what a rule that has no text of its own says of the whole.
func (f *failedRule) text() Text {
	first := f.findings[0]
	return Text{first.Title, cmp.Or(first.Advice, first.Detail)}
}

// Check reports what is wrong with the texts themselves: a state without one, a headline that is too
// long or ends with a full stop, a sub that does not, or a key that is neither outcome nor code.
func (t Texts) Check(rules []RuleInfo) error {
	known := map[string]bool{}
	for _, r := range rules {
		known[string(r.Code)] = true
	}
	for _, s := range (State("")).Values() {
		known[s] = true
	}
	for _, b := range (Band("")).Values() {
		known[b] = true
	}
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		text := t[key]
		switch n := len([]rune(text.Headline)); {
		case !known[key]:
			faults = append(faults, fmt.Sprintf("%s is no rule, state or band", key))
		case n == 0 || n > MaxHeadline:
			faults = append(faults, fmt.Sprintf("%s: the headline has %d characters", key, n))
		case strings.HasSuffix(text.Headline, "."):
			faults = append(faults, fmt.Sprintf("%s: the headline ends with a full stop", key))
		case !strings.HasSuffix(text.Sub, "."):
			faults = append(faults, fmt.Sprintf("%s: the sub ends without a full stop", key))
		}
	}
	if _, ok := t[string(Valid)]; !ok {
		faults = append(faults, "the state valid has no text")
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return fmt.Errorf("verdict texts: %s", strings.Join(faults, "; "))
}
