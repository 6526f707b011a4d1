package page

import (
	"strings"
	"unicode/utf8"
)

// whitespace is that of HTML (infra.spec.whatwg.org, "ASCII whitespace").
const whitespace = " \t\n\f\r"

// collapse makes one space of each run of white space, and none at the ends.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip cuts a text to a number of bytes, between characters. What it returns holds no longer text in memory.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

func hasPrefix(s, prefix string) bool { return strings.HasPrefix(s, prefix) && len(s) > len(prefix) }

// tokens splits a set of space-separated tokens, in lower case, at most a few.
func tokens(s string) []string {
	const most = 20
	list := strings.FieldsFunc(clip(lower(s), MaxValue), func(r rune) bool { return strings.ContainsRune(whitespace, r) })
	return list[:min(len(list), most)]
}

// lower is ASCII lower case, by which HTML compares.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// essence is a media type without its parameters, in lower case (mimesniff.spec.whatwg.org).
func essence(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return lower(strings.Trim(mediaType, whitespace))
}
