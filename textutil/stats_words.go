package textutil

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// words returns the words of a text: the pieces that have a letter or a digit.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for piece := range wordPieces(text) {
			if isWord(piece) && !yield(piece) {
				return
			}
		}
	}
}

// wordPieces returns the pieces of a text between the boundaries of UAX 29 section 4.1.
//
// The rules of Unicode leave scripts of Southeast Asia to a dictionary and break them after every
// letter. Here their letters stay together up to the next boundary that is not between two of them.
func wordPieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, state := 0, -1
		var word string
		for at := 0; at < len(text); {
			word, _, state = uniseg.FirstWordInString(text[at:], state)
			at += len(word)
			if at < len(text) && endsInComplex(text[start:at]) && beginsInComplex(text[at:]) {
				continue
			}
			if !yield(text[start:at]) {
				return
			}
			start = at
		}
	}
}

// complexScripts are those whose words are found with a dictionary: the class SA of UAX 14.
var complexScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le,
	unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom}

func isComplex(c rune) bool {
	return c >= 0xe00 && unicode.In(c, complexScripts...) && (unicode.IsLetter(c) || unicode.IsMark(c))
}

func endsInComplex(text string) bool {
	c, _ := utf8.DecodeLastRuneInString(text)
	return isComplex(c)
}

func beginsInComplex(text string) bool {
	c, _ := utf8.DecodeRuneInString(text)
	return isComplex(c)
}

func isWord(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }) >= 0
}

// isUnspaced reports whether the word is of a script that does not put spaces between words.
func isUnspaced(word string) bool {
	c, _ := utf8.DecodeRuneInString(word)
	return c >= 0xe00 && (unicode.In(c, unicode.Han, unicode.Hiragana) || isComplex(c))
}

// A wordFolder makes words comparable: case does not matter, nor whether an accent is a character of its own.
type wordFolder struct{ caser cases.Caser }

func newWordFolder() *wordFolder { return &wordFolder{cases.Fold()} }

// fold returns the NFC of the full case folding (Unicode Standard section 3.13, definition D145).
func (f *wordFolder) fold(word string) string {
	if isPlain(word, 0x80) {
		return strings.ToLower(word)
	}
	return norm.NFC.String(f.caser.String(norm.NFC.String(word)))
}

// countGraphemes returns the number of extended grapheme clusters.
func countGraphemes(text string) int {
	if isPlain(text, 0x80) {
		return len(text) - strings.Count(text, "\r\n")
	}
	n := 0
	for range graphemes(text) {
		n++
	}
	return n
}

// graphemes returns the extended grapheme clusters (UAX 29 section 3). The library has the rules of Unicode
// 15.0; rule GB9c, which came with Unicode 15.1 and keeps the conjuncts of Indic scripts together, is added
// here for the scripts that it began with.
func graphemes(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, before, state := 0, 0, -1 // of the cluster, and of its last part
		for at := 0; at < len(text); {
			var part string
			part, _, _, state = uniseg.FirstGraphemeClusterInString(text[at:], state)
			if at > start && !(beginsWithConsonant(part) && endsInLinker(text[before:at])) {
				if !yield(text[start:at]) {
					return
				}
				start = at
			}
			before, at = at, at+len(part)
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

func beginsWithConsonant(cluster string) bool {
	c, _ := utf8.DecodeRuneInString(cluster)
	return unicode.Is(indicConsonants, c)
}

// endsInLinker reports whether the cluster ends in a consonant and marks, a linker among them.
func endsInLinker(cluster string) bool {
	linked := false
	for cluster != "" {
		c, size := utf8.DecodeLastRuneInString(cluster)
		switch {
		case unicode.Is(indicLinkers, c):
			linked = true
		case unicode.Is(indicConsonants, c):
			return linked
		case c != '\u200d' && !unicode.In(c, unicode.Mn, unicode.Me):
			return false
		}
		cluster = cluster[:len(cluster)-size]
	}
	return false
}

// The property Indic_Conjunct_Break of Unicode 15.1: consonants and viramas of Devanagari, Bengali,
// Gujarati, Oriya, Telugu and Malayalam.
var (
	indicConsonants = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x915, Hi: 0x939, Stride: 1}, {Lo: 0x958, Hi: 0x95f, Stride: 1}, {Lo: 0x978, Hi: 0x97f, Stride: 1},
		{Lo: 0x995, Hi: 0x9a8, Stride: 1}, {Lo: 0x9aa, Hi: 0x9b0, Stride: 1}, {Lo: 0x9b2, Hi: 0x9b2, Stride: 1},
		{Lo: 0x9b6, Hi: 0x9b9, Stride: 1}, {Lo: 0x9dc, Hi: 0x9dd, Stride: 1}, {Lo: 0x9df, Hi: 0x9df, Stride: 1},
		{Lo: 0x9f0, Hi: 0x9f1, Stride: 1}, {Lo: 0xa95, Hi: 0xaa8, Stride: 1}, {Lo: 0xaaa, Hi: 0xab0, Stride: 1},
		{Lo: 0xab2, Hi: 0xab3, Stride: 1}, {Lo: 0xab5, Hi: 0xab9, Stride: 1}, {Lo: 0xaf9, Hi: 0xaf9, Stride: 1},
		{Lo: 0xb15, Hi: 0xb28, Stride: 1}, {Lo: 0xb2a, Hi: 0xb30, Stride: 1}, {Lo: 0xb32, Hi: 0xb33, Stride: 1},
		{Lo: 0xb35, Hi: 0xb39, Stride: 1}, {Lo: 0xb5c, Hi: 0xb5d, Stride: 1}, {Lo: 0xb5f, Hi: 0xb5f, Stride: 1},
		{Lo: 0xb71, Hi: 0xb71, Stride: 1}, {Lo: 0xc15, Hi: 0xc28, Stride: 1}, {Lo: 0xc2a, Hi: 0xc39, Stride: 1},
		{Lo: 0xc58, Hi: 0xc5a, Stride: 1}, {Lo: 0xd15, Hi: 0xd3a, Stride: 1},
	}}
	indicLinkers = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x94d, Hi: 0x9cd, Stride: 0x80}, {Lo: 0xacd, Hi: 0xb4d, Stride: 0x80},
		{Lo: 0xc4d, Hi: 0xd4d, Stride: 0x100},
	}}
)
