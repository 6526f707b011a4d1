package observatory

import (
	"strings"
	"unicode"
)

// header returns a header field as the Observatory sees it: several of a name are one, joined by commas.
func (r *Response) header(name string) (value string, ok bool) {
	values := r.Header.Values(name)
	return latin1(strings.Join(values, ", ")), len(values) > 0
}

// latin1 reads bytes beyond ASCII one by one, as the Observatory does.
func latin1(s string) string {
	for i := range len(s) {
		if s[i] < 0x80 {
			continue
		}
		runes := make([]rune, len(s))
		for j := range len(s) {
			runes[j] = rune(s[j])
		}
		return string(runes)
	}
	return s
}

// isSpace reports whether the Observatory's language treats a character as white space.
func isSpace(r rune) bool { return r == 0xFEFF || r != 0x85 && unicode.IsSpace(r) }

func trim(s string) string { return strings.TrimFunc(s, isSpace) }

func lower(s string) string { return strings.ToLower(trim(s)) }

// head returns the first n characters.
func head(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
