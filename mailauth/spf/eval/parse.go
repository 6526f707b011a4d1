package eval

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of parsing.
const (
	// MaxRecordLength bounds the part of a record that is read, in bytes. Records that reach receivers reliably are
	// shorter than 512 (RFC 7208 section 3.4), and CONTRACT 3.3.1 accepts no more than this.
	MaxRecordLength = 8192
	// maxFaults bounds the errors that are collected: more help no one to fix a record.
	maxFaults = 500
)

// A SyntaxKind is the part of the syntax that was violated.
type SyntaxKind string

// The kinds of errors.
const (
	BadVersion      SyntaxKind = "version"       // it does not begin with v=spf1
	BadLength       SyntaxKind = "length"        // it is too long to be read
	BadCharacter    SyntaxKind = "character"     // a character that is not allowed in a record
	BadQualifier    SyntaxKind = "qualifier"     // signs that are alone, doubled, or before a modifier
	BadMechanism    SyntaxKind = "mechanism"     // there is no such mechanism
	BadModifier     SyntaxKind = "modifier"      // not a valid modifier name
	ColonModifier   SyntaxKind = "colon"         // a modifier is written with a colon
	GluedTerms      SyntaxKind = "glued"         // no blank before all
	ValueMissing    SyntaxKind = "value missing" // the mechanism or modifier needs a value
	ValueUnexpected SyntaxKind = "value"         // the mechanism has no value, or no length of prefix
	BadIP4          SyntaxKind = "ip4"           // not an IPv4 address
	BadIP6          SyntaxKind = "ip6"           // not an IPv6 address
	WrongFamily     SyntaxKind = "family"        // IPv6 in ip4, or IPv4 in ip6
	MacroInNetwork  SyntaxKind = "network macro" // ip4 and ip6 have no macros
	BadPrefix       SyntaxKind = "prefix"        // the length of a prefix
	BadDomain       SyntaxKind = "domain"        // not a domain name
	BadMacro        SyntaxKind = "macro"         // a macro
	RepeatedTerm    SyntaxKind = "repeated"      // redirect or exp appears twice
)

// A SyntaxError is a departure from the syntax of RFC 7208 section 12. One of them, anywhere, makes
// receivers end in permerror (section 4.6).
type SyntaxError struct {
	Kind   SyntaxKind
	Offset int    // in the text, in bytes
	Length int    // in bytes
	Text   string // the fault
	// Begin and End delimit the term that contains the error.
	Begin, End int
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parsing the SPF record at byte %d: %s", e.Offset, e.Text)
}

// Parse reads the text of a record, and reports all errors in it, in order; it reports no errors if and only if the
// record is valid. The record has all terms, including invalid ones.
func Parse(text string) (*Record, []SyntaxError) {
	p := parser{record: &Record{}}
	rest := text
	if len(text) > MaxRecordLength {
		p.here(BadLength, MaxRecordLength, len(text)-MaxRecordLength,
			"the record has %d bytes; no more than %d are read", len(text), MaxRecordLength)
		rest = text[:MaxRecordLength]
		rest = rest[:max(strings.LastIndexByte(rest, ' '), len(version))] // up to the last whole term
	}
	begin := len(version)
	if !IsRecord(text) {
		begin = len(rest) - len(strings.TrimLeft(rest, " "))
		if begin += strings.IndexByte(rest[begin:]+" ", ' '); begin > len(rest) {
			begin = len(rest)
		}
		p.raw = rest[:begin]
		p.here(BadVersion, 0, begin, "the text does not begin with v=spf1 and a blank")
	}
	p.record.Terms = make([]Term, 0, strings.Count(rest[begin:], " ")) // each follows a blank
	for i := begin; i < len(rest); {
		if rest[i] == ' ' {
			i++
			continue
		}
		end := i + 1
		for end < len(rest) && rest[end] != ' ' {
			end++
		}
		p.term(rest[i:end], i)
		i = end
	}
	return p.record, p.faults
}

type parser struct {
	record *Record
	faults []SyntaxError
	raw    string // the current term
	offset int    // of that
}

// here records an error in the current term, at an offset of the term.
func (p *parser) here(k SyntaxKind, offset, length int, format string, args ...any) bool {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, SyntaxError{
			Kind: k, Offset: p.offset + offset, Length: length, Text: fmt.Sprintf(format, args...), Begin: p.offset,
			End: p.offset + len(p.raw),
		})
	}
	return false
}

