package page

import "golang.org/x/net/html/atom"

// maxInputs bounds the names and types of inputs that are kept of a form.
const maxInputs = 50

func (r *reader) startForm(e *element) {
	r.Counts.Forms++
	at := -1
	if r.keep(len(r.Forms), maxForms, 200) {
		f := Form{Method: "get"}
		if m := lower(e.value("method")); m == "post" || m == "dialog" {
			f.Method = m
		}
		if action := e.value("action"); action != "" {
			f.Action, f.HasAction = r.ref(action), true
			r.kept += f.Action.size()
		}
		at = len(r.Forms)
		r.Forms = append(r.Forms, f)
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
		r.loads("input", r.ref(e.value("src")), false, "")
	}
	if action := e.value("formaction"); action != "" {
		r.formAction(action)
	}
	f := r.form()
	if f == nil {
		return
	}
	f.Inputs++
	f.HasPassword = f.HasPassword || password
	kind = clip(kind, 30)
	if !contains(f.Types, kind) && r.keep(len(f.Types), maxInputs, 50) {
		f.Types = append(f.Types, kind)
	}
	if name := clip(lower(e.value("name")), 100); name != "" && !contains(f.Names, name) &&
		r.keep(len(f.Names), maxInputs, 100) {
		f.Names = append(f.Names, name)
	}
}

// formAction keeps where a button sends a form to instead.
func (r *reader) formAction(action string) {
	if f := r.form(); f != nil && r.keep(len(f.Actions), maxInputs, len(action)+64) {
		f.Actions = append(f.Actions, r.ref(action))
	}
}
