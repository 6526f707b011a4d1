package idn

import (
	"fmt"
	"slices"
)

// outOfContext says which character of a label stands where IDNA 2008 does not allow it, or nothing
// (RFC 5892 appendix A.3 to A.9). Registries check these rules; programs that look names up need not.
func outOfContext(text string) string {
	rs := []rune(text)
	for i, r := range rs {
		if why := contextOf(rs, i); why != "" {
			return fmt.Sprintf("%s %s.", describe(r), why)
		}
	}
	return ""
}

// contextOf says why a character must not stand in its place, or nothing.
func contextOf(rs []rune, i int) string {
	script := func(i int) []string {
		if i < 0 || i == len(rs) {
			return nil
		}
		return scriptsOf(string(rs[i]))
	}
	within := func(first, last rune) bool {
		return slices.ContainsFunc(rs, func(r rune) bool { return first <= r && r <= last })
	}
	switch r := rs[i]; {
	case r == '·' && !(0 < i && i+1 < len(rs) && rs[i-1] == 'l' && rs[i+1] == 'l'):
		return "does not stand between two letters l"
	case r == '\u0375' && !slices.Contains(script(i+1), "Greek"):
		return "does not stand before a Greek letter"
	case (r == '\u05F3' || r == '\u05F4') && !slices.Contains(script(i-1), "Hebrew"):
		return "does not stand behind a Hebrew letter"
	case r == '・' && !slices.ContainsFunc(scriptsOf(string(rs)), isJapanese):
		return "stands in a label without Japanese characters"
	case '\u0660' <= r && r <= '\u0669' && within('\u06F0', '\u06F9'):
		return "stands beside digits of the other Arabic kind"
	}
	return ""
}

func isJapanese(script string) bool {
	return script == "Hiragana" || script == "Katakana" || script == "Han"
}
