package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// An argument is one of a tool.
type argument struct {
	name     string
	kind     kind
	required bool
	doc      string
	example  string
	enum     []string
}

type kind string

const (
	text   kind = "string"
	flag   kind = "boolean"
	object kind = "object"
)

// A schema is a JSON Schema.
type schema = map[string]any

// input is the schema of the arguments.
func (t *tool) input() schema {
	properties, required := schema{}, []string{}
	for _, a := range t.arguments {
		p := schema{"type": a.kind, "description": a.doc}
		if a.enum != nil {
			p["enum"] = a.enum
		}
		if a.example != "" {
			p["examples"] = []string{a.example}
		}
		if properties[a.name] = p; a.required {
			required = append(required, a.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// values are the arguments of a call, by name.
type values map[string]any

func (v values) text(name string) string { s, _ := v[name].(string); return s }

// on is a flag, or what it is if it was not given.
func (v values) on(name string, without bool) bool {
	if is, ok := v[name].(bool); ok {
		return is
	}
	return without
}

// An argumentError tells what is wrong with the arguments of a tool, and how to mend it.
type argumentError []string

func (e argumentError) Error() string { return strings.Join(e, "\n") }

func argumentf(format string, args ...any) error { return argumentError{fmt.Sprintf(format, args...)} }

// parse reads the arguments. The error names each that is wrong.
func (t *tool) parse(raw json.RawMessage) (values, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, argumentf("The arguments must be a JSON object. %s", t.takes())
	}
	v, faults := values{}, argumentError{}
	for _, a := range t.arguments {
		value, ok := given[a.name]
		delete(given, a.name)
		switch {
		case !ok || string(value) == "null" || a.required && string(value) == `""`:
			if a.required {
				faults = append(faults, a.fault("is required"))
			}
		default:
			if fault := v.read(a, value); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	if len(given) == 0 && len(faults) == 0 {
		return v, nil
	}
	var unknown []string
	for name := range given {
		unknown = append(unknown, name)
	}
	slices.Sort(unknown)
	for _, name := range unknown[:min(len(unknown), maxTold)] {
		meant := ""
		if near := taglist.Nearest(name, t.names()...); near != "" {
			meant = " Did you mean " + near + "?"
		}
		faults = append(faults, fmt.Sprintf("There is no argument %q.%s", shown(name), meant))
	}
	return nil, append(faults, t.takes())
}

const (
	maxTold  = 5  // faults of a kind that are told
	maxShown = 60 // bytes of what a caller sent that are shown to it
)

// shown is a text from a caller, in a message for it.
func shown(s string) string { return render.Printable(diag.Clip(s, maxShown)) }

func (v values) read(a argument, value json.RawMessage) (fault string) {
	switch a.kind {
	case text:
		var s string
		if json.Unmarshal(value, &s) != nil {
			return a.fault("must be a text")
		}
		if a.enum != nil && !slices.Contains(a.enum, s) {
			meant := ""
			if near := taglist.Nearest(s, a.enum...); near != "" {
				meant = fmt.Sprintf("; did you mean %q?", near)
			}
			return a.fault(fmt.Sprintf("%q is none of %s%s", shown(s), strings.Join(a.enum, ", "), meant))
		}
		v[a.name] = s
	case flag:
		if s := string(value); s != "true" && s != "false" {
			return a.fault("must be true or false, without quotes")
		}
		v[a.name] = string(value) == "true"
	case object:
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil {
			return a.fault("must be a JSON object")
		}
		v[a.name] = value
	}
	return ""
}

// fault says what is wrong with an argument, and shows one that is right.
func (a argument) fault(is string) string {
	if a.example != "" {
		is += ", such as " + a.example
	}
	return a.name + ": " + is + "."
}

func (t *tool) names() []string {
	return diag.Map(t.arguments, func(a argument) string { return a.name })
}

// takes lists the arguments, the required ones first among them.
func (t *tool) takes() string {
	list := diag.Map(t.arguments, func(a argument) string {
		if a.required {
			return a.name + " (required)"
		}
		return a.name
	})
	return t.name + " takes " + strings.Join(list, ", ") + "."
}
