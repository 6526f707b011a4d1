package textutil

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A Severity is the severity of a finding: info, warning, error or critical.
type Severity string

const (
	Info     Severity = "info"     // worth knowing; nothing to do
	Warning  Severity = "warning"  // works, but should be improved
	Error    Severity = "error"    // broken in part
	Critical Severity = "critical" // does not work at all
)

// Values lists the severities.
func (Severity) Values() []string { return valuesOf(Info, Warning, Error, Critical) }

func valuesOf[T ~string](list ...T) []string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	return words
}

// A Location is the part of the text to which a finding applies, in bytes.
type Location struct {
	Offset int `json:"offset" min:"0" doc:"first byte, from 0"`
	Length int `json:"length" min:"0" doc:"number of bytes"`
}

// A Finding is something noteworthy about a text. Its JSON is the same as that of the findings of checks
// (CONTRACT 2).
type Finding struct {
	Code      string    `json:"code" doc:"permanent name of the rule" example:"text.json.duplicate_key"`
	Severity  Severity  `json:"severity" doc:"how much it matters"`
	Title     string    `json:"title" maxlen:"70" doc:"the fault in a few words"`
	Detail    string    `json:"detail" doc:"what was seen: a sentence that can be understood alone"`
	Advice    string    `json:"advice,omitempty" doc:"what to do"`
	Reference string    `json:"reference,omitempty" doc:"document and section" example:"RFC 8259 section 4"`
	Location  *Location `json:"location,omitempty" doc:"where in the text"`
}

// maxFindings bounds the findings of a report: who has a hundred faults begins with the first.
const maxFindings = 100

// findings collects findings up to [maxFindings], and counts the others.
type findings struct {
	list    []Finding
	omitted int
}

func (f *findings) add(finding Finding) {
	if len(f.list) == maxFindings {
		f.omitted++
		return
	}
	f.list = append(f.list, finding)
}

// all returns the findings, never nil.
func (f *findings) all() []Finding {
	if f.list == nil {
		return []Finding{}
	}
	return f.list
}

// addPlaces begins the detail of each finding that points to a place with its line and column. The places are offsets
// in the text, but for so many bytes that are before it.
func (f *findings) addPlaces(text string, before int) {
	var placed []*Finding
	for i := range f.list {
		if f.list[i].Location != nil {
			placed = append(placed, &f.list[i])
		}
	}
	slices.SortStableFunc(placed, func(a, b *Finding) int { return cmp.Compare(a.Location.Offset, b.Location.Offset) })
	c := cursor{text: text}
	for _, finding := range placed {
		line, column := c.to(max(0, finding.Location.Offset-before))
		finding.Detail = fmt.Sprintf("Line %d, column %d: %s", line, column, finding.Detail)
	}
}

// A cursor goes forward through a text and knows its line and column, in characters, both from 0.
type cursor struct {
	text             string
	at, line, column int
}

// to returns the line and the column of an offset that is not before the last, both from 1.
func (c *cursor) to(offset int) (line, column int) {
	passed := c.text[c.at:offset]
	if breaks := strings.Count(passed, "\n"); breaks > 0 {
		c.line, c.column = c.line+breaks, 0
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	c.at, c.column = offset, c.column+utf8.RuneCountInString(passed)
	return c.line + 1, c.column + 1
}

// hasRoom reports whether one more finding would be listed. If not, it counts as omitted.
func (f *findings) hasRoom() bool {
	if len(f.list) < maxFindings {
		return true
	}
	f.omitted++
	return false
}

// clip returns the beginning of a text that is long.
func clip(text string) string { return yaml.Clip(text, 60) }

// MaxText is the maximum length of the text of a request, in bytes (CONTRACT 1.9).
const MaxText = 1 << 20

// An InputError reports an invalid field of a request. The fault is the caller's.
type InputError struct {
	Field  string // name of the field in the request, as in its JSON
	Reason string // what is wrong, for the caller, without the name of the field
}

func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// InputField returns the field and the reason.
func (e *InputError) InputField() (field, reason string) { return e.Field, e.Reason }

func invalid(field, format string, args ...any) error {
	return &InputError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// checkText returns an InputError if the text is too long or is not UTF-8.
func checkText(field, text string) error {
	if len(text) > MaxText {
		return invalid(field, "has %d bytes; the most is %d", len(text), MaxText)
	}
	if !utf8.ValidString(text) {
		return invalid(field, "is not valid UTF-8: byte %d belongs to no character", invalidByte(text))
	}
	return nil
}

// invalidByte returns the position of the first byte that belongs to no character, or len(text).
func invalidByte(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(text)
}
