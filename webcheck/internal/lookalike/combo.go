package lookalike

import (
	_ "embed" // words.txt
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/kit"
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
			if m.Strength == Strong && !slices.ContainsFunc(others, confident) && !trusting(n, label) {
				m.Strength = Fair
			}
			if m.Strength > 0 && (best == nil || m.Strength > best.Strength) {
				best = m
			}
		}
	}
	return best
}

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

// maxTitle bounds what is examined of a title, in bytes.
const maxTitle = 300

// fillers are the words beside those of confidence in the titles of pages to log in.
var fillers = kit.Words(`
	a an and bei de del der dein deinem deiner die du el en ihr ihrem ihrer il im in into la le les mein meinem mi mon
	mio my of on or sur the to tu un und up votre vous welcome willkommen bienvenue bienvenido benvenuto you your zu
	zum zur anmeldung einloggen inloggen accedi entrar sesión contraseña se connecter identifiez personal private
	business corporate individual home homepage international global`)

// fields are the words of a text.
func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

//go:embed words.txt
var wordLists string

var lists = kit.WordLists(wordLists)

// trustWords make a compound name look like that of a service: deceptive names put them beside a brand.
var trustWords = lists("words of trust")

// trusted reports whether a text is a word of confidence, two or three of them, or a number.
func trusted(s string) bool { return consists(s, 3) }

// consists reports whether a text consists of at most n words of confidence or numbers; it is not empty.
func consists(s string, n int) bool {
	if s == "" || n == 0 {
		return false
	}
	if trustWords()[s] || strings.Trim(s, "0123456789") == "" && len(s) <= 4 {
		return true
	}
	for i := 2; i+2 <= len(s); i++ {
		if trustWords()[s[:i]] && consists(s[i:], n-1) {
			return true
		}
	}
	return false
}

// softWords are those of trustWords that clubs, shops and fans put beside a brand as often as impostors do.
var softWords = lists("soft words")

// confident reports whether a text consists of words of confidence that are used beside a brand only by the brand
// itself and impostors.
func confident(s string) bool { return trusted(s) && !softWords()[s] }

// pairs are letters that look like one when they are adjacent.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")

var digits = strings.NewReplacer("0", "o", "1", "l", "2", "z", "3", "e", "4", "a", "5", "s", "6", "b", "7", "t", "8",
	"b", "9", "g")

// alike brings letters together that differ by little in many fonts.
var alike = strings.NewReplacer("i", "l", "j", "l", "q", "g")

// look returns the visual skeleton of a plain label: two labels that look alike have the same.
func look(label string) string { return pairs.Replace(alike.Replace(digits.Replace(label))) }

// letters returns a label with letters in place of digits, unless it has nothing but digits.
func letters(label string) string {
	if strings.Trim(label, "0123456789") == "" {
		return label
	}
	return digits.Replace(label)
}

// loose are more pairs for one letter. They are too common in plain names, and only looked for among letters
// that are not plain, which are not used by accident.
var loose = strings.NewReplacer("nn", "m", "lb", "b", "dl", "d", "cl", "d")

// glance is look, for labels with letters that are not plain.
func glance(label string) string { return loose.Replace(look(label)) }

// An edit is one step that makes one word of another.
type edit int

// The edits; noEdit is none, or more than one.
const (
	noEdit        edit = 0
	omission      edit = 1 // a letter left out
	repetition    edit = 2 // a letter doubled
	insertion     edit = 3 // a letter added, before, between or after
	transposition edit = 4 // two neighbors swapped
	substitution  edit = 5 // a letter replaced
)

// oneEdit returns the step by which the word s comes from the word t, if it is a single one: the distance of
// Damerau and Levenshtein is 1.
func oneEdit(s, t string) edit {
	begin := 0
	for begin < len(s) && begin < len(t) && s[begin] == t[begin] {
		begin++
	}
	switch {
	case len(s) == len(t)+1 && s[begin+1:] == t[begin:]:
		if begin > 0 && s[begin] == s[begin-1] || begin < len(t) && s[begin] == t[begin] {
			return repetition
		}
		return insertion
	case len(s)+1 == len(t) && s[begin:] == t[begin+1:]:
		return omission
	case len(s) != len(t) || begin == len(s):
		return noEdit
	case s[begin+1:] == t[begin+1:]:
		return substitution
	case begin+1 < len(s) && s[begin] == t[begin+1] && s[begin+1] == t[begin] && s[begin+2:] == t[begin+2:]:
		return transposition
	}
	return noEdit
}
