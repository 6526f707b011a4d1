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

// isWord reports whether the text has a letter or a digit.
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
