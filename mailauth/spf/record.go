package spf

import (
	"net/netip"
	"strconv"
	"strings"
)

// version begins every record (RFC 7208 section 4.5).
const version = "v=spf1"

// A Kind tells mechanisms from modifiers.
type Kind string

// The kinds of terms.
const (
	Mechanism Kind = "mechanism" // names hosts
	Modifier  Kind = "modifier"  // says something else, as name=value
)

// Values lists the kinds.
func (Kind) Values() []string { return []string{string(Mechanism), string(Modifier)} }

// A Qualifier is the sign before a mechanism, which says what follows if it matches.
type Qualifier string

// The qualifiers (RFC 7208 section 4.6.2).
const (
	QualifierPass     Qualifier = "+" // also meant where there is none
	QualifierFail     Qualifier = "-"
	qualifierSoftfail Qualifier = "~"
	qualifierNeutral  Qualifier = "?"
)

// Values lists the qualifiers.
func (Qualifier) Values() []string {
	return []string{string(QualifierPass), string(QualifierFail), string(qualifierSoftfail), string(qualifierNeutral)}
}

// Outcome is the result of an evaluation that ends with a match of a mechanism with the qualifier.
func (q Qualifier) Outcome() Outcome {
	switch q {
	case QualifierFail:
		return Fail
	case qualifierSoftfail:
		return Softfail
	case qualifierNeutral:
		return Neutral
	default:
		return Pass
	}
}

// A Name is the name of a mechanism or modifier that RFC 7208 knows, in lower case.
type Name string

// The names of mechanisms, and of the modifiers redirect and exp.
const (
	All      Name = "all"      // section 5.1
	Include  Name = "include"  // section 5.2
	a        Name = "a"        // section 5.3
	MX       Name = "mx"       // section 5.4
	PTR      Name = "ptr"      // section 5.5
	ip4      Name = "ip4"      // section 5.6
	ip6      Name = "ip6"      // section 5.6
	Exists   Name = "exists"   // section 5.7
	Redirect Name = "redirect" // section 6.1
	Exp      Name = "exp"      // section 6.2
)

// mechanisms lists the names of mechanisms.
var mechanisms = []Name{All, Include, a, MX, PTR, ip4, ip6, Exists}

// Counted reports whether terms of the name count as DNS lookups (RFC 7208 section 4.6.4).
func (n Name) Counted() bool {
	switch n {
	case Include, a, MX, PTR, Exists, Redirect:
		return true
	default:
		return false
	}
}

// cost is what the term itself counts (RFC 7208 section 4.6.4): the lookup of the host names of the
// client, which the macro p needs, counts too.
func (t *Term) cost() int {
	switch {
	case !t.Name.Counted():
		return 0
	case t.spec.uses("p"):
		return 2
	default:
		return 1
	}
}

// A Record is the list of terms of a record.
type Record struct {
	Terms []Term
}

// A Term is a mechanism or a modifier.
type Term struct {
	Offset int    // of the term in the text of the record, in bytes
	Raw    string // as it was written
	// Valid says that the term keeps to the syntax. Of one that does not, what could be read is filled
	// in; Kind and Name are empty if it is not known what it was meant to be.
	Valid bool

	Kind      Kind
	Qualifier Qualifier // of a mechanism
	// Name tells which mechanism or modifier it is. It is empty for a modifier that RFC 7208 does not
	// know, whose name is in Unknown: include=example.com is a modifier that means nothing (section 6),
	// and must not be taken for a mechanism.
	Name    Name
	Unknown string // in lower case
	// Value is the name of a domain, which may hold macros, or the network of ip4 and ip6, or the value
	// of another modifier; empty if there is none. The lengths of prefixes are not part of it.
	Value string

	PrefixV4 *int         // length that was written for IPv4; nil if none
	PrefixV6 *int         // likewise for IPv6
	Network  netip.Prefix // of ip4 and ip6, with the address as it was written

	spec macros // of Value, if that may hold macros
}

// String prints the record in its canonical form: terms are separated by one blank, names are in lower
// case, and there is no + sign. Terms that are not valid are printed as they were written.
func (r *Record) String() string {
	var b strings.Builder
	b.WriteString(version)
	for i := range r.Terms {
		b.WriteByte(' ')
		r.Terms[i].print(&b)
	}
	return b.String()
}

// String prints the term in its canonical form.
func (t *Term) String() string {
	var b strings.Builder
	t.print(&b)
	return b.String()
}

func (t *Term) print(b *strings.Builder) {
	switch {
	case t.Kind == "" || !t.Valid && t.Raw != "":
		b.WriteString(t.Raw)
	case t.Kind == Modifier:
		b.WriteString(string(t.Name) + t.Unknown + "=" + t.Value)
	default:
		if t.Qualifier != QualifierPass {
			b.WriteString(string(t.Qualifier))
		}
		b.WriteString(string(t.Name))
		if t.Value != "" {
			b.WriteString(":" + t.Value)
		}
		if t.PrefixV4 != nil {
			b.WriteString("/" + strconv.Itoa(*t.PrefixV4))
		}
		if t.PrefixV6 != nil {
			if t.Name != ip6 {
				b.WriteByte('/')
			}
			b.WriteString("/" + strconv.Itoa(*t.PrefixV6))
		}
	}
}

// find returns the first valid term of a name, or nil.
func (r *Record) find(name Name) *Term {
	for i := range r.Terms {
		if t := &r.Terms[i]; t.Name == name && t.Valid {
			return t
		}
	}
	return nil
}

// widths returns the lengths of prefix that the term applies to addresses of each family.
func (t *Term) widths() (v4, v6 int) {
	v4, v6 = 32, 128
	if t.PrefixV4 != nil {
		v4 = *t.PrefixV4
	}
	if t.PrefixV6 != nil {
		v6 = *t.PrefixV6
	}
	return v4, v6
}

// around returns the network that the term makes of an address of a host.
func (t *Term) around(ip netip.Addr) netip.Prefix {
	v4, v6 := t.widths()
	if ip.Is4() {
		return netip.PrefixFrom(ip, v4).Masked()
	}
	return netip.PrefixFrom(ip, v6).Masked()
}
