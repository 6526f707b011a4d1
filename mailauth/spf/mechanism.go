package spf

import (
	"net/netip"
	"strconv"
	"strings"
)

// mechanism reads a mechanism; value is what follows its name, with the colon or slash.
func (p *parser) mechanism(t *Term, name, value string) bool {
	at := len(t.Raw) - len(value) // where the value begins
	if p.glued(t) {
		return false
	}
	t.Name = mechanismName(name)
	switch t.Name {
	case "":
		return p.unknown(t, name, value)
	case All:
		if value != "" {
			p.keep(t)
			return p.here(valueUnexpected, at, len(value), signed(t, "all"), "all has neither a value nor a length")
		}
		p.keep(t)
		return true
	}
	p.keep(t)
	domain, colon := strings.CutPrefix(value, ":")
	if colon {
		at++
	}
	if !colon && (t.Name == Include || t.Name == Exists || t.Name == ip4 || t.Name == ip6) {
		return p.here(valueMissing, 0, len(t.Raw), "", "%s needs a colon and a value", t.Name)
	}
	switch t.Name {
	case ip4, ip6:
		return p.network(t, domain, at)
	case a, MX:
		head, valid := p.prefixes(t, domain, at)
		if t.Value = head; !valid {
			return false
		}
	default:
		t.Value = domain
	}
	switch {
	case !colon && t.Value != "" && t.Name == PTR:
		return p.here(valueUnexpected, at, len(t.Value), signed(t, "ptr"), "ptr has no length of prefix")
	case !colon && t.Value != "":
		return p.here(badPrefix, at, len(t.Value), "", "%.60q is not the length of a prefix", t.Value)
	case !colon:
		return true
	}
	return p.domainSpec(t, at)
}

// keep notes that the term is a mechanism.
func (p *parser) keep(t *Term) {
	t.Kind = Mechanism
	if t.Qualifier == "" {
		t.Qualifier = QualifierPass
	}
}

// signed puts the sign of the term, if it has one, before a text.
func signed(t *Term, text string) string {
	if sign := t.Raw[:1]; strings.Contains("+-~?", sign) {
		return sign + text
	}
	return text
}

// mechanismName returns the mechanism of a name in any letter case, or nothing.
func mechanismName(s string) Name {
	for _, m := range mechanisms {
		if strings.EqualFold(s, string(m)) {
			return m
		}
	}
	return ""
}

// unknown notes a mechanism that does not exist, and guesses what was meant.
func (p *parser) unknown(t *Term, name, value string) bool {
	lower := strings.ToLower(name)
	rest := strings.TrimLeft(value, ":")
	switch {
	case name == "" && value == "":
		return p.here(badQualifier, 0, len(t.Raw), "", "the qualifier %q stands alone", t.Raw)
	case strings.IndexByte("+-~?", (name + value)[0]) >= 0:
		return p.here(badQualifier, 0, 2, t.Raw[1:], "there are two qualifiers")
	case strings.HasPrefix(value, ":") && (lower == string(Redirect) || lower == string(Exp)):
		return p.here(colonModifier, 0, len(t.Raw), lower+"="+rest, "%s is written with an equals sign", lower)
	case spelled(name) != "" && name != "":
		meant := spelled(name)
		if rest != "" && rest[0] != '/' {
			value = separator(meant) + rest
		}
		return p.here(badMechanism, 0, len(t.Raw), signed(t, string(meant)+value), "there is no mechanism %.60q, but one named %q",
			name, meant)
	}
	bare := strings.TrimLeft(t.Raw, "+-~?")
	suggested := ""
	switch address, _, _ := strings.Cut(bare, "/"); {
	case familyOf(address) == 4:
		suggested = signed(t, "ip4:"+bare)
	case familyOf(address) == 6:
		suggested = signed(t, "ip6:"+bare)
	case p.isDomain(bare) && isRecordName(bare):
		suggested = signed(t, "include:"+bare)
	}
	return p.here(badMechanism, 0, len(t.Raw), suggested, "there is no mechanism %.60q", name)
}

// isDomain reports whether a text could be a name of two labels at least.
func (p *parser) isDomain(s string) bool {
	m, _, _, fault := parseMacros(s, false)
	return fault == "" && domainEnd(m) == "" && targetFault(s) == ""
}

func familyOf(s string) int {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return 0
	case a.Is4():
		return 4
	default:
		return 6
	}
}

