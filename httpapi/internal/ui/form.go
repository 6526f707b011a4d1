package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
)

// A Form holds the submitted or initial values of fields, and their faults. A nil Form has none.
type Form struct {
	Values url.Values
	Known  []string          // the fields next to which faults are shown
	Faults map[string]string // by field; that of "" is about the form as a whole
	Done   string            // what was done in spite of the faults; empty: nothing was
}

// SetDefaults sets the initial values of a form that was not submitted yet.
func (f *Form) SetDefaults(values url.Values) {
	if f.Values == nil {
		f.Values = values
	}
}

// Value returns the value of a field.
func (f *Form) Value(field string) string {
	if f == nil {
		return ""
	}
	return f.Values.Get(field)
}

// Has reports whether a field has a value, among possibly several.
func (f *Form) Has(field string, value any) bool {
	return f != nil && slices.Contains(f.Values[field], fmt.Sprint(value))
}

func (f *Form) fault(field string) string {
	if f == nil {
		return ""
	}
	return f.Faults[field]
}

// FaultCount counts the faults.
func (f *Form) FaultCount() int {
	if f == nil {
		return 0
	}
	return len(f.Faults)
}

// OtherFaults are the faults of no field of the page.
func (f *Form) OtherFaults() (list []string) {
	for field, reason := range f.Faults {
		if !slices.Contains(f.Known, field) {
			list = append(list, reason)
		}
	}
	slices.Sort(list)
	return list
}

// A field is one of a form: its label, its hint, its value and its fault. The input stands between the templates field
// and /field, and has the attributes Attrs.
type field struct {
	form              *Form
	Name, Label, Hint string
}

// newField returns a field of a form with a label, and perhaps a hint.
func newField(form *Form, name, label string, hint ...string) field {
	f := field{form: form, Name: name, Label: label}
	if len(hint) > 0 {
		f.Hint = hint[0]
	}
	return f
}

// Value returns the value of the field.
func (f field) Value() string { return f.form.Value(f.Name) }

// Has reports whether the field has a value, among possibly several.
func (f field) Has(value any) bool { return f.form.Has(f.Name, value) }

// Fault is why the value was refused; empty if it was not.
func (f field) Fault() string { return f.form.fault(f.Name) }

// Attrs are the attributes that join the input to its label, its hint and its fault.
func (f field) Attrs() template.HTMLAttr {
	name := template.HTMLEscapeString(f.Name)
	return template.HTMLAttr(fmt.Sprintf(`id="%s" name="%[1]s"`, name)) + f.Described()
}

// Described are those of [field.Attrs] for hint and fault alone.
func (f field) Described() template.HTMLAttr {
	name, by := template.HTMLEscapeString(f.Name), ""
	if f.Hint != "" {
		by = name + "-hint"
	}
	if f.Fault() == "" {
		if by == "" {
			return ""
		}
		return template.HTMLAttr(` aria-describedby="` + by + `"`)
	}
	if by != "" {
		by += " "
	}
	return template.HTMLAttr(` aria-invalid="true" aria-describedby="` + by + name + `-fault"`)
}

// An option is a checkbox or a radio button with its label.
type option struct {
	field
	Type  string // checkbox or radio
	ID    string
	Value string
	Note  string // behind the label; may be empty
	Group bool   // whether it is one of several, whose fault is shown once
}

// newOption returns one of several options of a field.
func newOption(form *Form, kind, name string, value any, label string, note ...string) option {
	o := option{field: newField(form, name, label), Type: kind, Value: fmt.Sprint(value), Group: true}
	o.ID = name + "-" + o.Value
	if len(note) > 0 {
		o.Note = note[0]
	}
	return o
}

// newCheckbox returns the only checkbox of a field.
func newCheckbox(form *Form, name, value, label string) option {
	return option{field: newField(form, name, label), Type: "checkbox", ID: name, Value: value}
}

// Checked reports whether the option is chosen.
func (o option) Checked() bool { return o.Has(o.Value) }

// A confirmation is a checkbox that says what cannot be undone, and the button that does it. The form needs the
// checkbox "sure" with the value "yes".
type confirmation struct {
	Checkbox option
	Button   string
}

func newConfirmation(form *Form, text, button string) confirmation {
	return confirmation{newCheckbox(form, "sure", "yes", text), button}
}

// A Choice is one of a list, with its title.
type Choice struct {
	Value any
	Title string
}

// A selection is a field whose input is a list of choices.
type selection struct {
	field
	Choices []Choice
}

func newSelection(f field, choices []Choice) selection { return selection{f, choices} }
