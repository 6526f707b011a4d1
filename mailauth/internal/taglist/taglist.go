package taglist

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A Format describes the records of one protocol.
type Format struct {
	Protocol string // its name, such as "MTA-STS"
	Version  string // the value of the tag v, such as "STSv1"
	Readers  string // the readers of the records: "Senders" or "Receivers"
	Tags     []Definition
	// Fields means that the record has fields as in RFC 8460 section 3 and RFC 8461 section 3.1, not tags as in RFC
	// 6376 section 3.2: names of up to 32 characters with hyphens and dots, no white space around the equals sign, no
	// empty values, and a repeated field is ignored. White space behind the last value is accepted, although the
	// syntax has none: readers trim it.
	Fields bool
	// FoldNames means that the letter case of names does not matter, as in the ABNF of DMARC (RFC 5234 section
	// 2.3).
	FoldNames bool
	// Mark is a tag that identifies a record without the tag v, such as p for DKIM (RFC 6376 section
	// 3.6.1); empty if the version must come first.
	Mark string
}

// A Definition is a tag that a protocol defines.
type Definition struct {
	Name        string
	Default     string // the value if the tag is missing; may be empty
	Description string
}

// A Tag is one name=value of a record. Offsets are in bytes of the record.
type Tag struct {
	Name           string // as written
	Value          string // as written, without the white space around it
	Offset, Length int    // of the tag, without the white space around it
	ValueOffset    int
	Repeated       bool // an earlier tag has the same name
}

// A Kind is the subject of a fault. Protocols have kinds of their own for the values of their tags.
type Kind string

// The kinds of faults of the syntax.
const (
	Empty            Kind = "empty"     // nothing between two semicolons
	NoEquals         Kind = "equals"    // no equals sign
	BadName          Kind = "name"      // not a name
	BadValue         Kind = "value"     // a character that is not allowed in a value
	blank            Kind = "blank"     // white space where the format allows none
	MissingSemicolon Kind = "semicolon" // no semicolon between two tags
	Misplaced        Kind = "version"   // the record does not begin with its version
	Repeated         Kind = "repeated"  // an earlier tag has the same name
	Unknown          Kind = "unknown"   // the protocol does not define the tag
)

// syntax lists the kinds that concern the form of the text.
var syntax = []Kind{Empty, NoEquals, BadName, BadValue, blank, MissingSemicolon, Misplaced}

// A Fault is a departure from the syntax.
type Fault struct {
	Kind           Kind
	Text           string // a clause that can be understood alone
	Offset, Length int    // in bytes of the record
	Harmless       bool   // the record is valid anyway
}

// A List is a record, parsed as far as possible.
type List struct {
	Text   string
	Tags   []Tag // those that have a name, in order, including repeated and unknown ones
	Faults []Fault

	format Format
}

// maxFaults bounds the faults of a record. Beyond it only the first of each kind is kept, so that no fault hides
// another.
const maxFaults = 200

// Add adds a fault, including one that a protocol finds in the value of a tag.
func (l *List) Add(f Fault) {
	same := func(old Fault) bool { return old.Kind == f.Kind && old.Harmless == f.Harmless }
	if len(l.Faults) < maxFaults || !slices.ContainsFunc(l.Faults, same) {
		l.Faults = append(l.Faults, f)
	}
}

func (l *List) fault(k Kind, offset, length int, format string, args ...any) {
	harmless := k == Unknown || k == Repeated && l.format.Fields
	l.Add(Fault{k, fmt.Sprintf(format, args...), offset, length, harmless})
}