func (p *parser) term(raw string, offset int) {
	p.raw, p.offset = raw, offset
	p.record.Terms = append(p.record.Terms, Term{Raw: raw, Offset: offset})
	t := &p.record.Terms[len(p.record.Terms)-1]
	end := len(raw) // of the name
	for i := range len(raw) {
		switch c := raw[i]; {
		case c < 0x21 || c > 0x7e:
			r, n := utf8.DecodeRuneInString(raw[i:])
			p.here(BadCharacter, i, n, "the character %s is not allowed in a record", quoteRune(r, c))
			return
		case end == len(raw) && (c == ':' || c == '/' || c == '='):
			end = i
		}
	}
	name := raw[:end]
	if strings.IndexByte("+-~?", raw[0]) >= 0 {
		t.Qualifier, name = Qualifier(raw[:1]), raw[1:max(1, end)]
	}
	if end < len(raw) && raw[end] == '=' {
		t.Valid = p.modifier(t, name, end+1)
	} else {
		t.Valid = p.mechanism(t, name, end)
	}
}

// quoteRune names a character that is not ASCII or is invisible, or a byte that is not a character.
func quoteRune(r rune, first byte) string {
	switch {
	case r == utf8.RuneError:
		return fmt.Sprintf("0x%X", first)
	case unicode.IsGraphic(r) && r != '\u00a0':
		return fmt.Sprintf("%q (%U)", string(r), r)
	default:
		return fmt.Sprintf("%U", r)
	}
}

// modifier reads name=value; the value begins at an offset of the term.
func (p *parser) modifier(t *Term, name string, at int) bool {
	if t.Qualifier != "" {
		return p.here(BadQualifier, 0, 1, "the modifier %.60q has a sign before it", name)
	}
	if !validModifier(name) {
		return p.here(BadModifier, 0, len(name), "%.60q cannot be the name of a modifier", name)
	}
	known := Name(strings.ToLower(name))
	t.Kind, t.Value = Modifier, t.Raw[at:]
	if known != Redirect && known != Exp {
		t.Unknown = string(known)
		if _, fault := parseMacros(t.Value, false); fault.text != "" {
			return p.here(BadMacro, at+fault.offset, fault.length, "%s", fault.text)
		}
		return true
	}
	valid := !p.glued(t) && p.domainSpec(t, known, at)
	for i := range p.record.Terms { // RFC 7208 section 6: at most once
		if p.record.Terms[i].Name == known {
			valid = p.here(RepeatedTerm, 0, len(t.Raw), "%s= appears again", known)
			break
		}
	}
	t.Name = known
	return valid
}

