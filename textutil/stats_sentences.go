package textutil

import (
	"iter"
	"slices"
	"unicode"
)

// A sentenceClass is a value of the property Sentence_Break (UAX 29 section 5.1, table 4).
type sentenceClass int

const (
	sentenceOther    sentenceClass = iota
	sentenceCR       sentenceClass = iota
	sentenceLF       sentenceClass = iota
	sentenceSep      sentenceClass = iota
	sentenceExtend   sentenceClass = iota // and Format, which has the same rules
	sentenceSp       sentenceClass = iota
	sentenceLower    sentenceClass = iota
	sentenceUpper    sentenceClass = iota
	sentenceOLetter  sentenceClass = iota
	sentenceNumeric  sentenceClass = iota
	sentenceATerm    sentenceClass = iota
	sentenceContinue sentenceClass = iota
	sentenceSTerm    sentenceClass = iota
	sentenceClose    sentenceClass = iota
)

func (k sentenceClass) in(classes ...sentenceClass) bool { return slices.Contains(classes, k) }

func (k sentenceClass) paraSep() bool { return k == sentenceCR || k == sentenceLF || k == sentenceSep }
func (k sentenceClass) term() bool    { return k == sentenceATerm || k == sentenceSTerm }

// classOfSentence returns the class of a character, by the definitions of the table from other
// properties of Unicode. The order of the cases matters: a class is defined as what the others are not.
func classOfSentence(c rune) sentenceClass {
	switch {
	case c == '\r':
		return sentenceCR
	case c == '\n':
		return sentenceLF
	case c == 0x85 || c == 0x2028 || c == 0x2029:
		return sentenceSep
	case c == '.' || c == 0x2024 || c == 0xfe52 || c == 0xff0e:
		return sentenceATerm
	case unicode.In(c, unicode.M, unicode.Other_Grapheme_Extend, unicode.Cf):
		return sentenceExtend
	case unicode.IsSpace(c):
		return sentenceSp
	case unicode.Is(sentenceGeorgian, c):
		return sentenceOLetter
	case unicode.In(c, unicode.Ll, unicode.Other_Lowercase):
		return sentenceLower
	case unicode.In(c, unicode.Lu, unicode.Lt, unicode.Other_Uppercase):
		return sentenceUpper
	case c == 0x5f3, unicode.In(c, unicode.L, unicode.Nl, unicode.Other_Alphabetic):
		return sentenceOLetter
	case unicode.Is(unicode.Nd, c) || c == 0x66b || c == 0x66c:
		return sentenceNumeric
	case unicode.Is(sentenceContinues, c):
		return sentenceContinue
	case unicode.Is(unicode.Sentence_Terminal, c):
		return sentenceSTerm
	case unicode.In(c, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, sentenceQuotes):
		return sentenceClose
	}
	return sentenceOther
}

var (
	// sentenceContinues is the class SContinue, which is listed in the table.
	sentenceContinues = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x2c, Hi: 0x2d, Stride: 1}, {Lo: 0x3a, Hi: 0x3a, Stride: 1}, {Lo: 0x55d, Hi: 0x55d, Stride: 1},
		{Lo: 0x60c, Hi: 0x60d, Stride: 1}, {Lo: 0x7f8, Hi: 0x7f8, Stride: 1}, {Lo: 0x1802, Hi: 0x1808, Stride: 6},
		{Lo: 0x2013, Hi: 0x2014, Stride: 1}, {Lo: 0x3001, Hi: 0x3001, Stride: 1}, {Lo: 0xfe10, Hi: 0xfe11, Stride: 1},
		{Lo: 0xfe13, Hi: 0xfe13, Stride: 1}, {Lo: 0xfe31, Hi: 0xfe32, Stride: 1}, {Lo: 0xfe50, Hi: 0xfe51, Stride: 1},
		{Lo: 0xfe55, Hi: 0xfe58, Stride: 3}, {Lo: 0xfe63, Hi: 0xfe63, Stride: 1}, {Lo: 0xff0c, Hi: 0xff0d, Stride: 1},
		{Lo: 0xff1a, Hi: 0xff1a, Stride: 1}, {Lo: 0xff64, Hi: 0xff64, Stride: 1},
	}, LatinOffset: 2}

	// sentenceQuotes are the quotation marks of class QU in UAX 14 that are not brackets by their category.
	sentenceQuotes = &unicode.RangeTable{
		R16: []unicode.Range16{{Lo: 0x22, Hi: 0x27, Stride: 5}, {Lo: 0x275b, Hi: 0x2760, Stride: 1}},
		R32: []unicode.Range32{{Lo: 0x1f676, Hi: 0x1f678, Stride: 1}}, LatinOffset: 1,
	}

	// sentenceGeorgian are letters whose case does not indicate the beginning of a sentence.
	sentenceGeorgian = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x10d0, Hi: 0x10fa, Stride: 1}, {Lo: 0x10fd, Hi: 0x10ff, Stride: 1},
		{Lo: 0x1c90, Hi: 0x1cba, Stride: 1}, {Lo: 0x1cbd, Hi: 0x1cbf, Stride: 1},
	}}
)

