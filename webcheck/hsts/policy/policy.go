// Package policy parses the header field Strict-Transport-Security, with which a site declares its HSTS
// policy (RFC 6797 section 6.1): call [Parse] with the field value.
//
// A field has directives separated by semicolons: max-age, which is required, includeSubDomains, and preload,
// which is not part of the RFC. Browsers ignore a field that violates the grammar or repeats a directive.
// Parse reads its directives nevertheless, with their positions, and lists the faults.
//
// The package imports neither net/http nor package diag. Package hsts examines whole sites, and has aliases
// for the types of this package.
package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// FieldName is the name of the header field.
const FieldName = "Strict-Transport-Security"

// The limits of what is kept of a header. Real ones have up to four directives.
const (
	maxDirectives = 50
	maxFaults     = 20
	maxClipped    = 60 // bytes of what a fault quotes
)

// The names of the directives that mean something, in lower case.
const (
	nameMaxAge  = "max-age"
	nameInclude = "includesubdomains"
	namePreload = "preload"
)

// A Header is a parsed Strict-Transport-Security field value (RFC 6797). Its fields are set as far as
// possible, even if browsers ignore the field because of its Faults. Of a repeated directive, the first
// counts.
type Header struct {
	Text              string      // the field value as given
	Directives        []Directive // in order, at most 50
	MaxAge            *uint64     // in seconds, at most the largest uint64; nil if missing or invalid
	IncludeSubdomains bool
	Preload           bool     // not part of RFC 6797; required by hstspreload.org
	Unknown           []string // names of other directives as written, which browsers ignore
	Faults            []Fault  // why browsers ignore the field (RFC 6797 section 6.1); empty if they accept it
}

// A Directive is one directive of the field.
type Directive struct {
	Name     string // as written
	Value    string // without quotes
	HasValue bool
	Quoted   bool
	Offset   int // offset of the first byte of the name
	Length   int // bytes up to the end of the value
}

// Is reports whether the directive has this name, ignoring case.
func (d Directive) Is(name string) bool { return strings.EqualFold(d.Name, name) }

// Kind is the kind of a [Fault].
type Kind string

// The kinds of faults.
const (
	BadSyntax     Kind = "syntax"      // violates the grammar
	Repeated      Kind = "repeated"    // a directive occurs twice
	NoMaxAge      Kind = "no max-age"  // max-age is missing
	BadMaxAge     Kind = "bad max-age" // max-age is not a number
	ValueRejected Kind = "value"       // includeSubDomains has a value
)

// A Fault is a departure from RFC 6797, for which browsers ignore the field.
type Fault struct {
	Kind   Kind
	Text   string // the fault in words, without a full stop
	Offset int    // position in the text, in bytes
	Length int
}

// Valid reports whether browsers accept the header (RFC 6797 section 6.1).
func (h *Header) Valid() bool { return len(h.Faults) == 0 }

// Age returns max-age as a duration: 0 if absent, and at most the longest Duration.
func (h *Header) Age() time.Duration {
	switch {
	case h.MaxAge == nil:
		return 0
	case *h.MaxAge > math.MaxInt64/uint64(time.Second):
		return math.MaxInt64
	}
	return time.Duration(*h.MaxAge) * time.Second
}

// Location returns the position of the first directive with a name, or nil.
func (h *Header) Location(name string) *rule.Location {
	for _, d := range h.Directives {
		if d.Is(name) {
			return &rule.Location{Offset: d.Offset, Length: d.Length}
		}
	}
	return nil
}

// Parse parses the value of one Strict-Transport-Security field. It never fails: Faults of the header list
// what is wrong. If a response has several fields, pass only the first, the only one that counts (RFC 6797
// section 8.1).
func Parse(text string) *Header {
	s := scanner{h: &Header{Text: text}, seen: map[string]bool{}}
	for s.pos <= len(text) {
		s.directive()
	}
	if !s.seen[nameMaxAge] {
		// RFC 6797 section 6.1.1: max-age is REQUIRED.
		s.fault(Fault{NoMaxAge, "there is no max-age", 0, len(text)})
	}
	return s.h
}

// A scanner walks over the text of a header.
type scanner struct {
	h    *Header
	pos  int
	seen map[string]bool // names in lower case
}

func (s *scanner) fault(f Fault) {
	if len(s.h.Faults) < maxFaults {
		s.h.Faults = append(s.h.Faults, f)
	}
}

