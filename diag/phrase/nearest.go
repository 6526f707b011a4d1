package phrase

import "strings"

// maxNearest bounds the words that are compared: no protocol defines a longer one.
const maxNearest = 32

// Nearest returns the word that was probably meant: the only one at a [Distance] of 1, or of 2 from a word of
// six or more letters. It returns the empty string if there is no such word or more than one.
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
		switch d := Distance(typed, strings.ToLower(w)); {
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
