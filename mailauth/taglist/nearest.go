package taglist

import "strings"

// maxNearest bounds the words that are compared: none that a protocol defines is longer.
const maxNearest = 32

// Nearest returns the word that was probably meant by one that is none of them: the only one that is a single
// typing error away, or two in a word of six and more letters. It is empty if there is none, or more than one.
func Nearest(typed string, words ...string) string {
	typed = strings.ToLower(typed)
	if len(typed) > maxNearest {
		return ""
	}
	best, least, tie := "", maxNearest, false
	for _, w := range words {
		allowed := 1
		if len(w) >= 6 {
			allowed = 2
		}
		switch d := distance(typed, strings.ToLower(w)); {
		case d > allowed || len(w) < 3 && d > 0 || d > least:
		case d == least:
			tie = true
		default:
			best, least, tie = w, d, false
		}
	}
	if tie {
		return ""
	}
	return best
}

// distance counts the typing errors between two words: a letter too many, too few, wrong, or exchanged with
// the next (Damerau, optimal string alignment).
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
