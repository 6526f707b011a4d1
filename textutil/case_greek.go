package textutil

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A greekLetter is a Greek letter taken apart. Marks may belong to the character or follow it: the
// result is written in the same way.
type greekLetter struct {
	upper     rune // the letter alone
	vowel     bool
	accent    spelling // tonos, varia or perispomeni
	dialytika spelling
	iotas     int // iotas written below
}

// spelling tells whether a mark is there, and how it is written.
type spelling int

const (
	absent    spelling = 0
	composed  spelling = 1 // one character with the letter
	following spelling = 2 // a character of its own
)

// greekUpper returns the text in upper case by the rules of Modern Greek: capital letters carry neither accents nor
// breathings, an iota below is written beside, and the dialytika stays. Where an accent alone told that the next vowel
// is one of its own, that vowel gets a dialytika: "άι" is "ΑΪ". Only the word "ή" (or) keeps its accent, to differ from
// the article "Η". These are the rules of CLDR as browsers carry them out.
func greekUpper(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	other := 0              // where the text begins that is not Greek
	var unaccented spelling // a vowel stands before that has lost its accent
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		letter, ok := takeApart(r)
		if !ok {
			unaccented = absent
			i += size
			continue
		}
		b.WriteString(fullUpper(text[other:i]))
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
	b.WriteString(fullUpper(text[other:]))
	return b.String()
}

// takeApart returns the parts of a letter of the Greek blocks. It reports false for any other character.
func takeApart(r rune) (greekLetter, bool) {
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

// add adds a mark. It reports false if it is none that Greek puts on letters.
func (l *greekLetter) add(mark rune, how spelling) bool {
	switch mark {
	case '\u0300', '\u0301', '\u0302', '\u0303', '\u0311', '\u0342': // varia, tonos, perispomeni in its shapes
		l.addAccent(how)
	case '\u0308':
		l.addDialytika(how)
	case '\u0344':
		l.addDialytika(how)
		l.addAccent(how)
	case '\u0345':
		l.iotas++
	case '\u0304', '\u0306', '\u0313', '\u0314', '\u0343': // length and breathings, which capitals lose
	default:
		return false
	}
	return true
}

func (l *greekLetter) addAccent(how spelling) {
	if l.accent == absent {
		l.accent = how
	}
}

func (l *greekLetter) addDialytika(how spelling) {
	if l.dialytika == absent {
		l.dialytika = how
	}
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
