package textutil

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

const (
	dotAbove = '\u0307'
	above    = 230 // canonical combining class of marks above a letter
)

// lower returns valid UTF-8 in lower case (Unicode Standard section 3.13 rule R2, SpecialCasing.txt). The library
// looks no further than 30 characters to find the end of a word.
func lower(text string, locale Locale) string {
	if locale == Lithuanian { // the library knows no mark between the letter and the mark above it
		return cases.Lower(language.Und).String(withSoftDots(text))
	}
	return cases.Lower(language.Make(string(locale))).String(text)
}

// withSoftDots writes out the dots of capital i and j that Lithuanian small letters keep when another mark is above
// them too (SpecialCasing.txt, More_Above).
func withSoftDots(text string) string {
	text = strings.NewReplacer("Ì", "I\u0300", "Í", "I\u0301", "Ĩ", "I\u0303").Replace(text)
	var b strings.Builder
	for i, r := range text {
		b.WriteRune(r)
		if strings.ContainsRune("IJĮ", r) && markedAbove(text[i+utf8.RuneLen(r):]) {
			b.WriteRune(dotAbove)
		}
	}
	return b.String()
}

// markedAbove reports whether the preceding letter has a mark above it (SpecialCasing.txt, More_Above).
func markedAbove(rest string) bool {
	for _, r := range rest {
		if c := combiningClass(r); c == 0 || c == above {
			return c == above
		}
	}
	return false
}

func combiningClass(r rune) uint8 {
	if r < 0x300 {
		return 0
	}
	var buf [utf8.UTFMax]byte
	return norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).CCC()
}

// casedBefore reports whether a word has begun: the text ends with a cased letter, with nothing behind
// it but what is ignored (Unicode Standard table 3-17, Final_Sigma).
func casedBefore(text string) bool {
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if !caseIgnorable(r) {
			return cased(r)
		}
		text = text[:len(text)-size]
	}
	return false
}

// casedNext reports whether the word continues: a cased letter follows, with nothing between but what
// is ignored (Unicode Standard table 3-17, Final_Sigma).
func casedNext(rest string) bool {
	for _, r := range rest {
		if !caseIgnorable(r) {
			return cased(r)
		}
	}
	return false
}

// cased reports whether the character has a case (Unicode Standard definition D135).
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// caseIgnorable reports whether the character is transparent inside a word
// (Unicode Standard definition D136). Where a character is both cased and ignorable, as modifier
// letters are, it is ignored: the standard leaves it open, and this is what browsers do.
func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055F', '\u05F4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\uFE13', '\uFE52', '\uFE55', '\uFF07', '\uFF0E', '\uFF1A', // Word_Break MidLetter, MidNumLet, Single_Quote
		'^', '`':
		return true
	}
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// withoutSoftDots removes the dots that Lithuanian writes out above i and j when an accent is there too: capital
// letters have no dot to keep (SpecialCasing.txt, After_Soft_Dotted).
func withoutSoftDots(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	softDotted := false // the preceding letter is one, with nothing above it yet
	for _, r := range text {
		if r == dotAbove && softDotted {
			softDotted = false // behind this dot, which is above the letter, another is not the letter's own
			continue
		}
		b.WriteRune(r)
		switch c := combiningClass(r); {
		case unicode.Is(unicode.Soft_Dotted, r):
			softDotted = true
		case c == 0 || c == above:
			softDotted = false
		}
	}
	return b.String()
}

// A greekLetter is a Greek letter taken apart. Marks may belong to the character or follow it: the
// result is written in the same way.
type greekLetter struct {
	upper     rune // the letter alone
	vowel     bool
	accent    markSpelling // tonos, varia or perispomeni
	dialytika markSpelling
	iotas     int // iotas written below
}

// markSpelling says whether a mark is there, and how it is written.
type markSpelling int

const (
	absent    markSpelling = 0
	composed  markSpelling = 1 // one character with the letter
	following markSpelling = 2 // a character of its own
)

