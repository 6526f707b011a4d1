package lookalike

import "strings"

// pairs are letters that look like one when they stand together.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")

// digits are the letters that digits stand for.
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
