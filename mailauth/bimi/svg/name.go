package svg

import (
	"strings"
	"unicode/utf8"
)

// isNameStart is NameStartChar (XML 1.0 section 2.3).
func isNameStart(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == ':':
		return true
	case c < 0xC0:
		return false
	}
	for _, r := range [][2]rune{
		{0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x2FF}, {0x370, 0x37D}, {0x37F, 0x1FFF}, {0x200C, 0x200D}, {0x2070, 0x218F},
		{0x2C00, 0x2FEF}, {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF},
	} {
		if r[0] <= c && c <= r[1] {
			return true
		}
	}
	return false
}

// isNameChar is NameChar (XML 1.0 section 2.3).
func isNameChar(c rune) bool {
	return isNameStart(c) || '0' <= c && c <= '9' || c == '-' || c == '.' || c == 0xB7 || 0x300 <= c && c <= 0x36F ||
		0x203F <= c && c <= 0x2040
}

// isName reports whether s is a Name.
func isName(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return isNameStart(first) && isNmtoken(s)
}

// isNCName reports whether s is a name without a colon (Namespaces in XML 1.0 section 3).
func isNCName(s string) bool { return isName(s) && !strings.Contains(s, ":") }

// isNmtoken reports whether s is a Nmtoken.
func isNmtoken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !isNameChar(c) })
}

// maxClip bounds what a message quotes, in bytes.
const maxClip = 60

// clip makes a text of strangers fit for a message.
func clip(s string) string {
	if len(s) > maxClip {
		s = strings.ToValidUTF8(s[:maxClip], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if c < 0x20 || c >= 0x7F && c < 0xA0 {
			return ' '
		}
		return c
	}, s)
}
