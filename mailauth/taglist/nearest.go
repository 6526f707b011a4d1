package taglist

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

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

// Pieces cuts the text of a broken record into its tags, whatever stands between them: without the version, which
// version finds, and before each place in which tag finds the beginning of another tag. Quotation marks and characters
// that cannot be seen are left out.
func Pieces(text string, version, tag *regexp.Regexp) []string {
	text = Entities.Replace(text)
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"`\\“”„‟‘’‚‛«»", r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	var list []string
	for segment := range strings.SplitSeq(text, ";") {
		if at := version.FindStringIndex(segment); at != nil {
			segment = segment[at[1]:]
		}
		from := 0
		for _, at := range tag.FindAllStringIndex(segment, -1) {
			list, from = append(list, segment[from:at[0]]), at[0]
		}
		list = append(list, segment[from:])
	}
	for i := range list {
		list[i] = strings.TrimRight(strings.TrimLeft(list[i], " \t,"), " \t")
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
