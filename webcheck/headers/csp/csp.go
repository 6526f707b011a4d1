package csp

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The bounds of what is read. A policy that is used is a few kilobytes long.
const (
	MaxPolicies   = 32
	MaxDirectives = 100
	MaxSources    = 2000 // of a directive
)

// A Policy is a Content-Security-Policy as it was written.
type Policy struct {
	Directives []Directive
	Faults     []Fault
	Meta       bool // stands in a meta element, where some directives have no effect
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
	MissingSemicolon    Kind = "missing_semicolon"    // the name of a directive stands among the values of another
	MissingQuotes       Kind = "missing_quotes"       // a keyword is written as a host
	InvalidSource       Kind = "invalid_source"       // ignored
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

// Effective returns the first of some directives that the policy has, or nil.
func (p *Policy) Effective(names ...string) *Directive {
	for _, name := range names {
		if d := p.Get(name); d != nil {
			return d
		}
	}
	return nil
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

// What a directive takes for values.
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

func (d *Directive) faults() (list []Fault) {
	whole := Fault{Directive: d.Name, Offset: d.Offset, Length: d.Length}
	kind, ok := directives[d.Name]
	switch {
	case !ok:
		whole.Kind, whole.Correct = UnknownDirective, nearest(d.Name)
		return append(list, whole)
	case kind == deprecated:
		whole.Kind = DeprecatedDirective
		return append(list, whole)
	case kind == addresses && len(d.Values) == 0, d.Name == "require-trusted-types-for" && len(d.Values) == 0:
		whole.Kind = MissingValue
		return append(list, whole)
	case kind == sources || kind == ancestors:
		for _, v := range d.Values {
			if f, bad := sourceFault(v, kind); bad {
				f.Directive, f.Value, f.Offset, f.Length = d.Name, v, d.Offset, d.Length
				list = append(list, f)
			}
		}
		if len(d.Values) > 1 && slices.ContainsFunc(d.Values, func(v string) bool { return strings.EqualFold(v, "'none'") }) {
			whole.Kind, whole.Value = NoneWithOthers, "'none'"
			list = append(list, whole)
		}
	}
	return list
}

// nearest returns the directive that differs from a name in one letter, is its plural, or lacks "-src".
func nearest(name string) string {
	for _, known := range []string{"default-src", "script-src", "style-src", "img-src", "font-src", "connect-src",
		"media-src", "object-src", "frame-src", "worker-src", "base-uri", "form-action", "frame-ancestors",
		"report-uri", "report-to", "upgrade-insecure-requests", "manifest-src", "child-src", "sandbox"} {
		if diag.Distance(name, known) == 1 || name == strings.TrimSuffix(known, "-src") ||
			strings.ReplaceAll(name, "_", "-") == known || name+"s" == known || strings.ReplaceAll(known, "-", "") == name {
			return known
		}
	}
	return ""
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
