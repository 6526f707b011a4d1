package textutil

import (
	"strings"
	"unicode/utf8"
)

// A regexTokenKind tells the pieces of a pattern apart.
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

// regexWithin returns the pattern as a part of a longer one, in a group of its own that captures. Unless
// told so, the groups of the pattern do not capture there.
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