// directive reads up to behind the next semicolon (RFC 6797 section 6.1). Between semicolons there may be
// nothing at all.
func (s *scanner) directive() {
	s.blanks()
	d := Directive{Offset: s.pos}
	d.Name = s.token()
	d.Length = s.pos - d.Offset
	s.blanks()
	ok := d.Name != "" || s.ended()
	if ok && d.Name != "" && s.at('=') {
		s.pos++
		s.blanks()
		d.HasValue = true
		ok = s.value(&d)
		d.Length = s.pos - d.Offset
		s.blanks()
	}
	if ok = ok && s.ended(); !ok {
		s.skip(d.Offset)
	}
	s.pos++ // the semicolon
	// A name is kept even where rubbish follows, so that max-age is not said to be missing as well.
	if d.Name != "" {
		s.keep(d, ok)
	}
}

// skip advances to the next semicolon and reports the text before it as not a directive.
func (s *scanner) skip(from int) {
	at := s.pos
	for !s.ended() {
		s.pos++
	}
	length := len(strings.TrimRight(s.h.Text[from:s.pos], " \t"))
	text := fmt.Sprintf("%q is not a directive", phrase.Clip(s.h.Text[from:from+length], maxClipped))
	if at < len(s.h.Text) && s.h.Text[at] == ',' {
		text = fmt.Sprintf("directives are separated by a comma, not by a semicolon, in %q",
			phrase.Clip(s.h.Text[from:from+length], maxClipped))
	}
	s.fault(Fault{BadSyntax, text, from, length})
}

func (s *scanner) keep(d Directive, wellFormed bool) {
	h, name := s.h, strings.ToLower(d.Name)
	first := !s.seen[name]
	s.seen[name] = true
	if len(h.Directives) < maxDirectives {
		h.Directives = append(h.Directives, d)
	}
	if !first {
		text := fmt.Sprintf("the directive %q appears more than once", phrase.Clip(d.Name, maxClipped))
		s.fault(Fault{Repeated, text, d.Offset, d.Length})
		return
	}
	switch name {
	case nameMaxAge:
		s.maxAge(d, wellFormed)
	case nameInclude:
		if d.HasValue {
			// RFC 6797 section 6.1.2: the directive is valueless.
			s.fault(Fault{ValueRejected, "includeSubDomains has a value, and must not have one", d.Offset, d.Length})
		}
		h.IncludeSubdomains = wellFormed && !d.HasValue
	case namePreload:
		h.Preload = wellFormed && !d.HasValue
	default:
		if len(h.Unknown) < maxDirectives {
			h.Unknown = append(h.Unknown, d.Name)
		}
	}
}

func (s *scanner) maxAge(d Directive, wellFormed bool) {
	switch {
	case !wellFormed:
		return // said already
	case !d.HasValue:
		s.fault(Fault{BadMaxAge, "max-age has no value", d.Offset, d.Length})
	case d.Value == "" || strings.Trim(d.Value, "0123456789") != "":
		text := fmt.Sprintf("the max-age %q is not a number of seconds", phrase.Clip(d.Value, maxClipped))
		s.fault(Fault{BadMaxAge, text, d.Offset, d.Length})
	default:
		seconds, err := strconv.ParseUint(d.Value, 10, 64)
		if err != nil { // RFC 9111 section 1.2.2: what does not fit is the largest number that does
			seconds = math.MaxUint64
		}
		s.h.MaxAge = &seconds
	}
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.h.Text) && s.h.Text[s.pos] == c }
func (s *scanner) ended() bool    { return s.pos >= len(s.h.Text) || s.h.Text[s.pos] == ';' }

// blanks skips white space as allowed between any two tokens (RFC 2616 section 2.1, on which RFC 6797 section 6.1
// builds its grammar).
func (s *scanner) blanks() {
	for s.at(' ') || s.at('\t') {
		s.pos++
	}
}

// token reads letters, digits and certain marks (RFC 9110 section 5.6.2).
func (s *scanner) token() string {
	from := s.pos
	for s.pos < len(s.h.Text) && isToken(s.h.Text[s.pos]) {
		s.pos++
	}
	return s.h.Text[from:s.pos]
}

func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// value reads a token or a quoted string (RFC 9110 section 5.6.4), and reports whether there was one.
func (s *scanner) value(d *Directive) bool {
	if !s.at('"') {
		d.Value = s.token()
		return d.Value != ""
	}
	d.Quoted = true
	var b strings.Builder
	for s.pos++; s.pos < len(s.h.Text); s.pos++ {
		switch c := s.h.Text[s.pos]; {
		case c == '"':
			s.pos++
			d.Value = b.String()
			return true
		case c == '\\' && s.pos+1 < len(s.h.Text):
			s.pos++
			b.WriteByte(s.h.Text[s.pos])
		case c < ' ' && c != '\t' || c == 0x7F:
			return false
		default:
			b.WriteByte(c)
		}
	}
	return false
}