func validModifier(s string) bool {
	for i := range len(s) {
		if !isAlpha(s[i]) && (i == 0 || !isAlphanumeric(s[i]) && strings.IndexByte("-_.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// mechanism reads a mechanism; its name, which ends at an offset of the term, may be followed by a colon and a value,
// and a slash.
func (p *parser) mechanism(t *Term, name string, at int) bool {
	if p.glued(t) {
		return false
	}
	value := t.Raw[at:]
	if t.Name = Name(strings.ToLower(name)); !t.Name.IsMechanism() {
		t.Name = ""
		return p.unknown(t, name, value)
	}
	t.Kind = Mechanism
	if t.Qualifier == "" {
		t.Qualifier = QualifierPass
	}
	if t.Name == All && value != "" {
		return p.here(ValueUnexpected, at, len(value), "all has neither a value nor a length")
	}
	value, colon := strings.CutPrefix(value, ":")
	if colon {
		at++
	}
	switch t.Name {
	case Include, Exists, IP4, IP6:
		if !colon {
			return p.here(ValueMissing, 0, len(t.Raw), "%s needs a colon and a value", t.Name)
		}
	}
	switch t.Name {
	case IP4, IP6:
		return p.network(t, value, at)
	case A, MX:
		valid := false
		if t.Value, valid = p.prefixes(t, value, at); !valid {
			return false
		}
	default:
		t.Value = value
	}
	switch {
	case colon:
		return p.domainSpec(t, t.Name, at)
	case t.Value != "" && t.Name == PTR:
		return p.here(ValueUnexpected, at, len(t.Value), "ptr has no length of prefix")
	case t.Value != "":
		return p.here(BadPrefix, at, len(t.Value), "%.60q is not the length of a prefix", t.Value)
	default:
		return true
	}
}

func (p *parser) unknown(t *Term, name, value string) bool {
	switch modifier := strings.ToLower(name); {
	case name == "" && value == "":
		return p.here(BadQualifier, 0, len(t.Raw), "the qualifier %q is alone", t.Raw)
	case strings.IndexByte("+-~?", (name + value)[0]) >= 0:
		return p.here(BadQualifier, 0, 2, "there are two qualifiers")
	case strings.HasPrefix(value, ":") && (modifier == string(Redirect) || modifier == string(Exp)):
		return p.here(ColonModifier, 0, len(t.Raw), "%s is written with an equals sign", modifier)
	default:
		return p.here(BadMechanism, 0, len(t.Raw), "there is no mechanism %.60q", name)
	}
}

// glued records a term that is joined to the following all, such as ip4:192.0.2.1~all. With a hyphen it may be a
// name.
func (p *parser) glued(t *Term) bool {
	head, ok := CutAll(t.Raw)
	if !ok || strings.Trim(head, "+-~?") == "" || strings.HasSuffix(head, ":") || strings.HasSuffix(head, "=") {
		return false
	}
	if t.Raw[len(head)] == '-' {
		bare := strings.ToLower(strings.TrimLeft(head, "+-~?"))
		if !strings.HasPrefix(bare, "ip4:") && !strings.HasPrefix(bare, "ip6:") && !Name(bare).IsMechanism() {
			return false
		}
	}
	p.here(GluedTerms, len(head), len(t.Raw)-len(head), "a space is missing before %s", t.Raw[len(head):])
	return true
}

// CutAll cuts all with its qualifier from the end of a term that lacks a space before it: mx from mx-all.
func CutAll(raw string) (head string, ok bool) {
	n := len(raw) - len("-all")
	if n < 1 || !strings.EqualFold(raw[n+1:], "all") || strings.IndexByte("+-~?", raw[n]) < 0 {
		return "", false
	}
	return raw[:n], true
}

func (p *parser) network(t *Term, value string, at int) bool {
	kind, family, width := BadIP4, 4, 32
	if t.Name == IP6 {
		kind, family, width = BadIP6, 6, 128
	}
	text, length, slash := strings.Cut(value, "/")
	t.Value = text
	if text == "" {
		return p.here(ValueMissing, 0, len(t.Raw), "%s needs an address", t.Name)
	}
	if i := strings.IndexByte(value, '%'); i >= 0 {
		return p.here(MacroInNetwork, at+i, len(value)-i, "%s takes no macros", t.Name)
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return p.here(kind, at, len(text), "%.60q is not an IPv%d address", text, family)
	case address.BitLen() != width:
		return p.here(WrongFamily, at, len(text), "%s is an IPv%d address, but is used with %s", text, 10-family, t.Name)
	}
	bits := width
	if slash {
		ok := false
		if bits, ok = parseLength(length, width); !ok {
			return p.badLength(at+len(text)+1, length, width)
		}
		if t.Lengths = value[len(text):]; family == 4 {
			t.short4 = uint8(width - bits)
		} else {
			t.short6 = uint8(width - bits)
		}
	}
	t.Network = netip.PrefixFrom(address, bits)
	return true
}

// parseLength reads the length of a prefix, which has no leading zeros (RFC 7208 section 12).
func parseLength(s string, width int) (n int, ok bool) {
	if s == "" || len(s) > 3 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n <= width
}

func (p *parser) badLength(at int, text string, width int) bool {
	return p.here(BadPrefix, at, len(text), "%.20q is not a length from 0 to %d", text, width)
}

// prefixes cuts the prefix lengths from the end of the text that follows a or mx:
//
//	dual-cidr-length = [ ip4-cidr-length ] [ "/" ip6-cidr-length ]
func (p *parser) prefixes(t *Term, s string, at int) (head string, valid bool) {
	valid, all := true, s
	head, digits := cutDigits(s)
	if strings.HasSuffix(head, "//") && digits != "" {
		s = head[:len(head)-2]
		if n, ok := parseLength(digits, 128); ok {
			t.short6 = uint8(128 - n)
		} else {
			valid = p.badLength(at+len(s)+2, digits, 128)
		}
		head, digits = cutDigits(s)
	}
	if strings.HasSuffix(head, "/") && !strings.HasSuffix(head, "//") && digits != "" {
		s = head[:len(head)-1]
		if n, ok := parseLength(digits, 32); ok {
			t.short4 = uint8(32 - n)
		} else {
			valid = p.badLength(at+len(s)+1, digits, 32)
		}
	}
	if valid {
		t.Lengths = all[len(s):]
	}
	return s, valid
}

func cutDigits(s string) (head, digits string) {
	head = strings.TrimRight(s, "0123456789")
	return head, s[len(head):]
}

// domainSpec parses the value of a term, which begins at an offset of it, as a domain name:
//
//	domain-spec = macro-string domain-end
//	domain-end  = ( "." toplabel [ "." ] ) / macro-expand
func (p *parser) domainSpec(t *Term, name Name, at int) bool {
	if t.Value == "" {
		return p.here(ValueMissing, 0, len(t.Raw), "%s needs the name of a domain", name)
	}
	last := t.Value // the text behind the last macro; names without macros need no list of them
	if strings.IndexByte(t.Value, '%') >= 0 {
		m, fault := parseMacros(t.Value, false)
		if fault.text != "" {
			return p.here(BadMacro, at+fault.offset, fault.length, "%s", fault.text)
		}
		t.spec, last = m, m[len(m)-1].text
		if end := &m[len(m)-1]; end.letter != 0 || end.quoted {
			return true
		}
	}
	last = strings.TrimSuffix(last, ".")
	i := strings.LastIndexByte(last, '.')
	fault := "it has no dot before its last label"
	if i >= 0 {
		fault = topLabel(last[i+1:])
	}
	if fault != "" {
		t.spec = nil
		return p.here(BadDomain, at, len(t.Value), "%.100q is not the name of a domain: %s", t.Value, fault)
	}
	return true
}
