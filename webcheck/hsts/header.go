package hsts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
)

// FieldName is the header field that this package is about.
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

// A Header is one Strict-Transport-Security field value, read by the rules of RFC 6797. Its values are read as far as
// they can be, also where Faults make browsers ignore all of it; of a repeated directive the first counts.
type Header struct {
	Text              string      // the field value as it came
	Directives        []Directive // in order, at most 50
	MaxAge            *uint64     // in seconds, or the largest number there is; nil if there is no valid one
	IncludeSubdomains bool
	Preload           bool     // not part of RFC 6797: what hstspreload.org asks for
	Unknown           []string // names of further directives as written, which browsers skip
	Faults            []Fault  // why browsers ignore the field (RFC 6797 section 6.1); empty if they obey
}

// A Directive is a part of a header between semicolons.
type Directive struct {
	Name     string // as written
	Value    string // without quotes
	HasValue bool
	Quoted   bool
	Offset   int // of the first byte of the name
	Length   int // up to the end of the value
}

// Is reports whether the directive has this name, of which case does not matter.
func (d Directive) Is(name string) bool { return strings.EqualFold(d.Name, name) }

// Kind is the kind of a [Fault].
type Kind string

const (
	badSyntax     Kind = "syntax"      // does not follow the grammar
	repeated      Kind = "repeated"    // a directive occurs twice
	noMaxAge      Kind = "no max-age"  // the directive that every header needs is missing
	badMaxAge     Kind = "bad max-age" // or its value is not a number
	valueRejected Kind = "value"       // includeSubDomains has a value
)

// A Fault is a departure from RFC 6797, for which browsers ignore the field.
type Fault struct {
	Kind   Kind
	Text   string // the fault in words, without a full stop
	Offset int    // where it is in the text
	Length int
}

// Valid reports whether browsers obey the header (RFC 6797 section 6.1).
func (h *Header) Valid() bool { return len(h.Faults) == 0 }

// Age is max-age as a duration: 0 if absent, capped at the longest Duration.
func (h *Header) Age() time.Duration {
	switch {
	case h.MaxAge == nil:
		return 0
	case *h.MaxAge > math.MaxInt64/uint64(time.Second):
		return math.MaxInt64
	}
	return time.Duration(*h.MaxAge) * time.Second
}

// Location returns the position of the first directive of a name, or nil.
func (h *Header) Location(name string) *diag.Location {
	for _, d := range h.Directives {
		if d.Is(name) {
			return &diag.Location{Offset: d.Offset, Length: d.Length}
		}
	}
	return nil
}

// Parse reads the value of one Strict-Transport-Security field. It never fails: what is wrong is in the header's
// Faults. Several fields in one answer are not to be joined: only the first counts (RFC 6797 section 8.1).
func Parse(text string) *Header {
	s := scanner{h: &Header{Text: text}, seen: map[string]bool{}}
	for s.pos <= len(text) {
		s.directive()
	}
	if !s.seen[nameMaxAge] {
		// RFC 6797 section 6.1.1: max-age is REQUIRED.
		s.fault(Fault{noMaxAge, "there is no max-age", 0, len(text)})
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
		text = fmt.Sprintf("directives are separated by a comma, not by a semicolon, in %q", phrase.Clip(s.h.Text[from:from+length], maxClipped))
	}
	s.fault(Fault{badSyntax, text, from, length})
}

