package idn

import (
	"cmp"
	"slices"
	"sync"
	"unicode"
)

// A scriptSpan is a range of code points of one script.
type scriptSpan struct {
	span
	script string
}

// scriptSpans lists the ranges of all scripts that the standard library knows, in order.
var scriptSpans = sync.OnceValue(func() []scriptSpan {
	var list []scriptSpan
	for name, t := range unicode.Scripts {
		for _, r := range t.R16 {
			list = appendSpans(list, name, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			list = appendSpans(list, name, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(list, func(a, b scriptSpan) int { return cmp.Compare(a.first, b.first) })
	return list
})

func appendSpans(list []scriptSpan, script string, first, last, stride rune) []scriptSpan {
	if stride == 1 {
		return append(list, scriptSpan{span{first, last}, script})
	}
	for r := first; r <= last; r += stride {
		list = append(list, scriptSpan{span{r, r}, script})
	}
	return list
}

// scriptsOf lists the scripts of a text, sorted, without those that go with every script, and those of
// code points that are no characters.
func scriptsOf(text string) []string {
	list := []string{}
	known, later := scriptSpans(), table().scripts
	for _, r := range text {
		script := cmp.Or(scriptIn(known, r), scriptIn(later, r), "Common")
		if script != "Common" && script != "Inherited" && !slices.Contains(list, script) {
			list = append(list, script)
		}
	}
	slices.Sort(list)
	return list
}

// scriptIn returns the script of a code point, or nothing if it is not in the list.
func scriptIn(list []scriptSpan, r rune) string {
	i, found := slices.BinarySearchFunc(list, r, func(s scriptSpan, r rune) int { return s.compare(r) })
	if !found {
		return ""
	}
	return list[i].script
}

// together lists the scripts that languages use together, beside Latin (UTS #39 section 5.2, Highly Restrictive).
var together = [][]string{
	{"Han", "Hiragana", "Katakana", "Latin"}, // Japanese
	{"Bopomofo", "Han", "Latin"},             // Chinese
	{"Han", "Hangul", "Latin"},               // Korean
}

// aMix says how unusual the scripts of a label are together.
type aMix int

const (
	usual   aMix = 0 // one script, or scripts that a language uses together
	unusual aMix = 1 // Latin and one other, which cannot be taken for it
	mixed   aMix = 2
)

// recommended lists scripts that go with Latin in names without danger: those in modern use (UAX #31 table 5), less
// Cyrillic and Greek, whose letters look like Latin ones (UTS #39 section 5.2, Moderately Restrictive).
var recommended = []string{"Arabic", "Armenian", "Bengali", "Bopomofo", "Devanagari", "Ethiopic", "Georgian",
	"Gujarati", "Gurmukhi", "Han", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Lao", "Malayalam",
	"Myanmar", "Oriya", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai", "Tibetan"}

func mixOf(scripts []string) aMix {
	if len(scripts) < 2 {
		return usual
	}
	for _, t := range together {
		if !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(t, s) }) {
			return usual
		}
	}
	latin := slices.Index(scripts, "Latin")
	if len(scripts) == 2 && latin >= 0 && slices.Contains(recommended, scripts[1-latin]) {
		return unusual
	}
	return mixed
}