// greekUpper returns the text in upper case by the rules of Modern Greek: capital letters carry neither accents nor
// breathings, an iota below is written after, and the dialytika stays. Where only an accent showed that the next vowel
// is separate, that vowel gets a dialytika: "άι" is "ΑΪ". Only the word "ή" (or) keeps its accent, to differ from
// the article "Η". These are the rules of CLDR as browsers carry them out.
func greekUpper(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	others := cases.Upper(language.Und)
	other := 0                  // where the text begins that is not Greek
	var unaccented markSpelling // the preceding vowel, which has lost its accent
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		letter, ok := decomposeGreek(r)
		if !ok {
			unaccented = absent
			i += size
			continue
		}
		b.WriteString(others.String(text[other:i]))
		if (letter.upper == 'Ι' || letter.upper == 'Υ') && letter.dialytika == absent {
			letter.dialytika = unaccented
		}
		before := text[:i]
		i += size + letter.addMarks(text[i+size:])
		unaccented = absent
		if letter.vowel && letter.dialytika == absent {
			unaccented = letter.accent
		}
		alone := letter.upper == 'Η' && letter.accent != absent && !casedBefore(before) && !casedNext(text[i:])
		letter.write(&b, alone)
		other = i
	}
	b.WriteString(others.String(text[other:]))
	return b.String()
}

// decomposeGreek returns the parts of a letter of the Greek blocks. It reports false for any other character.
func decomposeGreek(r rune) (greekLetter, bool) {
	greek := 0x370 <= r && r <= 0x3FF || 0x1F00 <= r && r <= 0x1FFF || r == '\u2126'
	if !greek || !unicode.IsLetter(r) {
		return greekLetter{}, false
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	parts := norm.NFD.Properties(buf[:n]).Decomposition()
	if len(parts) == 0 {
		parts = buf[:n]
	}
	base, size := utf8.DecodeRune(parts)
	letter := greekLetter{upper: unicode.ToUpper(base)}
	letter.vowel = strings.ContainsRune("ΑΕΗΙΟΥΩ", letter.upper)
	for _, mark := range string(parts[size:]) {
		letter.add(mark, composed)
	}
	return letter, true
}

// addMarks adds the marks at the beginning of a text, and returns how many bytes they have.
func (l *greekLetter) addMarks(rest string) int {
	for i, mark := range rest {
		if !l.add(mark, following) {
			return i
		}
	}
	return len(rest)
}

// add adds a mark. It reports false if Greek does not use the mark.
func (l *greekLetter) add(mark rune, how markSpelling) bool {
	switch mark {
	case '\u0300', '\u0301', '\u0302', '\u0303', '\u0311', '\u0342': // varia, tonos, perispomeni in its shapes
		l.accent = cmp.Or(l.accent, how)
	case '\u0308':
		l.dialytika = cmp.Or(l.dialytika, how)
	case '\u0344':
		l.dialytika, l.accent = cmp.Or(l.dialytika, how), cmp.Or(l.accent, how)
	case '\u0345':
		l.iotas++
	case '\u0304', '\u0306', '\u0313', '\u0314', '\u0343': // length and breathings, which capitals lose
	default:
		return false
	}
	return true
}

// write writes the letter as a capital. Alone means that it is an eta with an accent that is a word by itself.
func (l *greekLetter) write(b *strings.Builder, alone bool) {
	upper, dialytika, tonos := l.upper, l.dialytika != absent, false
	switch {
	case alone && l.accent == composed && l.iotas == 0:
		upper = 'Ή'
	case alone && l.accent == following && l.iotas == 0:
		tonos = true
	case upper == 'Ι' && l.dialytika == composed:
		upper, dialytika = 'Ϊ', false
	case upper == 'Υ' && l.dialytika == composed:
		upper, dialytika = 'Ϋ', false
	}
	b.WriteRune(upper)
	if dialytika {
		b.WriteRune('\u0308')
	}
	if tonos {
		b.WriteRune('\u0301')
	}
	for range l.iotas {
		b.WriteRune('Ι')
	}
}
