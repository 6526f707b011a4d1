package input

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// runeNames are the names of invisible characters, which text copied from web pages and documents contains, and of
// spaces that look like U+0020.
var runeNames = map[rune]string{
	'\u00A0': "NO-BREAK SPACE", '\u00AD': "SOFT HYPHEN", '\u034F': "COMBINING GRAPHEME JOINER",
	'\u061C': "ARABIC LETTER MARK", '\u115F': "HANGUL CHOSEONG FILLER", '\u1160': "HANGUL JUNGSEONG FILLER",
	'\u180E': "MONGOLIAN VOWEL SEPARATOR", '\u2007': "FIGURE SPACE", '\u2009': "THIN SPACE", '\u200A': "HAIR SPACE",
	'\u200B': "ZERO WIDTH SPACE", '\u200C': "ZERO WIDTH NON-JOINER", '\u200D': "ZERO WIDTH JOINER",
	'\u200E': "LEFT-TO-RIGHT MARK", '\u200F': "RIGHT-TO-LEFT MARK", '\u2028': "LINE SEPARATOR",
	'\u2029': "PARAGRAPH SEPARATOR", '\u202A': "LEFT-TO-RIGHT EMBEDDING", '\u202B': "RIGHT-TO-LEFT EMBEDDING",
	'\u202C': "POP DIRECTIONAL FORMATTING", '\u202D': "LEFT-TO-RIGHT OVERRIDE", '\u202E': "RIGHT-TO-LEFT OVERRIDE",
	'\u202F': "NARROW NO-BREAK SPACE", '\u205F': "MEDIUM MATHEMATICAL SPACE", '\u2060': "WORD JOINER",
	'\u2061': "FUNCTION APPLICATION", '\u2062': "INVISIBLE TIMES", '\u2063': "INVISIBLE SEPARATOR",
	'\u2064': "INVISIBLE PLUS", '\u2066': "LEFT-TO-RIGHT ISOLATE", '\u2067': "RIGHT-TO-LEFT ISOLATE",
	'\u2068': "FIRST STRONG ISOLATE", '\u2069': "POP DIRECTIONAL ISOLATE", '\u3000': "IDEOGRAPHIC SPACE",
	'\u3164': "HANGUL FILLER", '\uFEFF': "ZERO WIDTH NO-BREAK SPACE", '\uFFA0': "HALFWIDTH HANGUL FILLER",
}

// fillers are invisible although they are letters or marks.
const fillers = "\u034F\u115F\u1160\u17B4\u17B5\u3164\uFFA0"

// Invisible reports whether a character is invisible: a format character or a filler (Unicode Standard, section
// 23.2). Spaces count as visible, and so do variation selectors, which change the character before them.
func Invisible(r rune) bool { return unicode.Is(unicode.Cf, r) || strings.ContainsRune(fillers, r) }

// stray is [Invisible] but for joiners, which text in several scripts needs (RFC 5892 appendix A.1 and A.2).
func stray(r rune) bool { return Invisible(r) && r != '\u200C' && r != '\u200D' }

// DescribeRune describes a character, as in "U+200B ZERO WIDTH SPACE" or "U+0430 'а'".
func DescribeRune(r rune) string {
	if name := runeNames[r]; name != "" {
		return fmt.Sprintf("%U %s", r, name)
	}
	return fmt.Sprintf("%#U", r)
}

// findRune describes the first character of a text that a test is true of, with its place, counted from 1, or returns
// nothing.
func findRune(text string, test func(rune) bool) string {
	i := strings.IndexFunc(text, test)
	if i < 0 {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return fmt.Sprintf("%s at character %d", DescribeRune(r), utf8.RuneCountInString(text[:i])+1)
}

// without returns a text without the characters that a test is true of.
func without(text string, test func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if test(r) {
			return -1
		}
		return r
	}, text)
}
