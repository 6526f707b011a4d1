package spf

import (
	"strings"
)

// domainSpec reads the value of a term as the name of a domain:
//
//	domain-spec = macro-string domain-end
//	domain-end  = ( "." toplabel [ "." ] ) / macro-expand
func (p *parser) domainSpec(t *Term, at int) bool {
	if t.Value == "" {
		return p.here(valueMissing, 0, len(t.Raw), "", "%s needs the name of a domain", t.Name)
	}
	m, offset, length, fault := parseMacros(t.Value, false)
	if fault != "" {
		return p.here(badMacro, at+offset, length, "", "%s", fault)
	}
	if fault := domainEnd(m); fault != "" {
		return p.here(badDomain, at, len(t.Value), p.otherDomain(t), "%.100q is not the name of a domain: %s",
			t.Value, fault)
	}
	t.spec = m
	return true
}

// otherDomain guesses what was meant by a value that is not the name of a domain.
func (p *parser) otherDomain(t *Term) string {
	address, _, _ := strings.Cut(t.Value, "/")
	switch family := familyOf(address); {
	case t.Kind == Mechanism && family == 4:
		return signed(t, "ip4:"+t.Value)
	case t.Kind == Mechanism && family == 6:
		return signed(t, "ip6:"+t.Value)
	case t.Name == Include && p.isDomain(address):
		return signed(t, "include:"+address)
	default:
		return ""
	}
}

// domainEnd says what is wrong with the end of a name, or nothing.
func domainEnd(m macros) string {
	if len(m) == 0 {
		return "it is empty"
	}
	last := m[len(m)-1]
	if last.letter != 0 || last.quoted {
		return ""
	}
	name := strings.TrimSuffix(last.text, ".")
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "it has no dot before its last label"
	}
	return topLabel(name[i+1:])
}

// topLabel says what is wrong with the last label of a name, or nothing: it consists of letters, digits
// and hyphens, not at its ends, and not of digits alone.
func topLabel(s string) string {
	switch {
	case s == "":
		return "its last label is empty"
	case strings.Trim(s, "0123456789") == "":
		return "its last label is a number"
	case s[0] == '-' || s[len(s)-1] == '-':
		return "its last label begins or ends with a hyphen"
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '-' {
			return "its last label has the character " + quoteByte(s[i])
		}
	}
	return ""
}

func quoteByte(c byte) string { return "\"" + string(rune(c)) + "\"" }

// The sizes of names in octets (RFC 1035 section 2.3.4), without the final dot.
const (
	maxLabel = 63
	maxName  = 253
)

// malformed says why a name, without its final dot, cannot be asked for in the DNS, or nothing.
func malformed(name string) string {
	if len(name) > maxName {
		return "it is longer than 253 octets"
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "it has an empty label"
		case len(label) > maxLabel:
			return "a label is longer than 63 octets"
		}
	}
	return ""
}

// targetFault says why a name without macros never is that of a host or domain, or nothing.
func targetFault(name string) string {
	name = strings.TrimSuffix(name, ".")
	if fault := malformed(name); fault != "" {
		return fault
	}
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && strings.IndexByte("-_.", c) < 0 {
			return "it has the character " + quoteByte(c)
		}
	}
	return ""
}

// fit brings an expanded name to the length that the DNS allows by leaving out labels from the left
// (RFC 7208 section 7.3), and cuts the final dot.
func fit(name string) string {
	name = strings.TrimSuffix(name, ".")
	for len(name) > maxName {
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			break
		}
		name = rest
	}
	return name
}

// absolute writes a name as the DNS library does: bytes that are special in master files are escaped
// (RFC 1035 section 5.1), so that what comes back compares as equal.
func absolute(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && strings.IndexByte("-_.", c) < 0 {
			plain = false
			break
		}
	}
	if plain {
		return name + "."
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case strings.IndexByte(" '@;()\"\\", c) >= 0:
			b.WriteString("\\" + name[i:i+1])
		case c < ' ' || c > '~':
			b.Write([]byte{'\\', '0' + c/100, '0' + c/10%10, '0' + c%10})
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('.')
	return b.String()
}
