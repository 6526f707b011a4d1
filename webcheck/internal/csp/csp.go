package csp

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

// The limits of reading. A real policy is a few kilobytes long.
const (
	MaxPolicies   = 32
	MaxDirectives = 100
	MaxSources    = 2000 // of a directive
)

// A Policy is a Content-Security-Policy as it was written.
type Policy struct {
	Directives []Directive
	Faults     []Fault
	Meta       bool // is in a meta element, where some directives have no effect
}

// A Directive is a name and its values.
type Directive struct {
	Name   string // in lower case
	Values []string
	Offset int // of the name in the text
	Length int // of the directive
}

// A Kind says what is wrong with a policy.
type Kind string

const (
	DuplicateDirective  Kind = "duplicate_directive"  // browsers use the first
	UnknownDirective    Kind = "unknown_directive"    // ignored
	DeprecatedDirective Kind = "deprecated_directive" // was taken out of the specification
	MetaDirective       Kind = "meta_directive"       // ignored in a meta element
	MissingSemicolon    Kind = "missing_semicolon"    // the name of a directive is among the values of another
	MissingQuotes       Kind = "missing_quotes"       // a keyword or scheme is written as a host
	InvalidSource       Kind = "invalid_source"       // ignored
	WildcardPath        Kind = "wildcard_path"        // * in a path is literal
	InvalidValue        Kind = "invalid_value"        // of a directive that lists words of its own; ignored
	NoneWithOthers      Kind = "none_with_others"     // 'none' is ignored beside other sources
	MissingValue        Kind = "missing_value"        // a directive that needs a value has none
	TooLong             Kind = "too_long"             // there is more than is read
)

// A Fault is something that browsers ignore or understand differently from what was meant.
type Fault struct {
	Kind           Kind
	Directive      string
	Value          string // empty if it is about the directive itself
	Correct        string // what was probably meant in its place; empty if not known
	Offset, Length int
}

// ParseList reads the value of a header field, which may hold several policies. Policies without a directive
// are left out; of more than [MaxPolicies] the last that is read has a fault that says so.
func ParseList(value string) []Policy {
	var list []Policy
	offset := 0
	for text := range strings.SplitSeq(value, ",") { // section 2.2.2
		if len(list) == MaxPolicies {
			last := &list[MaxPolicies-1]
			last.Faults = append(last.Faults, Fault{Kind: TooLong, Offset: offset, Length: len(value) - offset})
			break
		}
		p := Parse(text)
		for i := range p.Directives {
			p.Directives[i].Offset += offset
		}
		for i := range p.Faults {
			p.Faults[i].Offset += offset
		}
		if len(p.Directives) > 0 {
			list = append(list, p)
		}
		offset += len(text) + 1
	}
	return list
}

// Parse reads one policy (section 2.2.1).
func Parse(text string) Policy {
	var p Policy
	offset := 0
	for token := range strings.SplitSeq(text, ";") {
		trimmed := strings.TrimLeft(token, space)
		start := offset + len(token) - len(trimmed)
		trimmed = strings.TrimRight(trimmed, space)
		offset += len(token) + 1
		if trimmed == "" {
			continue
		}
		if len(p.Directives) == MaxDirectives {
			p.Faults = append(p.Faults, Fault{Kind: TooLong, Offset: start, Length: len(trimmed)})
			break
		}
		p.add(trimmed, start)
	}
	return p
}

// space is ASCII white space (infra.spec.whatwg.org).
const space = "\t\n\f\r "

func (p *Policy) add(text string, offset int) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && strings.ContainsRune(space, r) })
	d := Directive{Name: strings.ToLower(words[0]), Values: words[1:], Offset: offset, Length: len(text)}
	fault := Fault{Directive: d.Name, Offset: offset, Length: len(text)}
	if p.Get(d.Name) != nil {
		fault.Kind = DuplicateDirective
		p.Faults = append(p.Faults, fault)
		return
	}
	if len(d.Values) > MaxSources {
		fault.Kind = TooLong
		p.Faults = append(p.Faults, fault)
		d.Values = d.Values[:MaxSources]
	}
	p.Directives = append(p.Directives, d)
	p.Faults = append(p.Faults, d.faults()...)
}

