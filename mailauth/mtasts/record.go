package mtasts

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// version is the only version of both the record and the policy (RFC 8461 sections 3.1 and 3.2).
const version = "STSv1"

// The bounds of RFC 8461 sections 3.1 and 3.2, in characters.
const (
	MaxIDLength   = 32 // of an id
	MaxNameLength = 32 // of the name of an extension
)

// A Record is the TXT record that says that there is a policy (RFC 8461 section 3.1).
type Record struct {
	ID         string      // 1 to 32 letters and digits; changes with the policy
	Extensions []Extension // further fields, in order
}

// An Extension is a field that RFC 8461 does not know, and that senders ignore.
type Extension struct {
	Name  string
	Value string
}

// String returns the text of the record, such as "v=STSv1; id=1;".
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "v=%s; id=%s;", version, r.ID)
	for _, x := range r.Extensions {
		fmt.Fprintf(&b, " %s=%s;", x.Name, x.Value)
	}
	return b.String()
}

// ParseRecord reads the text of a record. The error is a *[SyntaxError]: senders treat a domain whose
// record is not valid as one without MTA-STS.
func ParseRecord(text string) (Record, error) {
	record, faults := scanRecord(text)
	if err := syntaxError("record", faults); err != nil {
		return Record{}, err
	}
	return record, nil
}

// A fault is a departure from the syntax, in the record or in a line of the policy.
type fault struct {
	kind           kind
	line           int // of the policy, from 1; 0 for what is missing, and in the record
	offset, length int // in bytes, in the record
	text           string
	suggested      string // what could stand there instead; may be empty
}

func (f fault) location() *diag.Location { return &diag.Location{Offset: f.offset, Length: f.length} }

// kind says what a fault concerns; there is a rule for each.
type kind string

const (
	badSyntax  kind = "syntax"
	badID      kind = "bad id"
	noID       kind = "no id"
	badText    kind = "no UTF-8"
	blankLine  kind = "blank line"
	badVersion kind = "bad version"
	noVersion  kind = "no version"
	badMode    kind = "bad mode"
	noMode     kind = "no mode"
	badMaxAge  kind = "bad max_age"
	noMaxAge   kind = "no max_age"
	badMX      kind = "bad mx"
	noMX       kind = "no mx"
	repeated   kind = "repeated" // harmless: the first counts
	unknownKey kind = "unknown"  // harmless: senders ignore it
)

// harmless reports whether the text is valid all the same.
func (k kind) harmless() bool { return k == repeated || k == unknownKey }

// A SyntaxError says why a record or a policy is not valid.
type SyntaxError struct {
	What   string   // record or policy
	Faults []string // at least one, in order
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parsing the MTA-STS %s: %s", e.What, strings.Join(e.Faults, "; "))
}

func syntaxError(what string, faults []fault) error {
	var texts []string
	for _, f := range faults {
		if !f.kind.harmless() {
			texts = append(texts, f.text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &SyntaxError{what, texts}
}

// isRecord reports whether a TXT record is one of MTA-STS: all others are discarded (RFC 8461 section
// 3.1).
//
// Its prose has "v=STSv1;" at the beginning, its syntax white space before the semicolon, too: that is taken
// for a record, and warned of.
func isRecord(text string) bool { return begin(text) > 0 }

// begin returns where the fields of a record begin, behind the version, or 0 if the text is no record.
func begin(text string) int {
	rest, ok := strings.CutPrefix(text, "v="+version)
	if rest = strings.TrimLeft(rest, " \t"); !ok || !strings.HasPrefix(rest, ";") {
		return 0
	}
	return len(text) - len(rest) + 1
}

// resembles reports whether a text was probably meant as a record, although senders discard it.
func resembles(text string) bool {
	squeezed := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\"'\\\ufeff", r) {
			return -1
		}
		return r
	}, text[:min(len(text), 64)])
	return !isRecord(text) && strings.HasPrefix(strings.ToLower(squeezed), "v=sts")
}

// scanRecord reads a record and collects all faults.
//
//	record    = "v=STSv1" 1*(delimiter field) [delimiter]
//	delimiter = *WSP ";" *WSP
func scanRecord(text string) (Record, []fault) {
	var r Record
	if !isRecord(text) {
		return r, []fault{{kind: badSyntax, length: len(text), text: "the record does not begin with v=STSv1;"}}
	}
	s := recordScanner{}
	offset := begin(text)
	fields := strings.Split(text[offset:], ";")
	for i, field := range fields {
		last := i == len(fields)-1
		s.field(&r, field, offset, last)
		offset += len(field) + 1
	}
	if !s.seen["id"] {
		s.faults = append(s.faults, fault{kind: noID, length: len(text), text: "the record has no id" + s.hint})
	}
	return r, s.faults
}

type recordScanner struct {
	seen   map[string]bool
	hint   string // an extension that was probably meant as the id
	faults []fault
}

func (s *recordScanner) fault(k kind, offset, length int, format string, args ...any) {
	s.faults = append(s.faults, fault{kind: k, offset: offset, length: length, text: fmt.Sprintf(format, args...)})
}

// field reads one field. White space around it belongs to the delimiters, so none may follow on the
// last one.
func (s *recordScanner) field(r *Record, raw string, offset int, last bool) {
	field := strings.Trim(raw, " \t")
	offset += strings.Index(raw, field)
	switch {
	case field == "" && last:
		return
	case field == "":
		s.fault(badSyntax, offset, 1, "there is nothing between two semicolons")
		return
	case last:
		if blank := len(raw) - len(strings.TrimRight(raw, " \t")); blank > 0 {
			s.fault(badSyntax, offset+len(field), blank, "white space follows the last field")
		}
	}
	name, value, ok := strings.Cut(field, "=")
	switch {
	case !ok:
		s.fault(badSyntax, offset, len(field), "%.100q has no equals sign", field)
		return
	case !validName(name):
		s.fault(badSyntax, offset, len(name), "%.100q cannot be the name of a field", name)
		return
	case s.seen[name]:
		s.fault(repeated, offset, len(field), "%s is there again; senders use the first", name)
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	at := offset + len(name) + 1
	switch {
	case name == "id":
		if r.ID = value; !validID(value) {
			r.ID = ""
			s.fault(badID, at, len(value), "the id %.100q is not 1 to %d letters and digits", value, MaxIDLength)
		}
	case !validValue(value):
		s.fault(badSyntax, at, len(value), "%.100q cannot be the value of %s", value, name)
	default:
		r.Extensions = append(r.Extensions, Extension{name, value})
		if strings.EqualFold(name, "id") {
			s.hint = fmt.Sprintf("; %q is not the same as \"id\"", name)
		}
		s.fault(unknownKey, offset, len(field), "%s is no field of MTA-STS", name)
	}
}

// validID reports whether s is 1*32(ALPHA / DIGIT).
func validID(s string) bool {
	return s != "" && len(s) <= MaxIDLength && strings.IndexFunc(s, notAlphanumeric) < 0
}

func notAlphanumeric(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

// validName reports whether s is (ALPHA / DIGIT) *31(ALPHA / DIGIT / "_" / "-" / "."), in the record
// and in the policy alike.
func validName(s string) bool {
	if s == "" || len(s) > MaxNameLength || notAlphanumeric(rune(s[0])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return notAlphanumeric(r) && !strings.ContainsRune("_-.", r) })
}

// validValue reports whether s is 1*(%x21-3A / %x3C / %x3E-7E): visible, and neither ";" nor "=".
func validValue(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x21 || c > 0x7e || c == ';' || c == '=' {
			return false
		}
	}
	return s != ""
}