// glued notes a term to which the all behind it sticks, such as ip4:192.0.2.1~all. With a hyphen that
// may be a name, see the rule on such.
func (p *parser) glued(t *Term) bool {
	head, ok := cutAll(t.Raw)
	if !ok || strings.Trim(head, "+-~?") == "" || strings.HasSuffix(head, ":") {
		return false
	}
	if t.Raw[len(head)] == '-' && !gluedNetwork(head) {
		return false
	}
	p.here(gluedTerms, len(head), len(t.Raw)-len(head), head+" "+t.Raw[len(head):],
		"a space is missing before %s", t.Raw[len(head):])
	return true
}

// cutAll cuts the signed all from the end of a term.
func cutAll(raw string) (head string, ok bool) {
	n := len(raw) - len("-all")
	if n < 1 || !strings.EqualFold(raw[n+1:], "all") || strings.IndexByte("+-~?", raw[n]) < 0 {
		return "", false
	}
	return raw[:n], true
}

// gluedNetwork reports whether a term without its end would be a network, or a bare mechanism.
func gluedNetwork(head string) bool {
	bare := strings.ToLower(strings.TrimLeft(head, "+-~?"))
	return strings.HasPrefix(bare, "ip4:") || strings.HasPrefix(bare, "ip6:") || mechanismName(bare) != ""
}

// network reads the value of ip4 or ip6.
func (p *parser) network(t *Term, value string, at int) bool {
	kind, family, width := badIP4, 4, 32
	if t.Name == ip6 {
		kind, family, width = badIP6, 6, 128
	}
	text, length, slash := strings.Cut(value, "/")
	t.Value = text
	if text == "" {
		return p.here(valueMissing, 0, len(t.Raw), "", "%s needs an address", t.Name)
	}
	if i := strings.IndexByte(value, '%'); i >= 0 {
		return p.here(macroInNetwork, at+i, len(value)-i, "", "%s takes no macros", t.Name)
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return p.here(kind, at, len(text), repaired(t, value), "%.60q is not an IPv%d address", text, family)
	case familyOf(text) != family:
		other := map[int]string{4: "ip6:", 6: "ip4:"}[family]
		return p.here(wrongFamily, at, len(text), signed(t, other+value), "%s is an IPv%d address, but is used with %s",
			text, 10-family, t.Name)
	}
	bits := width
	if slash {
		n, ok := parseLength(length, width)
		if !ok {
			return p.badLength(at+len(text)+1, length, width)
		}
		bits = n
		if t.PrefixV4 = &bits; family == 6 {
			t.PrefixV4, t.PrefixV6 = nil, &bits
		}
	}
	t.Network = netip.PrefixFrom(address, bits)
	return true
}

// repaired leaves out zeros in front of the numbers of an IPv4 address, if that makes it one.
func repaired(t *Term, value string) string {
	text, length, slash := strings.Cut(value, "/")
	parts := strings.Split(text, ".")
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); trimmed != "" {
			parts[i] = trimmed
		} else if part != "" {
			parts[i] = "0"
		}
	}
	fixed := strings.Join(parts, ".")
	if t.Name != ip4 || familyOf(fixed) != 4 {
		return ""
	}
	if slash {
		fixed += "/" + length
	}
	return signed(t, "ip4:"+fixed)
}

// parseLength reads the length of a prefix, which has no zeros in front (RFC 7208 section 12).
func parseLength(s string, width int) (int, bool) {
	if s == "" || len(s) > 3 || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n <= width
}

func (p *parser) badLength(at int, text string, width int) bool {
	return p.here(badPrefix, at, len(text), "", "%.20q is not a length from 0 to %d", text, width)
}

// prefixes cuts the lengths of prefixes from the end of what follows a or mx:
//
//	dual-cidr-length = [ ip4-cidr-length ] [ "/" ip6-cidr-length ]
func (p *parser) prefixes(t *Term, s string, at int) (head string, valid bool) {
	valid = true
	head, digits := cutDigits(s)
	if strings.HasSuffix(head, "//") && digits != "" {
		head = strings.TrimSuffix(head, "//")
		n, ok := parseLength(digits, 128)
		if !ok {
			valid = p.badLength(at+len(head)+2, digits, 128)
		}
		t.PrefixV6 = &n
		s = head
		head, digits = cutDigits(s)
	}
	if !strings.HasSuffix(head, "/") || digits == "" || strings.HasSuffix(head, "//") {
		return s, valid
	}
	head = strings.TrimSuffix(head, "/")
	n, ok := parseLength(digits, 32)
	if !ok {
		valid = p.badLength(at+len(head)+1, digits, 32)
	}
	t.PrefixV4 = &n
	return head, valid
}

func cutDigits(s string) (head, digits string) {
	head = strings.TrimRight(s, "0123456789")
	return head, s[len(head):]
}
