package dashboard

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
)

// An operation is an endpoint as the playground shows it.
type operation struct{ httpapi.Endpoint }

// operation returns the one of a name, as the API of the dashboard serves it.
func (d *dashboard) operation(name string) (operation, bool) {
	ep, ok := d.endpoints.ByName(name)
	return operation{ep}, ok
}

// Page is the whole path of the page.
func (op operation) Page() string { return "/dashboard/playground/" + op.Slug() }

// Docs is the path of the documentation.
func (op operation) Docs() string { return "/docs/" + op.Slug() }

// Description returns what the operation examines.
func (op operation) Description() string { return strings.Join(op.Endpoint.Description(), " ") }

// Price returns the cost of a reply.
func (op operation) Price() string { return phrase.Count(op.Credits, "credit") }

// families are the headings in their order.
var families = []string{"Mail", "DNS and registration", "Web", "Hosted SPF", "Text"}

// An input is one field of the form of an operation.
type input struct {
	httpapi.Param
	Value  string   // as it was typed
	Chosen []string // of a list with choices
	Fault  string
}

// Widget returns the kind of input element for the value.
func (i input) Widget() string {
	is := func(kind string) bool { return slices.Contains(i.Kinds, kind) }
	switch {
	case i.Bytes:
		return "file"
	case i.List && len(i.Enum) > 0:
		return "choices"
	case i.List:
		return "lines"
	case len(i.Enum) > 0:
		return "choice"
	case is("boolean"):
		return "switch"
	case is("integer"), is("number"):
		return "number"
	case i.MaxLen > maxLineLength:
		return "text"
	}
	return "line"
}

// maxLineLength is the length from which on a text has more than one line.
const maxLineLength = 2048

// Field is the name of the elements, which no other field of a form has.
func (i input) Field() string { return "f." + i.Name }

// Checked reports whether a switch is on.
func (i input) Checked() bool { return cmp.Or(i.Value, i.Default) == "true" }

// acronyms are words of names that are written in capitals.
var acronyms = []string{
	"ip", "url", "xml", "csr", "pem", "dkim", "smtp", "dnssec", "hmac", "spf", "ptr", "helo", "psd", "id",
}

// Label is the name in words.
func (i input) Label() string {
	words := strings.Split(strings.TrimSuffix(i.Name, "_base64"), "_")
	for n, w := range words {
		if slices.Contains(acronyms, w) {
			words[n] = strings.ToUpper(w)
		}
	}
	return phrase.Capitalize(strings.Join(words, " "))
}

// Has reports whether one of the choices was made.
func (i input) Has(choice string) bool { return slices.Contains(i.Chosen, choice) }

// formatBound formats a bound of a number; empty without one.
func formatBound(bound *float64) string {
	if bound == nil {
		return ""
	}
	return fmt.Sprintf("%.0f", *bound)
}

// Bounds describes the permitted numbers.
func (i input) Bounds() string {
	return view.List(view.TextIf(i.Min != nil, "at least "+formatBound(i.Min)),
		view.TextIf(i.Max != nil, "at most "+formatBound(i.Max)))
}

// Hint describes the value, and the permitted ones.
func (i input) Hint() string {
	parts := []string{i.Doc, i.Bounds(), view.TextIf(i.Widget() == "lines", "one on each line")}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// inputs returns the fields of the form of an operation, with the values of a request and their faults. Faults that
// belong to no field are returned separately.
func (op operation) inputs(fields []byte, faults []httpapi.Violation) (list []input, others []string) {
	values := map[string]json.RawMessage{}
	_ = json.Unmarshal(fields, &values) // a request that is not an object has no values
	byField := map[string]string{}
	for _, v := range faults {
		name := v.Field
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		byField[name] = strings.TrimPrefix(byField[name]+"; "+v.Message, "; ")
	}
	for _, p := range op.Params() {
		i := input{Param: p, Fault: byField[p.Name]}
		delete(byField, p.Name)
		if p.List {
			var entries []json.RawMessage
			_ = json.Unmarshal(values[p.Name], &entries) // as above
			i.Chosen = kit.Map(entries, rawText)
			i.Value = strings.Join(i.Chosen, "\n")
		} else {
			i.Value = rawText(values[p.Name])
		}
		list = append(list, i)
	}
	for _, v := range faults {
		if text, remains := byField[v.Field]; remains {
			others = append(others, strings.TrimPrefix(v.Field+": "+text, ": "))
			delete(byField, v.Field)
		}
	}
	return list, others
}

// rawText is a value as it is typed: a string without its quotation marks.
func rawText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// fields returns the request of a form: a JSON object of all fields that were filled in.
func (op operation) fields(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	add := func(name string, value []byte) {
		fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: ","}[b.Len() > 0], name, value)
	}
	for _, p := range op.Params() {
		i := input{Param: p}
		// Browsers send line ends as CR and LF, whatever was pasted (HTML, section 4.10.21.8).
		sent := kit.Map(r.PostForm[i.Field()], func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") })
		text := strings.Join(sent, "\n")
		switch w := i.Widget(); {
		case w == "switch":
			i.Value = fmt.Sprint(text != "")
			if i.Checked() != (p.Default == "true") {
				add(p.Name, []byte(i.Value))
			}
		case p.List:
			entries := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
			entries = slices.DeleteFunc(kit.Map(entries, strings.TrimSpace), func(s string) bool { return s == "" })
			if len(entries) > 0 {
				list := kit.Map(entries, func(s string) string { return string(p.JSON(s)) })
				add(p.Name, []byte("["+strings.Join(list, ",")+"]"))
			}
		case w == "file":
			data, err := uploadedFile(r, i.Field())
			if err != nil {
				return nil, err
			}
			if text = cmp.Or(base64.StdEncoding.EncodeToString(data), strings.Join(strings.Fields(text), "")); text != "" {
				add(p.Name, p.JSON(text))
			}
		case w == "text" && (text != "" || p.Required):
			add(p.Name, p.JSON(text))
		case strings.TrimSpace(text) != "":
			add(p.Name, p.JSON(strings.TrimSpace(text)))
		}
	}
	return []byte("{" + b.String() + "}"), nil
}

// uploadedFile is the file of a form, or nil where none was chosen.
func uploadedFile(r *http.Request, name string) ([]byte, error) {
	f, _, err := r.FormFile(name)
	if err != nil {
		return nil, nil // the request has none
	}
	defer f.Close()
	return io.ReadAll(f) // the whole form is bounded
}
