package textutil

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An abbreviation says when the full stop of a word does not end a sentence. UAX 29 section 5 leaves that to an
// implementation; the words are a selection of those that CLDR has for it.
type abbreviation uint8

const (
	never   abbreviation = 1 // ends none: a title before a name, and words in the middle of a clause
	seldom  abbreviation = 2 // ends one only before a word that begins sentences
	counted abbreviation = 3 // ends none before a number
)

// abbreviations are words in lower case, without their last full stop.
var abbreviations = func() map[string]abbreviation {
	words := map[string]abbreviation{}
	for kind, list := range map[abbreviation]string{
		never: "mr mrs ms mx dr prof messrs mme mlle hr e.g i.e a.k.a cf v vs viz approx z.b d.h bzw ca inkl ggf evtl p.ex",
		seldom: "st gen col capt lt sgt maj cmdr adm gov sen rep rev hon pres sr jr inc ltd co corp bros dept est al " +
			"ave blvd rd ft mt a.m p.m ph.d m.d b.a m.a d.c jan feb mar apr jun jul aug sep sept oct nov dec u.a fr " +
			"sra",
		counted: "no nos nr fig figs vol p pp ch sec art eq ver tel ext ed abs",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = kind
		}
	}
	return words
}()

// sentenceStarters are words that begin a sentence rather than go on with a name.
var sentenceStarters = func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq("a after all also although an and another as at because before but by each " +
		"finally for from he her here his how however i if in it its many more most my next no nobody not now on one or " +
		"our she since so some such that the their then there these they this those thus to today under we what when " +
		"where whether which while who why with yes yet you your") {
		words[word] = true
	}
	return words
}()

// longestAbbreviation bounds an abbreviation with its full stop, in bytes.
const longestAbbreviation = 16

// countSentences counts the sentences by the rules of Unicode, of which abbreviations, initials, numbers of lists and
// quotes within a sentence end none.
func countSentences(text string) int {
	n, start, at := 0, 0, 0
	for part := range sentences(text) {
		if at += len(part); at < len(text) && continuesSentence(text[start:at], text[at:]) {
			continue
		}
		n++
		start = at
	}
	return n
}

// continuesSentence reports whether a sentence continues after a position where the rules of Unicode end it.
func continuesSentence(before, after string) bool {
	trimmed := strings.TrimRight(before, " \t\u00a0")
	if len(trimmed) == len(before) || trimmed == "" {
		return false // a line ends, or the script has no spaces
	}
	last, size := utf8.DecodeLastRuneInString(trimmed)
	switch next, _ := utf8.DecodeRuneInString(after); {
	case strings.ContainsRune("\"')”’»", last):
		return unicode.IsLower(next) // "Why?" he asked.
	case last != '.':
		return false
	case len(trimmed) <= longestAbbreviation && strings.Trim(trimmed, "0123456789. ") == "":
		return true // the number of an item in a list
	}
	word := trimmed[max(0, len(trimmed)-longestAbbreviation) : len(trimmed)-size]
	if i := strings.LastIndexFunc(word, separatesWords); i >= 0 {
		_, size = utf8.DecodeRuneInString(word[i:])
		word = word[i+size:]
	}
	return endsNoSentence(word, strings.TrimLeft(after, "\"'([“‘«„"))
}

// separatesWords reports whether a character belongs to no abbreviation.
func separatesWords(r rune) bool { return r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// endsNoSentence reports whether the full stop after a word does not end a sentence before a text.
func endsNoSentence(word, after string) bool {
	kind := abbreviations[strings.ToLower(word)]
	if kind == 0 && isInitials(word) {
		kind = seldom
	}
	switch next, _ := utf8.DecodeRuneInString(after); kind {
	case never:
		return true
	case counted:
		return unicode.IsDigit(next)
	case seldom:
		end := strings.IndexFunc(after, separatesWords)
		if end < 0 {
			end = len(after)
		}
		return end > longestAbbreviation || !sentenceStarters[strings.ToLower(strings.TrimRight(after[:end], "."))]
	}
	return false
}

// isInitials reports whether a word is made of letters with full stops between them, the first a capital: J or U.S.
func isInitials(word string) bool {
	if r, _ := utf8.DecodeRuneInString(word); !unicode.IsUpper(r) {
		return false
	}
	for letter := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(letter) != 1 {
			return false
		}
	}
	return true
}
