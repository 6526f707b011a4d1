package lookalike

import (
	_ "embed" // words.txt
	"strings"

	"github.com/diagkit/diagkit/diag"
)

//go:embed words.txt
var wordLists string

var lists = diag.WordLists(wordLists)

// trustWords give a name that is put together the air of a service: what deceives stands beside a brand.
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

// confident reports whether a text consists of words of confidence that nobody has beside a brand but the brand
// itself and impostors.
func confident(s string) bool { return trusted(s) && !softWords()[s] }

// pairs are letters that look like one when they stand together.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")

var digits = strings.NewReplacer("0", "o", "1", "l", "2", "z", "3", "e", "4", "a", "5", "s", "6", "b", "7", "t", "8",
	"b", "9", "g")

// alike brings letters together that differ by little in many fonts.
var alike = strings.NewReplacer("i", "l", "j", "l", "q", "g")

// look returns what the eye makes of a plain label: two labels that look alike have the same.
func look(label string) string { return pairs.Replace(alike.Replace(digits.Replace(label))) }

// letters returns a label with letters in place of digits, unless it has nothing but digits.
func letters(label string) string {
	if strings.Trim(label, "0123456789") == "" {
		return label
	}
	return digits.Replace(label)
}

// loose are more pairs for one letter. They are too common in plain names, and only looked for among letters
// that are not plain, which nobody uses by accident.
var loose = strings.NewReplacer("nn", "m", "lb", "b", "dl", "d", "cl", "d")

// glance is look, for labels with letters that are not plain.
func glance(label string) string { return loose.Replace(look(label)) }

// An edit is one step that makes one word of another.
type edit int

// The edits, and what is none or more than one.
const (
	noEdit        edit = 0
	omission      edit = 1 // a letter left out
	repetition    edit = 2 // a letter doubled
	insertion     edit = 3 // a letter added, before, between or after
	transposition edit = 4 // two neighbours swapped
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