func (s *scanner) keep(d Directive, wellFormed bool) {
	h, name := s.h, strings.ToLower(d.Name)
	first := !s.seen[name]
	s.seen[name] = true
	if len(h.Directives) < maxDirectives {
		h.Directives = append(h.Directives, d)
	}
	if !first {
		s.fault(Fault{repeated, fmt.Sprintf("the directive %q appears more than once", phrase.Clip(d.Name, maxClipped)), d.Offset, d.Length})
		return
	}
	switch name {
	case nameMaxAge:
		s.maxAge(d, wellFormed)
	case nameInclude:
		if d.HasValue {
			// RFC 6797 section 6.1.2: the directive is valueless.
			s.fault(Fault{valueRejected, "includeSubDomains has a value, and must not have one", d.Offset, d.Length})
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
		s.fault(Fault{badMaxAge, "max-age has no value", d.Offset, d.Length})
	case d.Value == "" || strings.Trim(d.Value, "0123456789") != "":
		s.fault(Fault{badMaxAge, fmt.Sprintf("the max-age %q is not a number of seconds", phrase.Clip(d.Value, maxClipped)), d.Offset, d.Length})
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

// stages are how HSTS is introduced: each max-age is kept until nothing has broken for as long, so that a mistake
// is over soon. The last is that of hstspreload.org.
var stages = []uint64{300, 7 * 86400, 30 * 86400, 2 * 365 * 86400}

// firstValue is the header to begin with: for five minutes, and for this host alone, so that no subdomain without
// HTTPS is cut off.
const firstValue = "max-age=300"

// NextStage returns the max-age in seconds that follows on one that is in force, 0 if none is; ok is false behind the last.
func NextStage(age uint64) (next uint64, ok bool) {
	i := slices.IndexFunc(stages, func(s uint64) bool { return s > age })
	if i < 0 {
		return 0, false
	}
	return stages[i], true
}

// Value writes a header with a max-age in seconds.
func Value(age uint64, subdomains, preload bool) string {
	s := fmt.Sprintf("max-age=%d", age)
	if subdomains {
		s += "; includeSubDomains"
	}
	if preload {
		s += "; preload"
	}
	return s
}

// nextStage returns the header that follows on the one in force: with a longer max-age, and for the same hosts.
// The directive preload is kept only where browsers have the domain on their list already: else it invites
// anyone to submit the domain.
func (e *evidence) nextStage() string {
	next, ok := NextStage(e.age())
	if !ok || !e.trusted() {
		return ""
	}
	return e.sameHosts(next)
}

// sameHosts returns a header with another max-age for the hosts for which that in force holds, or nothing if it
// would go on to cut off www.
func (e *evidence) sameHosts(age uint64) string {
	subdomains := e.inForce() && e.header.IncludeSubdomains
	if subdomains && e.wwwDoubtful() {
		return ""
	}
	return Value(age, subdomains, subdomains && e.header.Preload && e.listed())
}

// listedValue is the header that a listed domain has to send. It breaks no site: browsers have all of that on
// their list.
func (e *evidence) listedValue() string {
	if !e.trusted() || !e.listed() || !e.entry.IncludeSubdomains || e.wwwDoubtful() {
		return ""
	}
	age := uint64(0)
	if e.inForce() {
		age = e.age()
	}
	return Value(max(age, stages[len(stages)-1]), true, !e.wholeSuffix()) // never submitted below a listed suffix
}

func (e *evidence) withoutPreload() string {
	if !e.inForce() || e.age() == 0 {
		return ""
	}
	return Value(e.age(), e.header.IncludeSubdomains, false)
}

var spans = []struct {
	length uint64
	name   string
}{{365 * 86400, "year"}, {86400, "day"}, {3600, "hour"}, {60, "minute"}}

// seconds writes an age for a sentence: "31536000 seconds (1 year)".
func seconds(age uint64) string {
	text := fmt.Sprintf("%d seconds", age)
	for _, s := range spans {
		if n := age / s.length; n > 0 {
			about := ""
			if age%s.length != 0 {
				about = "about "
			}
			return fmt.Sprintf("%s (%s%s)", text, about, phrase.Count(int64(n), s.name))
		}
	}
	return text
}

// meant returns the directive for which a name was probably meant, or nothing.
func meant(name string) string {
	lower := strings.ToLower(name)
	plain := strings.NewReplacer("-", "", "_", "").Replace(lower)
	for _, known := range []string{"max-age", "includeSubDomains", "preload"} {
		target := strings.ToLower(known)
		if lower != target && (phrase.Distance(lower, target) <= 2 || phrase.Distance(plain, strings.ReplaceAll(target, "-", "")) <= 1) {
			return known
		}
	}
	return ""
}
