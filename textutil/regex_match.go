package textutil

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// match describes the match from start to end. A reason is given if its groups cannot be afforded.
func (s *regexSearch) match(start, end int) (RegexMatch, string) {
	m := RegexMatch{Value: s.req.Text[start:end], Start: start, End: end, Groups: []RegexGroup{}}
	m.StartRune, m.StartUTF16 = s.offsets.at(start)
	m.EndRune, m.EndUTF16 = s.offsets.at(end)
	if len(s.names) == 1 {
		return m, ""
	}
	if why := s.spendOnGroups(end - start); why != "" {
		return m, why
	}
	re, from, to := s.groupExpr(start, end)
	loc := re.FindStringSubmatchIndex(s.req.Text[from:to])
	if loc == nil {
		return m, "The groups of the last match were not found."
	}
	for i := 1; i < len(s.names); i++ {
		// Group 1 of this expression is the whole match: the groups of the pattern come behind it.
		m.Groups = append(m.Groups, s.group(i, loc[2*i+2], loc[2*i+3], from))
	}
	return m, ""
}

// spendOnGroups takes the work of finding the groups of a match of the given length from the budget, or
// says why it cannot be done.
func (s *regexSearch) spendOnGroups(length int) string {
	length += 3 // the characters around it, and the end
	cost, around := s.instructions*length, 10*length
	if s.instructions > regexBacktrackProgram-10 || cost+around > regexBacktrackVector {
		if s.instructions*len(s.names) > maxRegexCopies {
			return "The pattern is too large for its number of groups: the last match is without them."
		}
		cost += cost * len(s.names) / regexGroupsPerStep
	}
	if cost > s.budget-s.spent {
		return "The time for one request was spent: the last match is without its groups."
	}
	s.spent += cost
	return ""
}

// groupExpr returns the expression that finds the groups of the match from start to end, and the part of
// the text in which to look: the match with the character before it and the one behind it, which
// matter to ^, $ and \b. Of the ways to match from start to end it takes the same as the search, which
// was the first choice among all ways to match from start.
func (s *regexSearch) groupExpr(start, end int) (re *regexp.Regexp, from, to int) {
	form, before, behind := 0, `\A`, `\z`
	from, to = start, end
	if start > 0 {
		_, size := utf8.DecodeLastRuneInString(s.req.Text[:start])
		form, before, from = form+1, `\A(?s:.)`, start-size
	}
	if end < len(s.req.Text) {
		_, size := utf8.DecodeRuneInString(s.req.Text[end:])
		form, behind, to = form+2, `(?s:.)\z`, end+size
	}
	if s.inside[form] == nil {
		s.inside[form] = s.compile(before, behind, true)
	}
	return s.inside[form], from, to
}

// group describes a group whose ends are given from the offset base; -1 means that it took no part.
func (s *regexSearch) group(index, start, end, base int) RegexGroup {
	g := RegexGroup{Index: index, Name: s.names[index]}
	if start < 0 {
		return g
	}
	at := &struct {
		value                                                string
		start, end, startRune, endRune, startUTF16, endUTF16 int
	}{start: base + start, end: base + end}
	at.value = s.req.Text[at.start:at.end]
	at.startRune, at.startUTF16 = s.offsets.at(at.start)
	at.endRune, at.endUTF16 = s.offsets.at(at.end)
	g.Matched, g.Value, g.Start, g.End = true, &at.value, &at.start, &at.end
	g.StartRune, g.EndRune, g.StartUTF16, g.EndUTF16 = &at.startRune, &at.endRune, &at.startUTF16, &at.endUTF16
	return g
}

func (m *RegexMatch) values() int {
	n := len(m.Value)
	for _, g := range m.Groups {
		if g.Matched {
			n += len(*g.Value)
		}
	}
	return n
}

// offsetStep is the distance between the places of a text whose offsets are kept.
const offsetStep = 64

// textOffsets turns offsets in bytes into offsets in code points and in units of UTF-16.
type textOffsets struct {
	text  string
	marks []offsetMark // of the first character at or behind every offsetStep bytes; none for ASCII
}

type offsetMark struct{ byte, rune, utf16 int }

func newTextOffsets(text string) *textOffsets {
	o := &textOffsets{text: text}
	if isPlain(text, 0x80) {
		return o
	}
	o.marks = make([]offsetMark, 0, len(text)/offsetStep+1)
	m := offsetMark{}
	for i, r := range text {
		if m.byte = i; i >= len(o.marks)*offsetStep {
			o.marks = append(o.marks, m)
		}
		m.pass(r)
	}
	return o
}

