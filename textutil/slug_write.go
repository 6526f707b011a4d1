package textutil

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A slugWriter writes the words of a slug with spaces between them.
type slugWriter struct {
	language   slugLanguage
	unicode    bool
	decamelize bool

	out          strings.Builder
	dropped      []rune // the first different letters that were left out
	droppedCount int
}

func (w *slugWriter) write(text []rune) {
	for i := 0; i < len(text); {
		if w.decamelize && isHump(text, i) {
			w.out.WriteByte(' ')
		}
		i += w.writeAt(text, i)
	}
}

// writeAt writes what stands at i, and returns how many characters that is.
func (w *slugWriter) writeAt(text []rune, i int) int {
	c := text[i]
	switch {
	case isSlugASCII(c):
		w.out.WriteRune(c)
		return 1
	case isApostrophe(c) && isContraction(text, i):
		return 1
	case c == '&':
		w.out.WriteString(" " + w.language.and + " ")
		return 1
	case c == '♥':
		w.out.WriteString(" love ")
		return 1
	case unicode.Is(unicode.Cf, c) && c != '\u200b': // soft hyphens, joiners and the like are not seen
		return 1
	case isLetterlike(c):
		w.writeDecomposed(c)
		return 1
	case !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c):
		w.out.WriteByte(' ')
		return 1
	case w.unicode:
		w.out.WriteRune(c)
		return 1
	}
	if latin, n := w.transliterate(text, i); n > 0 {
		w.out.WriteString(latin)
		return n
	}
	w.writeDecomposed(c)
	return 1
}

// transliterate returns the Latin form, by the tables, of the letters at i, and how many they are; 0 if
// the tables do not have them.
func (w *slugWriter) transliterate(text []rune, i int) (latin string, n int) {
	c := unicode.ToLower(text[i])
	if latin, n = greekPair(text, i); n == 0 {
		n = 1
		known := false
		if w.language.initials != nil && (i == 0 || !unicode.IsLetter(text[i-1])) {
			latin, known = w.language.initials[c]
		}
		if !known {
			latin, known = w.language.letters[c]
		}
		if !known {
			latin, known = slugLetter(c)
		}
		if !known {
			return "", 0
		}
	}
	return inCaseOf(text, i, n, latin), n
}

// inCaseOf returns the Latin form of the n letters at i in their case: Щ is Shch, but SHCH among capitals.
func inCaseOf(text []rune, i, n int, latin string) string {
	if latin == "" || !unicode.IsUpper(text[i]) {
		return latin
	}
	last := i + n - 1
	capitals := last > i && unicode.IsUpper(text[last]) ||
		last+1 < len(text) && unicode.IsUpper(text[last+1]) ||
		(last+1 == len(text) || !unicode.IsLetter(text[last+1])) && i > 0 && unicode.IsUpper(text[i-1])
	if capitals {
		return strings.ToUpper(latin)
	}
	return strings.ToUpper(latin[:1]) + latin[1:]
}

// writeDecomposed writes a character without its accents, or what Unicode says it is compatible with.
func (w *slugWriter) writeDecomposed(c rune) {
	if unicode.IsMark(c) {
		return // an accent of its own, which NFC could not join
	}
	found := false
	for _, part := range decomposed(c) {
		switch latin, known := slugLetter(part); {
		case isSlugASCII(part):
			w.out.WriteRune(part)
			found = true
		case known:
			w.out.WriteString(inCaseOf([]rune{part}, 0, 1, latin))
			found = true
		case unicode.Is(unicode.Nd, part):
			w.out.WriteByte('0' + digitValue(part))
			found = true
		case !unicode.IsMark(part):
			w.out.WriteByte(' ')
		}
	}
	if found {
		return
	}
	w.out.WriteByte(' ')
	w.droppedCount++
	if len(w.dropped) < maxSlugDropped && !slices.Contains(w.dropped, c) {
		w.dropped = append(w.dropped, c)
	}
}

// slugLetter returns the Latin form of a letter, small or capital, if the table has one.
func slugLetter(c rune) (latin string, known bool) {
	if 0x58f < c && c < 0x10a0 || c > 0x10ff && c != 'ẞ' { // the table has no letters there
		return "", false
	}
	latin, known = slugLetters[unicode.ToLower(c)]
	return latin, known
}

func decomposed(c rune) string {
	text := string(c)
	if parts := norm.NFKD.PropertiesString(text).Decomposition(); parts != nil {
		return string(parts)
	}
	return text
}

// digitValue returns the value of a decimal digit of any script: the digits stand in order.
func digitValue(c rune) byte {
	value := byte(0)
	for value < 9 && unicode.Is(unicode.Nd, c-rune(value)-1) {
		value++
	}
	return value
}

// isLetterlike reports whether a symbol stands for letters, as № does for No. Marks of trade are no part of a name.
func isLetterlike(c rune) bool {
	return unicode.Is(unicode.So, c) && c != '™' && c != '℠' && strings.ContainsFunc(decomposed(c), isSlugASCII)
}

func isSlugASCII(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isApostrophe(c rune) bool { return c == '\'' || c == '’' || c == 'ʼ' || c == '＇' }

// isContraction reports whether the apostrophe at i is within a contraction or a genitive of English.
func isContraction(text []rune, i int) bool {
	before := i - 1
	if before < 0 || !unicode.IsLetter(text[before]) && !unicode.IsNumber(text[before]) {
		return false
	}
	end := i + 1
	for end < len(text) && end <= i+3 && unicode.IsLetter(text[end]) {
		end++
	}
	switch strings.ToLower(string(text[i+1 : end])) {
	case "s", "t", "d", "m", "re", "ve", "ll":
		return true
	}
	return false
}

// isHump reports whether a word of CamelCase begins at i: fooBar is two words, and so are FOOBar, foo2BAR
// and FOO2; APIs is one.
func isHump(text []rune, i int) bool {
	if i == 0 {
		return false
	}
	upper := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsUpper(text[j]) }
	digit := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsDigit(text[j]) }
	lower := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsLower(text[j]) }
	switch {
	case digit(i):
		return upper(i-1) && upper(i-2)
	case !upper(i):
		return false
	case lower(i-1) || digit(i-1):
		return upper(i+1) || lower(i+1) || digit(i+1)
	}
	plural := i+1 < len(text) && text[i+1] == 's' // as in APIs
	return upper(i-1) && lower(i+1) && !plural
}
