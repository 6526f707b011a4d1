package idn

import (
	_ "embed" // fold.txt
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// similar lists, for plain letters, the code points that a hasty reader confuses with them although they differ by
// more than the table of lookalikes allows: letters with strokes, hooks and tails, small capitals and ligatures (by
// their names in Unicode 14.0.0), and what has one of these as its prototype in the table of confusables of UTS #39
// (version 14.0.0, 2021-05-29).
var similar = sync.OnceValue(func() map[string]string { return readFolds("similar") })

// folded maps each code point of both tables to the plain letters.
var folded = sync.OnceValue(func() map[rune]string {
	m := map[rune]string{}
	for letters, list := range similar() {
		for _, r := range list {
			m[r] = letters
		}
	}
	for letter, list := range lookalikes() {
		for _, r := range list {
			m[r] = letter
		}
	}
	return m
})

// Fold returns a label in Unicode form with each letter replaced by the plain Latin letter that it resembles,
// without diacritics. Letters that resemble none are kept. It goes further than a skeleton of UTS #39, in
// which "é" and "e" differ.
func Fold(label string) string {
	if isASCII(label) {
		return label
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(label) {
		if letters, ok := folded()[r]; ok {
			b.WriteString(letters)
		} else if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lookalikes lists, for the characters of plain host names, the code points allowed in names that look
// like them: those that have the same prototype in the table of confusables of UTS #39 (version
// 14.0.0, 2021-05-29), as far as that is a single character. It differs in one case: the palochka U+04CF is listed
// under "l" and not "i", because its lower case has no dot.
var lookalikes = sync.OnceValue(func() map[string]string { return readFolds("lookalikes") })

var plain = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for ascii, list := range lookalikes() {
		for _, r := range list {
			m[r] = rune(ascii[0])
		}
	}
	return m
})

// skeleton returns the plain name that a label looks like; empty without one or if the label is plain itself.
func skeleton(label string) string {
	if isASCII(label) {
		return ""
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(label) {
		if r >= 0x80 {
			var ok bool
			if r, ok = plain()[r]; !ok {
				return ""
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// foldText holds both tables: on each line plain letters and their lookalikes.
//
//go:embed fold.txt
var foldText string

func readFolds(table string) map[string]string {
	_, text, _ := strings.Cut("\n"+foldText, "\n"+table+":\n")
	text, _, _ = strings.Cut(text, "\n\n")
	m := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		letters, list, _ := strings.Cut(line, " ")
		m[letters], _ = strconv.Unquote(`"` + list + `"`)
	}
	return m
}