func (m *offsetMark) pass(r rune) {
	m.rune++
	m.utf16++
	if r > 0xffff { // a pair of surrogates
		m.utf16++
	}
}

// at returns the offset in code points and in units of UTF-16 of a character's offset in bytes.
func (o *textOffsets) at(offset int) (runes, utf16 int) {
	if o.marks == nil {
		return offset, offset
	}
	m := o.marks[min(offset/offsetStep, len(o.marks)-1)]
	for _, r := range o.text[m.byte:offset] {
		m.pass(r)
	}
	return m.rune, m.utf16
}

// A regexTokenKind is the kind of a piece of a pattern.
type regexTokenKind int

const (
	regexOther  regexTokenKind = iota // one character outside of the others
	regexEscape regexTokenKind = iota // a backslash and the character behind it
	regexQuote  regexTokenKind = iota // \Q up to \E, both included if there
	regexClass  regexTokenKind = iota // brackets and what is in them
	regexGroup  regexTokenKind = iota // an opening bracket of a group, with the ? behind it and the name
	regexClose  regexTokenKind = iota // a closing bracket of a group
)

// A regexToken is a piece of a pattern. Tokens follow each other without gaps.
type regexToken struct {
	kind    regexTokenKind
	at      int
	text    string
	capture bool // a group that captures
	open    bool // a quote without its end
}

// regexTokens cuts a pattern into pieces. It reads broken patterns too, and those of other engines, as
// far as it takes to see where brackets are brackets.
func regexTokens(pattern string) []regexToken {
	tokens := make([]regexToken, 0, len(pattern))
	for at := 0; at < len(pattern); {
		t := regexTokenAt(pattern[at:])
		t.at = at
		tokens = append(tokens, t)
		at += len(t.text)
	}
	return tokens
}

// regexTokenAt returns the piece that the rest of a pattern begins with.
func regexTokenAt(rest string) regexToken {
	switch rest[0] {
	case '\\':
		if strings.HasPrefix(rest, `\Q`) {
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return regexToken{kind: regexQuote, text: rest, open: true}
			}
			return regexToken{kind: regexQuote, text: rest[:end+2]}
		}
		_, size := utf8.DecodeRuneInString(rest[1:])
		return regexToken{kind: regexEscape, text: rest[:1+size]}
	case '[':
		return regexToken{kind: regexClass, text: rest[:regexClassLength(rest)]}
	case '(':
		text, capture := regexOpening(rest)
		return regexToken{kind: regexGroup, text: text, capture: capture}
	case ')':
		return regexToken{kind: regexClose, text: rest[:1]}
	}
	_, size := utf8.DecodeRuneInString(rest)
	return regexToken{text: rest[:size]}
}

// regexClassLength returns the length of the class that the text begins with, which is all of the text
// if its end is missing.
func regexClassLength(text string) int {
	i := 1
	if strings.HasPrefix(text[i:], "^") {
		i++
	}
	for first := true; i < len(text); first = false {
		switch {
		case text[i] == ']' && !first:
			return i + 1
		case text[i] == '\\' && i+1 < len(text):
			_, size := utf8.DecodeRuneInString(text[i+1:])
			i += 1 + size
		case strings.HasPrefix(text[i:], "[:") && strings.Contains(text[i+2:], ":]"):
			i += 2 + strings.Index(text[i+2:], ":]") + 2
		default:
			i++
		}
	}
	return len(text)
}

func regexOpening(text string) (opening string, capture bool) {
	if !strings.HasPrefix(text, "(?") {
		return text[:1], true
	}
	for _, prefix := range []string{"(?P<", "(?<"} {
		named := strings.HasPrefix(text, prefix) && !strings.HasPrefix(text, "(?<=") && !strings.HasPrefix(text, "(?<!")
		if end := strings.IndexByte(text, '>'); named && end >= 0 {
			return text[:end+1], true
		}
	}
	return text[:2], false
}

// regexWithin returns the pattern as a part of a longer one, in a capturing group of its own. Unless capture is
// set, the groups of the pattern do not capture there.
func regexWithin(pattern, flags string, capture bool) string {
	var b strings.Builder
	b.WriteString("(")
	if flags != "" {
		b.WriteString("(?" + flags + ")")
	}
	for _, t := range regexTokens(pattern) {
		switch {
		case t.capture && !capture:
			b.WriteString("(?:")
		default:
			b.WriteString(t.text)
		}
		if t.open {
			b.WriteString(`\E`)
		}
	}
	b.WriteString(")")
	return b.String()
}