// A sentenceState is the context before a position that the rules of UAX 29 section 5.1 need.
type sentenceState struct {
	text  string
	begun bool
	last  sentenceClass // of the last character that is not Extend or Format
	// after is how far behind a full stop or another end of a sentence the place is: 0 not at all,
	// 1 just behind it, 2 behind closing marks too, 3 behind spaces too.
	after  int
	full   bool          // whether that end was a full stop
	before sentenceClass // of the character before that end
	// seen is how far the text was searched for the next letter or end of a sentence, so that no part
	// of it is searched twice; lower is whether that was a small letter.
	seen  int
	lower bool
}

// sentences returns the sentences of a text, by the rules of UAX 29 section 5.1, in time that grows with the
// length of the text.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s, start := sentenceState{text: text}, 0
		for i, c := range text {
			k := classOfSentence(c)
			if s.breaks(i, k) {
				if !yield(text[start:i]) {
					return
				}
				start = i
			}
			s.pass(k)
		}
		if text != "" {
			yield(text[start:])
		}
	}
}

func (s *sentenceState) breaks(i int, k sentenceClass) bool {
	switch {
	case !s.begun:
		return false
	case s.last.paraSep(): // SB3, SB4
		return s.last != sentenceCR || k != sentenceLF
	case k == sentenceExtend, s.after == 0: // SB5, SB998
		return false
	case s.after == 1 && s.full && k == sentenceNumeric: // SB6
		return false
	case s.after == 1 && s.full && k == sentenceUpper && s.before.in(sentenceUpper, sentenceLower): // SB7
		return false
	case s.full && s.nextIsLower(i): // SB8
		return false
	case k == sentenceContinue || k.term(): // SB8a
		return false
	case s.after < 3 && k == sentenceClose: // SB9
		return false
	}
	return k != sentenceSp && !k.paraSep() // SB9, SB10, SB11
}

// nextIsLower reports whether the next letter or end of a sentence from offset i on is a small letter.
func (s *sentenceState) nextIsLower(i int) bool {
	if i < s.seen {
		return s.lower
	}
	s.seen, s.lower = len(s.text)+1, false
	for j, c := range s.text[i:] {
		k := classOfSentence(c)
		if k.in(sentenceOLetter, sentenceUpper, sentenceLower) || k.paraSep() || k.term() {
			s.seen, s.lower = i+j+1, k == sentenceLower
			break
		}
	}
	return s.lower
}

// pass advances past a character of class k.
func (s *sentenceState) pass(k sentenceClass) {
	if k == sentenceExtend && s.begun && !s.last.paraSep() {
		return // SB5
	}
	switch {
	case k.term():
		s.after, s.full, s.before = 1, k == sentenceATerm, s.last
	case k == sentenceClose && (s.after == 1 || s.after == 2):
		s.after = 2
	case k == sentenceSp && s.after > 0:
		s.after = 3
	default:
		s.after = 0
	}
	s.begun, s.last = true, k
}
