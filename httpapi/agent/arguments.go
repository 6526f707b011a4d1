package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
)

// An argument is one of a tool.
type argument struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // string, boolean or object
	Required bool   `json:"required"`
	Doc      string `json:"doc"`
	Example  string `json:"example"`
	enum     []string
}

// A schema is a JSON Schema.
type schema = map[string]any

// inputSchema is the schema of the arguments.
func (t *tool) inputSchema() schema {
	properties, required := schema{}, []string{}
	for _, a := range t.Arguments {
		p := schema{"type": a.Kind, "description": a.Doc}
		if a.enum != nil {
			p["enum"] = a.enum
		}
		if a.Example != "" {
			p["examples"] = []string{a.Example}
		}
		if properties[a.Name] = p; a.Required {
			required = append(required, a.Name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// values are the arguments of a call, by name: texts, booleans, and objects as JSON.
type values map[string]any

func (v values) text(name string) string { s, _ := v[name].(string); return s }

// flag returns a flag, or its default if it was not given.
func (v values) flag(name string, fallback bool) bool {
	if is, ok := v[name].(bool); ok {
		return is
	}
	return fallback
}

// An argumentError reports what is wrong with the arguments of a tool, and how to correct it.
type argumentError []string

func (e argumentError) Error() string { return strings.Join(e, "\n") }

func argumentf(format string, args ...any) error { return argumentError{fmt.Sprintf(format, args...)} }

// maxFaults bounds how many faults of a kind are listed.
const maxFaults = 5

// parse reads the arguments. The error names each that is wrong.
func (t *tool) parse(raw json.RawMessage) (values, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, argumentf("The arguments must be a JSON object. %s", t.listArguments())
	}
	v, faults := values{}, argumentError{}
	for _, a := range t.Arguments {
		value, fault, example := given[a.Name], "", view.TextIf(a.Example != "", ", such as "+a.Example)
		delete(given, a.Name)
		switch absent := value == nil || string(value) == "null"; {
		case a.Required && (absent || string(value) == `""`):
			fault = "is required" + example + "."
		case !absent:
			v[a.Name], fault = a.read(value, example, t.table)
		}
		if fault != "" {
			faults = append(faults, a.Name+": "+fault)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given))[:min(len(given), maxFaults)] {
		near := phrase.Nearest(name, kit.Map(t.Arguments, func(a argument) string { return a.Name })...)
		faults = append(faults, fmt.Sprintf("There is no argument %q.%s", clipPrintable(name), suggestion(near)))
	}
	if len(faults) > 0 {
		return nil, append(faults, t.listArguments())
	}
	return v, nil
}

// read returns the value of an argument, or its fault. The table is that of the operations which it may name.
func (a argument) read(value json.RawMessage, example string, table httpapi.Table) (v any, fault string) {
	switch a.Kind {
	case "boolean":
		if s := string(value); s != "true" && s != "false" {
			return nil, "must be true or false, without quotes."
		}
		return string(value) == "true", ""
	case "object":
		if value[0] != '{' {
			return nil, "must be a JSON object."
		}
		return value, ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, "must be a text" + example + "."
	}
	if a.enum != nil && !slices.Contains(a.enum, s) {
		near := phrase.Nearest(s, a.enum...)
		if ep, ok := table.Nearest(s); ok && slices.Contains(a.enum, ep.Name()) {
			near = ep.Name()
		}
		return nil, fmt.Sprintf("%q is not one of %s.%s", clipPrintable(s), strings.Join(a.enum, ", "), suggestion(near))
	}
	return s, ""
}

// suggestion suggests the name that was probably meant, if there is one.
func suggestion(near string) string { return view.TextIf(near != "", " Did you mean "+near+"?") }

// clipPrintable returns the beginning of a caller's text, or of why it is wrong, for the caller.
func clipPrintable(s string) string {
	const most = 300 // bytes
	return render.Printable(phrase.Clip(s, most))
}

// listArguments lists the arguments.
func (t *tool) listArguments() string {
	return t.Name + " takes " + strings.Join(kit.Map(t.Arguments, func(a argument) string {
		return a.Name + view.TextIf(a.Required, " (required)")
	}), ", ") + "."
}