// Errors lists the texts of the faults that make the record invalid.
func (l *List) Errors() []string {
	var texts []string
	for _, f := range l.Faults {
		if !f.Harmless {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// Tag returns the first tag of a name.
func (l *List) Tag(name string) (Tag, bool) {
	for _, t := range l.Tags {
		if l.format.same(t.Name, name) {
			return t, true
		}
	}
	return Tag{}, false
}

// Extensions returns the tags that the protocol does not define, each once.
func (l *List) Extensions() []Tag {
	var list []Tag
	for _, t := range l.Tags {
		if _, known := l.format.definition(t.Name); !known && !t.Repeated {
			list = append(list, t)
		}
	}
	return list
}

// String prints the tags, with a semicolon and a space between them.
func (l *List) String() string {
	return strings.Join(kit.Map(l.Tags, func(t Tag) string { return t.Name + "=" + t.Value }), "; ")
}

// Parse reads a record and collects all faults.
func (f Format) Parse(text string) List {
	l := List{Text: text, format: f}
	seen, offset := map[string]bool{}, 0
	specs := strings.Split(text, ";")
	for i, spec := range specs {
		l.tag(spec, offset, i == len(specs)-1, seen)
		offset += len(spec) + 1
	}
	if first, _, _ := strings.Cut(text, ";"); !f.begins(first) && (f.Mark == "" || seen["v"]) {
		l.fault(Misplaced, 0, len(first), "the record does not begin with v=%s", f.Version)
	}
	return l
}

// white returns the white space allowed around tags: FWS of RFC 6376 section 2.8, or WSP.
func (f Format) white() string {
	if f.Fields {
		return " \t"
	}
	return " \t\r\n"
}

func (f Format) noun() string {
	if f.Fields {
		return "field"
	}
	return "tag"
}

func (f Format) same(a, b string) bool { return a == b || f.FoldNames && strings.EqualFold(a, b) }

func (f Format) definition(name string) (Definition, bool) {
	i := slices.IndexFunc(f.Tags, func(d Definition) bool { return f.same(d.Name, name) })
	if i < 0 {
		return Definition{}, false
	}
	return f.Tags[i], true
}

func (l *List) tag(raw string, offset int, last bool, seen map[string]bool) {
	f, white := l.format, l.format.white()
	spec := strings.Trim(raw, white)
	offset += strings.Index(raw, spec)
	name, value, ok := strings.Cut(spec, "=")
	switch {
	case spec == "" && last:
		return
	case spec == "":
		l.fault(Empty, offset+len(raw), 1, "there is nothing before a semicolon")
		return
	case !ok:
		l.fault(NoEquals, offset, len(spec), "%q has no equals sign", phrase.Quote(spec))
		return
	}
	t := Tag{Name: strings.TrimRight(name, white), Value: strings.TrimLeft(value, white)}
	t.Offset, t.Length = offset, len(spec)
	t.ValueOffset = offset + len(spec) - len(t.Value)
	if equals := offset + len(t.Name); f.Fields && t.ValueOffset-equals > 1 {
		l.fault(blank, equals, t.ValueOffset-equals, "there is white space at the equals sign of %s", phrase.Quote(t.Name))
	}
	if !f.ValidName(t.Name) {
		l.fault(BadName, offset, len(t.Name), "%q cannot be the name of a %s", phrase.Quote(t.Name), f.noun())
		return
	}
	key := t.Name
	if f.FoldNames {
		key = strings.ToLower(key)
	}
	t.Repeated, seen[key] = seen[key], true
	l.Tags = append(l.Tags, t)
	l.check(t)
}

func (l *List) check(t Tag) {
	f := l.format
	if t.Repeated { // RFC 6376 section 3.2: must not occur
		l.fault(Repeated, t.Offset, t.Length, "the %s %s appears again", f.noun(), t.Name)
		if f.Fields {
			return
		}
	}
	_, known := f.definition(t.Name)
	if !known {
		meant, names := "", kit.Map(f.Tags, func(d Definition) string { return d.Name })
		if d := phrase.Nearest(t.Name, names...); strings.EqualFold(d, t.Name) {
			meant = fmt.Sprintf("; it is written %q", d)
		} else if d != "" {
			meant = fmt.Sprintf("; %q may be meant", d)
		}
		l.fault(Unknown, t.Offset, t.Length, "%s is not a %s of %s%s", t.Name, f.noun(), f.Protocol, meant)
	}
	if at, n := f.badCharacter(t.Value, known); n > 0 {
		l.fault(BadValue, t.ValueOffset+at, n, "the value of %s has the character %s", t.Name, character(t.Value[at:]))
	} else if t.Value == "" && f.Fields && !known {
		l.fault(BadValue, t.Offset, t.Length, "%s has no value", t.Name)
	}
	if at, next := f.nextTag(t.Value); at > 0 {
		l.fault(MissingSemicolon, t.ValueOffset+at, len(next), "there is no semicolon between %s and %s", t.Name, next)
	}
}

// ValidName reports whether s is a tag-name (RFC 6376 section 3.2), or sts-ext-name (RFC 8461 section 3.1).
func (f Format) ValidName(s string) bool {
	for i := range len(s) {
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		digit := '0' <= s[i] && s[i] <= '9'
		switch {
		case letter, digit && (f.Fields || i > 0), s[i] == '_' && i > 0:
		case f.Fields && i > 0 && (s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return s != "" && (!f.Fields || len(s) <= 32)
}

// badCharacter finds the first character that is not allowed in a value; n is 0 if all are allowed. Values of fields
// that the protocol defines have a syntax of their own.
func (f Format) badCharacter(value string, known bool) (at, n int) {
	if f.Fields && known {
		return 0, 0
	}
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c > 0x20 && c < 0x7f && (c != '=' || !f.Fields):
		case !f.Fields && (c == ' ' || c == '\t'):
		case !f.Fields && (strings.HasPrefix(value[i:], "\r\n ") || strings.HasPrefix(value[i:], "\r\n\t")):
			i++ // folded (RFC 6376 section 2.8)
		default:
			_, n := utf8.DecodeRuneInString(value[i:])
			return i, n
		}
	}
	return 0, 0
}

// Quotes are the quotation marks that end up in records: those of zone files and shells, and those of word
// processors.
const Quotes = "\"'`\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb"

func character(s string) string {
	switch r, _ := utf8.DecodeRuneInString(s); {
	case r == utf8.RuneError:
		return fmt.Sprintf("0x%X", s[0])
	case strings.ContainsRune(Quotes, r):
		return string(r) + " (a quotation mark)"
	case unicode.IsGraphic(r) && !unicode.IsSpace(r):
		return fmt.Sprintf("%q (%U)", string(r), r)
	default:
		return fmt.Sprintf("%U", r)
	}
}

// nextTag finds a tag of the protocol inside a value, after white space or a comma: where a semicolon is missing. The
// end of a key in base64 (p= or t==) is not a tag.
func (f Format) nextTag(value string) (at int, name string) {
	for i := 1; i < len(value); i++ {
		if strings.IndexByte(" \t,", value[i-1]) >= 0 {
			if name, ok := f.startsTag(value[i:]); ok {
				return i, name
			}
		}
	}
	return 0, ""
}

// startsTag reports whether a text begins with a tag that the protocol defines, and returns its name.
func (f Format) startsTag(text string) (name string, ok bool) {
	name, value, ok := strings.Cut(text[:min(len(text), 64)], "=")
	name = strings.TrimRight(name, f.white())
	_, known := f.definition(name)
	return name, ok && known && value != "" && value[0] != '=' && value[0] != ';'
}
