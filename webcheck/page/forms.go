package page

import (
	"slices"

	"golang.org/x/net/html/atom"
)

// maxInputs bounds the names and types of inputs that are kept of a form.
const maxInputs = 50

func (r *reader) startForm(e *element) {
	r.Counts.Forms++
	at := -1
	f := Form{Method: "get"}
	if m := lower(e.value("method")); m == "post" || m == "dialog" {
		f.Method = m
	}
	if action := e.value("action"); action != "" {
		f.Action, f.HasAction = r.ref(action), true
	}
	if keep(r, &r.Forms, maxForms, 200+f.Action.size(), f) {
		at = len(r.Forms) - 1
	}
	if e.detached {
		r.tableForm = at + 1
		return
	}
	r.forms = append(r.forms, at)
}

// form returns the form that is open, or nil.
func (r *reader) form() *Form {
	at := r.tableForm - 1
	if n := len(r.forms); n > 0 {
		at = r.forms[n-1]
	}
	if at < 0 {
		return nil
	}
	return &r.Forms[at]
}

// input takes an element with which something is entered.
func (r *reader) input(e *element) {
	kind := e.name
	if e.atom == atom.Input || e.atom == atom.Button {
		if kind = lower(e.value("type")); kind == "" {
			kind = map[atom.Atom]string{atom.Input: "text", atom.Button: "submit"}[e.atom]
		}
	}
	password := e.atom == atom.Input && kind == "password"
	if password {
		r.Counts.Passwords++
	}
	if e.atom == atom.Input && kind == "image" {
		r.loadsFrom(e, "src", false)
	}
	f := r.form()
	if f == nil {
		return
	}
	if action := e.value("formaction"); action != "" { // where a button sends the form instead
		keep(r, &f.Actions, maxInputs, len(action)+64, r.ref(action))
	}
	f.Inputs++
	f.HasPassword = f.HasPassword || password
	kind = clip(kind, 30)
	if !slices.Contains(f.Types, kind) {
		keep(r, &f.Types, maxInputs, 50, kind)
	}
	if name := clip(lower(e.value("name")), 100); name != "" && !slices.Contains(f.Names, name) {
		keep(r, &f.Names, maxInputs, 100, name)
	}
}
