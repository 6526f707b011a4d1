package crawl

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// countWords counts the words of a text that have a letter or digit, by the rules of Unicode (UAX 29
// section 4). Runs of ASCII, which are most of most texts, are counted by the same rules without tables.
func countWords(s string) int {
	n := 0
	for len(s) > 0 {
		end := asciiRun(s)
		n += asciiWords(s[:end])
		s = s[end:]
		if s == "" {
			break
		}
		end = otherRun(s)
		state := -1
		for rest := s[:end]; rest != ""; {
			var word string
			word, rest, state = uniseg.FirstWordInString(rest, state)
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
				n++
			}
		}
		s = s[end:]
	}
	return n
}

// asciiRun is the length of the ASCII that s begins with, up to the last white space in it unless all of s is
// ASCII: a word may go on beyond.
func asciiRun(s string) int {
	space := 0
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return space
		}
		if s[i] == ' ' || s[i] == '\n' {
			space = i + 1
		}
	}
	return len(s)
}

// otherRun is the length of the words that s begins with, up to white space that ASCII follows.
func otherRun(s string) int {
	if i := strings.IndexAny(s[1:], " \n"); i >= 0 {
		return i + 1
	}
	return len(s)
}

func asciiWords(s string) int {
	n, in := 0, false
	for i := range len(s) {
		c := s[i]
		switch {
		case isLetter(c) || isDigit(c):
			if !in {
				n++
			}
			in = true
		case c == '_':
		case in && i+1 < len(s) && joins(s[i-1], c, s[i+1]):
		default:
			in = false
		}
	}
	return n
}

// joins reports whether a mark between two characters does not end a word (UAX 29, WB6 to WB12).
func joins(before, mark, after byte) bool {
	letters := isLetter(before) && isLetter(after)
	digits := isDigit(before) && isDigit(after)
	switch mark {
	case '.', '\'':
		return letters || digits
	case ':':
		return letters
	case ',', ';':
		return digits
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
