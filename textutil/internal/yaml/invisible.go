package yaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisibleNames are names of characters that look like a space or like nothing (Unicode Standard sections 6.2 and 23).
var invisibleNames = map[rune]string{
	0xA0: "no-break space", 0xAD: "soft hyphen", 0x1680: "Ogham space mark", 0x180E: "Mongolian vowel separator",
	0x2002: "en space", 0x2003: "em space", 0x2007: "figure space", 0x2008: "punctuation space", 0x2009: "thin space",
	0x200A: "hair space", 0x200B: "zero-width space", 0x200C: "zero-width non-joiner", 0x200D: "zero-width joiner",
	0x200E: "left-to-right mark", 0x200F: "right-to-left mark", 0x202F: "narrow no-break space",
	0x2028: "line separator", 0x2029: "paragraph separator",
	0x205F: "medium mathematical space", 0x2060: "word joiner", 0x3000: "ideographic space", 0xFEFF: "byte-order mark",
}

// isInvisible reports whether a character looks like a space or like nothing, and is neither a space nor a tab.
func isInvisible(r rune) bool {
	return r >= 0xA0 && unicode.In(r, unicode.Z, unicode.Cf)
}

// InvisibleName returns the code point of a character that looks like a space or like nothing with its name, and what
// to do about it; nothing for other characters.
func InvisibleName(r rune) (name, remedy string) {
	if !isInvisible(r) {
		return "", ""
	}
	name = fmt.Sprintf("U+%04X", r)
	if known := invisibleNames[r]; known != "" {
		name += " (" + known + ")"
	}
	if unicode.Is(unicode.Z, r) {
		return name, "write a space in its place"
	}
	return name, "remove it"
}

// FindInvisible returns the offset of the first character of a line that looks like a space or like nothing, and is
// text where it was hardly meant: at the beginning or end, behind a colon or a dash that would be an indicator,
// before a comment, inside a key or a word in ASCII. It returns -1 if the line has none. Spaces between words and
// joiners inside them are text.
func FindInvisible(line string, isKey bool) int {
	begin := strings.IndexFunc(line, isVisible)
	end := strings.LastIndexFunc(line, isVisible)
	for i, r := range line {
		if !isInvisible(r) {
			continue
		}
		before, after := line[:i], line[i+utf8.RuneLen(r):]
		joins := (r == 0x200C || r == 0x200D) && !endsInASCII(before) && !beginsInASCII(after)
		switch {
		case i < begin || i > end: // end is -1 if there is nothing else
			return i
		case isKey && !joins:
			return i
		case (r == 0x200B || r == 0x2060 || r == 0xFEFF) && (endsInASCII(before) || beginsInASCII(after)):
			return i
		case unicode.Is(unicode.Z, r) && (isEntry(before) || strings.HasPrefix(after, "#")):
			return i
		}
	}
	return -1
}

func isVisible(r rune) bool { return r != ' ' && r != '\t' && !isInvisible(r) }

func endsInASCII(s string) bool   { return s != "" && s[len(s)-1] < utf8.RuneSelf }
func beginsInASCII(s string) bool { return s != "" && s[0] < utf8.RuneSelf }

// isEntry reports whether a text would begin an entry of a collection, were a space behind it. It ignores a
// text that is too long for a key.
func isEntry(s string) bool {
	if len(s) > MaxKey {
		return false
	}
	s = strings.TrimLeft(s, " \t")
	return s == "-" || strings.HasSuffix(s, ":") && !strings.ContainsAny(s, " \t")
}
