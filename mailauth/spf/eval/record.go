package eval

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// An Outcome is the result of an evaluation (RFC 7208 section 2.6).
type Outcome string

// The outcomes.
const (
	None      Outcome = "none"      // there is no record, or no valid domain
	Neutral   Outcome = "neutral"   // the domain says nothing about the host
	Pass      Outcome = "pass"      // the host may send
	Fail      Outcome = "fail"      // it may not
	Softfail  Outcome = "softfail"  // it probably may not
	Temperror Outcome = "temperror" // a name server did not answer
	Permerror Outcome = "permerror" // the records cannot be evaluated
	NeedsDNS  Outcome = "needs_dns" // the outcome of [Record.Decide] where the record alone does not decide
)

// Values lists the outcomes.
func (Outcome) Values() []string {
	return kit.Values(None, Neutral, Pass, Fail, Softfail, Temperror, Permerror, NeedsDNS)
}

// version begins every record (RFC 7208 section 4.5).
const version = "v=spf1"

// IsRecord reports whether a text is a record: it begins with v=spf1 in any letter case, and a blank
// or nothing follows (RFC 7208 section 4.5).
func IsRecord(text string) bool {
	n := len(version)
	return len(text) >= n && strings.EqualFold(text[:n], version) && (len(text) == n || text[n] == ' ')
}

// A Kind distinguishes mechanisms from modifiers.
type Kind string

// The kinds of terms.
const (
	Mechanism Kind = "mechanism" // names hosts
	Modifier  Kind = "modifier"  // adds other information, as name=value
)

// Values lists the kinds.
func (Kind) Values() []string { return kit.Values(Mechanism, Modifier) }

// A Qualifier is the sign before a mechanism, which determines the result of a match.
type Qualifier string

// The qualifiers (RFC 7208 section 4.6.2).
const (
	QualifierPass     Qualifier = "+" // the default
	QualifierFail     Qualifier = "-"
	QualifierSoftfail Qualifier = "~"
	QualifierNeutral  Qualifier = "?"
)

// Values lists the qualifiers.
func (Qualifier) Values() []string {
	return kit.Values(QualifierPass, QualifierFail, QualifierSoftfail, QualifierNeutral)
}

// Outcome returns the result of an evaluation that ends with a match of a mechanism with the qualifier.
func (q Qualifier) Outcome() Outcome {
	switch q {
	case QualifierFail:
		return Fail
	case QualifierSoftfail:
		return Softfail
	case QualifierNeutral:
		return Neutral
	default:
		return Pass
	}
}

// A Name is the name of a mechanism or modifier that RFC 7208 defines, in lower case.
type Name string

// The names of mechanisms, and of the modifiers redirect and exp.
const (
	All      Name = "all"      // section 5.1
	Include  Name = "include"  // section 5.2
	A        Name = "a"        // section 5.3
	MX       Name = "mx"       // section 5.4
	PTR      Name = "ptr"      // section 5.5
	IP4      Name = "ip4"      // section 5.6
	IP6      Name = "ip6"      // section 5.6
	Exists   Name = "exists"   // section 5.7
	Redirect Name = "redirect" // section 6.1
	Exp      Name = "exp"      // section 6.2
)

// IsMechanism reports whether the name is that of a mechanism.
func (n Name) IsMechanism() bool {
	return n == All || n == IP4 || n == IP6 || n.Counted() && n != Redirect
}

// Counted reports whether terms of the name count as DNS lookups (RFC 7208 section 4.6.4).
func (n Name) Counted() bool {
	return slices.Contains([]Name{Include, A, MX, PTR, Exists, Redirect}, n)
}

// A Record is the list of terms of a record.
type Record struct {
	Terms []Term
}

// A Term is a mechanism or a modifier.
type Term struct {
	Offset int    // of the term in the text of the record, in bytes
	Raw    string // as written
	// Valid means that the term has valid syntax. An invalid one holds its readable parts; Kind and Name are empty if
	// its meaning is unknown.
	Valid bool

	Kind      Kind
	Qualifier Qualifier // of a mechanism
	// Name is the mechanism or modifier. It is empty for a modifier that RFC 7208 does not define, whose name is in
	// Unknown: include=example.com is a modifier without meaning (section 6), and must not be mistaken for a
	// mechanism.
	Name    Name
	Unknown string // in lower case
	// Value is a domain name, which may contain macros, or the network of ip4 and ip6, or the value of another
	// modifier; empty if missing. The prefix lengths are not part of it.
	Value   string
	Lengths string       // of prefixes, as written, such as /24//64; empty if missing
	Network netip.Prefix // of ip4 and ip6, with the address as written

	spec           macros // of Value, if it has a percent sign and may contain macros
	short4, short6 uint8  // bits by which the networks around addresses are shorter than the addresses
}

