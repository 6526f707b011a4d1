package lookalike

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/idn"
)

// combined finds a brand's label in a label that has other words as well.
func (t *Targets) combined(label string, n name, trust, below bool) *Match {
	if t.unrelated[label] {
		return nil
	}
	plain := idn.Fold(label)
	words := strings.FieldsFunc(plain, func(r rune) bool { return r == '-' })
	m := t.hyphened(label, words, n, trust)
	if joined := strings.ReplaceAll(plain, "-", ""); m == nil || m.Strength < Strong {
		if run := t.runTogether(label, joined); run != nil && (m == nil || run.Strength > m.Strength) {
			m = run
		}
	}
	if m != nil && below {
		m.Technique = Subdomain
	}
	return m
}

// hyphened looks for a brand among the words between hyphens.
func (t *Targets) hyphened(label string, words []string, n name, trust bool) (best *Match) {
	if len(words) < 2 {
		return nil
	}
	for i := range words {
		for end := i + 1; end <= min(i+3, len(words)); end++ {
			if end-i == len(words) {
				continue // nothing is combined with it
			}
			m := t.word(strings.Join(words[i:end], ""), end-i > 1)
			if m == nil {
				continue
			}
			m.Part = label
			others := slices.Concat(words[:i], words[end:])
			m.Strength = m.Target.combo(m.Label, trust || slices.ContainsFunc(others, trusted), m.Distance == 0)
			if m.Strength == Strong && !slices.ContainsFunc(others, confident) && !trustingBut(n, label) {
				m.Strength = Fair
			}
			if m.Strength > 0 && (best == nil || m.Strength > best.Strength) {
				best = m
			}
		}
	}
	return best
}

// word compares one word of a label with the brands.
func (t *Targets) word(word string, joined bool) *Match {
	if target := t.labels[word]; target != nil {
		return &Match{Target: target, Label: word, Technique: Combo, Kind: combined}
	}
	if joined || len(word) < 5 || trusted(word) {
		return nil
	}
	m := t.label(word)
	if m == nil || m.Strength < Strong || len(m.Label) < 6 {
		return nil
	}
	m.Technique, m.Kind = Combo, combined
	return m
}

// combo says how surely a combination is meant to be taken for the brand; 0 if there is no telling.
func (t *Target) combo(label string, confident, exact bool) Strength {
	switch {
	case confident && (exact || !t.Word):
		return Strong
	case !exact, t.Word, len(label) < 5:
		return 0
	case len(label) >= 8:
		return Fair
	default:
		return Weak
	}
}

// runTogether looks for a brand and other words without anything between them.
func (t *Targets) runTogether(label, joined string) (best *Match) {
	for length := minLabel; length < min(len(joined), 64); length++ {
		for _, brand := range t.byLength[length] {
			at := strings.Index(joined, brand)
			if at < 0 {
				continue
			}
			before, after := joined[:at], joined[at+length:]
			target := t.labels[brand]
			service := (before == "" || trusted(before)) && (after == "" || trusted(after))
			m := &Match{target, brand, label, Combo, combined, 0, 0}
			switch {
			case service && !confident(before) && !confident(after):
				m.Strength = Fair
			case service && (length >= 5 || length == 4 && !target.Word || len(before)+len(after) >= 5):
				m.Strength = Strong
			case service, length >= 8 && !target.Word:
				m.Strength = Fair
			case length >= 6 && !target.Word:
				m.Strength = Weak
			default:
				continue
			}
			if best == nil || m.Strength > best.Strength || m.Strength == best.Strength && length > len(best.Label) {
				best = m
			}
		}
	}
	return best
}
