package spf

import "strings"

// Macros returns the letters of the macros in the value of the term, in lower case and in order; empty if
// there are none. Unknown modifiers have none.
func (t *Term) Macros() string {
	var letters []byte
	for _, m := range t.spec {
		if m.letter != 0 {
			letters = append(letters, m.letter)
		}
	}
	return string(letters)
}

// Bind returns what a term of the record of a domain is to be in the record of another, to mean the same:
// the domain takes the place of the macro d, and is written out where it is meant by default (RFC 7208
// section 4.8). The macro p cannot be bound, for which of the names of a host it stands for depends on the
// domain whose record has it (section 7.3).
func (t *Term) Bind(domain string) Term {
	bound := *t
	switch {
	case t.Value == "" && (t.Name == a || t.Name == MX || t.Name == PTR):
		bound.Value = withoutMacros(domain)
	case strings.Contains(t.Macros(), "d"):
		bound.Value = bind(t.Value, domain)
	default:
		return bound
	}
	bound.spec, _, _, _ = parseMacros(bound.Value, false)
	bound.Raw = bound.String()
	return bound
}

// bind replaces the macro d in a macro-string without errors; all else stays as it was written.
func bind(s, domain string) string {
	var b strings.Builder
	for s != "" {
		if s[0] != '%' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		m, n, _ := parseMacro(s, false)
		if m.letter == 'd' {
			b.WriteString(withoutMacros(m.apply(domain)))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// withoutMacros writes a text so that no macros are seen in it.
func withoutMacros(s string) string { return strings.NewReplacer("%", "%%", " ", "%_").Replace(s) }