// String prints the record in its canonical form: terms are separated by one blank, names are in lower case, and
// there is no + sign. Invalid terms are printed as written.
func (r *Record) String() string {
	var b strings.Builder
	b.WriteString(version)
	for i := range r.Terms {
		b.WriteString(" " + r.Terms[i].String())
	}
	return b.String()
}

// String prints the term in its canonical form.
func (t *Term) String() string {
	switch {
	case t.Kind == "" || !t.Valid && t.Raw != "":
		return t.Raw
	case t.Kind == Modifier:
		return string(t.Name) + t.Unknown + "=" + t.Value
	}
	text := string(t.Name)
	if t.Qualifier != QualifierPass {
		text = string(t.Qualifier) + text
	}
	if t.Value != "" {
		text += ":" + t.Value
	}
	return text + t.Lengths
}

// Find returns the first valid term of a name, or nil.
func (r *Record) Find(name Name) *Term {
	for i := range r.Terms {
		if t := &r.Terms[i]; t.Name == name && t.Valid {
			return t
		}
	}
	return nil
}

// Cost returns how many DNS lookups the term itself counts (RFC 7208 section 4.6.4), including the lookup of the
// client's host names that the macro p needs.
func (t *Term) Cost() int {
	switch {
	case !t.Name.Counted():
		return 0
	case t.Uses("p"):
		return 2
	default:
		return 1
	}
}

// Uses reports whether one of the letters, in lower case, is among the macros of the term.
func (t *Term) Uses(letters string) bool {
	for i := range t.spec {
		if c := t.spec[i].letter; c != 0 && strings.IndexByte(letters, c) >= 0 {
			return true
		}
	}
	return false
}

// Prefixes returns the explicit prefix lengths for IPv4 and IPv6; nil if missing.
func (t *Term) Prefixes() (v4, v6 *int) {
	first, second, both := strings.Cut(t.Lengths, "//")
	if v4 = new(32 - int(t.short4)); first == "" || t.Name == IP6 {
		v4 = nil
	}
	if v6 = new(128 - int(t.short6)); !both && t.Name != IP6 || first+second == "" {
		v6 = nil
	}
	return v4, v6
}

// Around returns the network that a or mx forms around an address of a host.
func (t *Term) Around(ip netip.Addr) netip.Prefix {
	if ip.Is4() {
		return netip.PrefixFrom(ip, 32-int(t.short4)).Masked()
	}
	return netip.PrefixFrom(ip, 128-int(t.short6)).Masked()
}

// Expand returns the target name of a term in the record of a domain, cut to the length that the DNS allows and
// without its final dot: the domain itself if the term has no value, else the value with its macros expanded.
func (t *Term) Expand(domain string, value func(letter byte) string) string {
	switch {
	case t.Value == "":
		return domain
	case t.spec == nil:
		return truncateName(t.Value)
	default:
		return truncateName(t.spec.expand(value))
	}
}

// FixedEnd returns the whole labels behind the last macro of a term whose letter is in varying, with the other macros
// expanded: every possible target name of the term ends in them. It is empty without such labels.
func (t *Term) FixedEnd(varying string, value func(letter byte) string) string {
	begin := 0
	for i := range t.spec {
		if c := t.spec[i].letter; c != 0 && strings.IndexByte(varying, c) >= 0 {
			begin = i + 1
		}
	}
	_, end, _ := strings.Cut(t.spec[begin:].expand(value), ".")
	return strings.TrimSuffix(end, ".")
}

// Bind returns a term of the record of a domain in a form that has the same meaning in any other record: the domain
// replaces the macro d, and is written out where it is the default (RFC 7208 section 4.8). The macro p cannot be
// bound, because the host name that it expands to depends on the domain of the record (section 7.3).
func (t *Term) Bind(domain string) Term {
	bound := *t
	switch {
	case t.Value == "" && (t.Name == A || t.Name == MX || t.Name == PTR):
		bound.Value = withoutMacros(domain)
	case t.Uses("d"):
		bound.Value = bind(t.Value, domain)
	default:
		return bound
	}
	bound.spec, _ = parseMacros(bound.Value, false)
	bound.Raw = bound.String()
	return bound
}

// bind replaces the macro d in a macro-string without errors; the rest is left as written.
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
			b.WriteString(withoutMacros(string(m.appendTo(nil, domain))))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func withoutMacros(s string) string { return strings.NewReplacer("%", "%%", " ", "%_").Replace(s) }
