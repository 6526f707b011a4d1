package pages

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// words are the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// endings are those that [stem] takes away, the longest first where one ends with another.
var endings = []string{
	"ations", "ation", "ating", "ated", "ators", "ator", "ates", "ate", "ions", "ion", "ings", "ing", "ments", "ment",
	"ies", "ied", "ers", "er", "ed", "es", "s", "e", "y",
}

// minStem is what a word keeps at least of its letters: shorter ones would mean anything.
const minStem = 3

// stem is a word without its ending, so that "rotate", "rotating" and "rotation" are one word, and so are "lookup" and
// "lookups". It need not be a word of the language: it is only compared.
func stem(word string) string {
	for _, ending := range endings {
		short, ok := strings.CutSuffix(word, ending)
		if !ok || len(short) < minStem || ending == "s" && strings.HasSuffix(short, "s") {
			continue
		}
		if n := len(short); (ending == "ing" || ending == "ed" || ending == "er" || ending == "ers") && n > minStem &&
			short[n-1] == short[n-2] && !strings.ContainsRune("lsz", rune(short[n-1])) {
			short = short[:n-1] // "forwarding" has one d, "mapping" too many p
		}
		return short
	}
	return word
}

//go:embed synonyms.txt
var synonymsText string

// A synonym is what words of a query also mean.
type synonym struct {
	phrase   []string // stems
	means    []string
	replaces bool // the phrase is searched as what it means, and not for its own words
}

// synonyms are the lines of synonyms.txt, the longest phrases first.
var synonyms = sync.OnceValue(func() (list []synonym) {
	for line := range strings.Lines(synonymsText) {
		phrases, means, ok := strings.Cut(line, ":")
		replaced, target, replaces := strings.Cut(line, "=")
		if replaces {
			phrases, means = replaced, target
		}
		if !ok && !replaces || strings.HasPrefix(line, "#") {
			continue
		}
		for phrase := range strings.SplitSeq(phrases, ",") {
			stems := words(phrase)
			for i, w := range stems {
				stems[i] = stem(w)
			}
			list = append(list, synonym{stems, words(means), replaces})
		}
	}
	slices.SortStableFunc(list, func(a, b synonym) int { return len(b.phrase) - len(a.phrase) })
	return list
})

// synonymAt returns the longest synonym that the words of a list begin with, and how many words it has.
func synonymAt(list []string) (synonym, int) {
	stems := make([]string, 0, len(list))
	for _, w := range list {
		stems = append(stems, stem(w))
	}
	for _, s := range synonyms() {
		if n := len(s.phrase); n <= len(stems) && slices.Equal(s.phrase, stems[:n]) {
			return s, n
		}
	}
	return synonym{}, 0
}

// stopWords say nothing about what is searched for.
var stopWords = func() map[string]bool {
	stop := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the and or of to in on for from by with at as is are was be been it its this
		that these those do does did how what why when where which who can could should would i me my we our you your
		not no get gets got use using has have had if there so than then into about
		s t m re ve wont cant doesnt isnt`) {
		stop[w] = true
	}
	return stop
}()
