package dashboard

import (
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// A form is what was sent, or stands in the fields at first, and what is wrong with it.
type form struct {
	values url.Values
	known  []string // the fields, beside which faults are told
	faults map[string]string
}

// refused reports whether an error is about the form, and notes what is wrong.
func (f *form) refused(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		about := false
		for _, e := range joined.Unwrap() {
			about = f.refused(e) || about
		}
		return about
	}
	if e, ok := errors.AsType[*metering.FieldError](err); ok {
		field, _, _ := strings.Cut(e.Field, "[") // of a list, one of its values
		f.note(field, e.Reason)
		return true
	}
	if e, ok := errors.AsType[*refusal](err); ok {
		f.note("", e.reason)
		return true
	}
	return false
}

func (f *form) note(field, reason string) {
	if f.faults == nil {
		f.faults = map[string]string{}
	}
	f.faults[field] = reason
}

// A refusal is why something was not done, in words for who wanted it.
type refusal struct{ reason string }

func (e *refusal) Error() string { return e.reason }

// begin says what stands in the fields of a form that nobody has sent yet.
func (f *form) begin(values url.Values) {
	if f.values == nil {
		f.values = values
	}
}

// wordsOf are values as a form sends them.
func wordsOf[S ~string](list []S) []string {
	return diag.Map(list, func(s S) string { return string(s) })
}

// Value is what stands in a field.
func (f *form) Value(field string) string { return f.values.Get(field) }

// Has reports whether a field was given a value, of several that it may have at once.
func (f *form) Has(field string, value any) bool {
	return slices.Contains(f.values[field], fmt.Sprint(value))
}

// Invalid are the attributes of an input whose field has a fault.
func (f *form) Invalid(field string) template.HTMLAttr {
	if f.faults[field] == "" {
		return ""
	}
	return template.HTMLAttr(` aria-invalid="true" aria-describedby="` + field + `-fault"`) // field is our own word
}

// Fault is what is wrong with a field, to stand beside it.
func (f *form) Fault(field string) template.HTML {
	reason := f.faults[field]
	if reason == "" {
		return ""
	}
	return template.HTML(`<p class="fault" id="` + field + `-fault">` + template.HTMLEscapeString(reason) + `</p>`)
}

// Faults counts what is wrong.
func (f *form) Faults() int { return len(f.faults) }

// Others are the faults of no field of the page.
func (f *form) Others() (list []string) {
	for field, reason := range f.faults {
		if !slices.Contains(f.known, field) {
			list = append(list, reason)
		}
	}
	slices.Sort(list)
	return list
}