// Get returns a directive, or nil if the policy does not have it.
func (p *Policy) Get(name string) *Directive {
	i := slices.IndexFunc(p.Directives, func(d Directive) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Directives[i]
}

// String writes the policy as it is written in a header field.
func (p *Policy) String() string {
	var b strings.Builder
	for i, d := range p.Directives {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(strings.Join(append([]string{d.Name}, d.Values...), " "))
	}
	return b.String()
}

// A shape is the kind of values that a directive takes.
type shape int

const (
	sources    shape = iota // of resources
	ancestors               // sources of frames: hosts, 'self' and 'none'
	flags                   // words of its own
	empty                   // nothing
	addresses               // URLs or names of endpoints
	deprecated              // was taken out
)

// directives are those of CSP Level 3 and of the specifications that extend it.
var directives = map[string]shape{
	"default-src": sources, "script-src": sources, "script-src-elem": sources, "script-src-attr": sources,
	"style-src": sources, "style-src-elem": sources, "style-src-attr": sources, "img-src": sources,
	"font-src": sources, "connect-src": sources, "media-src": sources, "object-src": sources, "frame-src": sources,
	"child-src": sources, "worker-src": sources, "manifest-src": sources, "fenced-frame-src": sources,
	"base-uri": sources, "form-action": sources, "frame-ancestors": ancestors,
	"sandbox": flags, "webrtc": flags, "trusted-types": flags, "require-trusted-types-for": flags,
	"report-uri": addresses, "report-to": addresses,
	"upgrade-insecure-requests": empty,
	"block-all-mixed-content":   deprecated, "plugin-types": deprecated, "prefetch-src": deprecated,
	"navigate-to": deprecated, "referrer": deprecated, "reflected-xss": deprecated, "require-sri-for": deprecated,
	"policy-uri": deprecated, "disown-opener": deprecated,
}

// Known reports whether browsers know a directive of this name, or knew it.
func Known(name string) bool { _, ok := directives[strings.ToLower(name)]; return ok }

func (d *Directive) faults() (list []Fault) {
	whole := Fault{Directive: d.Name, Offset: d.Offset, Length: d.Length}
	kind, ok := directives[d.Name]
	switch {
	case !ok:
		whole.Kind, whole.Correct = UnknownDirective, nearest(d.Name)
		if isFieldName(d.Name) && len(d.Values) > 0 && Known(d.Values[0]) {
			whole.Correct = strings.ToLower(d.Values[0])
		}
		return append(list, whole)
	case kind == deprecated:
		whole.Kind = DeprecatedDirective
		return append(list, whole)
	case kind == addresses && len(d.Values) == 0, d.Name == "require-trusted-types-for" && len(d.Values) == 0:
		whole.Kind = MissingValue
		return append(list, whole)
	case kind == flags:
		return d.flagFaults(whole)
	case kind == sources || kind == ancestors:
		for _, v := range d.Values {
			if f, bad := sourceFault(v, kind); bad {
				f.Directive, f.Value, f.Offset, f.Length = d.Name, v, d.Offset, d.Length
				list = append(list, f)
			}
		}
		is := func(word string) func(string) bool { return func(v string) bool { return strings.EqualFold(v, word) } }
		others := slices.DeleteFunc(slices.Clone(d.Values), is("'report-sample'")) // which allows nothing
		if len(others) > 1 && slices.ContainsFunc(others, is("'none'")) {
			whole.Kind, whole.Value = NoneWithOthers, "'none'"
			list = append(list, whole)
		}
	}
	return list
}

// words are the values of directives that list words of their own (HTML Standard, Sandboxing; Trusted Types section
// 4.2). What trusted-types lists are names of the page's choice.
var words = map[string][]string{
	"sandbox": {"allow-downloads", "allow-forms", "allow-modals", "allow-orientation-lock", "allow-pointer-lock",
		"allow-popups", "allow-popups-to-escape-sandbox", "allow-presentation", "allow-same-origin", "allow-scripts",
		"allow-storage-access-by-user-activation", "allow-top-navigation", "allow-top-navigation-by-user-activation",
		"allow-top-navigation-to-custom-protocols"},
	"require-trusted-types-for": {"'script'"},
	"webrtc":                    {"'allow'", "'block'"},
}

func (d *Directive) flagFaults(whole Fault) (list []Fault) {
	for _, v := range d.Values {
		known := words[d.Name]
		if known == nil || slices.ContainsFunc(known, func(w string) bool { return strings.EqualFold(w, v) }) {
			continue
		}
		f := whole
		f.Kind, f.Value = InvalidValue, v
		for _, w := range known {
			if phrase.Distance(strings.ToLower(unquoted(v)), unquoted(w)) <= 1 {
				f.Correct = w
			}
		}
		list = append(list, f)
	}
	return list
}

// nearest returns the directive that was probably meant by a name that browsers do not know; empty if none is close.
func nearest(name string) string {
	plain := strings.TrimSuffix(strings.ReplaceAll(unquoted(name), "_", "-"), ":")
	best, least := "", 3
	for known, kind := range directives {
		distance := phrase.Distance(plain, known)
		if len(known) < 10 {
			distance *= 2 // one letter of a short name is much
		}
		if plain == strings.TrimSuffix(known, "-src") || plain == strings.ReplaceAll(known, "-", "") || plain+"s" == known {
			distance = 1
		}
		if kind != deprecated && (distance < least || distance == least && best != "" && known < best) {
			best, least = known, distance
		}
	}
	return best
}

// Corrected writes the policy as it was probably meant, where each of its faults can be corrected; otherwise it returns
// the empty string. What has no effect in any browser is left out.
func (p *Policy) Corrected() string {
	for range 3 { // a name that is put right brings up the faults of its values
		if len(p.Faults) == 0 {
			return p.String()
		}
		next := Parse(p.corrected())
		p = &next
	}
	return ""
}

func (p *Policy) corrected() string {
	list := slices.Clone(p.Directives)
	for i := range list {
		list[i].Values = slices.Clone(list[i].Values)
	}
	for _, f := range p.Faults {
		i := slices.IndexFunc(list, func(d Directive) bool { return d.Name == f.Directive })
		if f.Kind == DuplicateDirective || f.Kind == DeprecatedDirective {
			if f.Kind == DeprecatedDirective {
				list = slices.Delete(list, i, i+1)
			}
			continue
		}
		if f.Correct == "" || i < 0 || !list[i].correct(f) {
			return ""
		}
	}
	q := Policy{Directives: slices.DeleteFunc(list, func(d Directive) bool { return d.Name == "" })}
	return q.String()
}

// correct replaces a fault by what was meant.
func (d *Directive) correct(f Fault) bool {
	if f.Kind == UnknownDirective {
		d.Name = f.Correct
		if isFieldName(f.Directive) {
			d.Values = d.Values[1:]
		}
		return true
	}
	i := slices.Index(d.Values, f.Value)
	if i >= 0 {
		d.Values[i] = f.Correct
	}
	return i >= 0
}

// isFieldName reports whether a directive is the name of the field itself, which was written into the value once more.
func isFieldName(name string) bool {
	name = strings.TrimSuffix(name, ":")
	return name == "content-security-policy" || name == "content-security-policy-report-only"
}

// InMeta returns the policy as it is in force in a meta element, where some directives have no effect (section 3.3).
func (p Policy) InMeta() Policy {
	m := Policy{Meta: true, Faults: slices.Clone(p.Faults)}
	for _, d := range p.Directives {
		switch d.Name {
		case "frame-ancestors", "report-uri", "sandbox":
			m.Faults = append(m.Faults, Fault{Kind: MetaDirective, Directive: d.Name, Offset: d.Offset, Length: d.Length})
		default:
			m.Directives = append(m.Directives, d)
		}
	}
	return m
}
