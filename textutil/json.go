package textutil

import (
	"errors"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// byteOrderMark is what some editors begin a text with. In UTF-8 it says nothing.
const byteOrderMark = "\uFEFF"

// A RootType is the type of the outermost value: object, array, string, number, boolean, null or unknown.
type RootType string

// The types of values.
const (
	ObjectType  RootType = "object"
	ArrayType   RootType = "array"
	StringType  RootType = "string"
	NumberType  RootType = "number"
	BooleanType RootType = "boolean"
	NullType    RootType = "null"
	UnknownType RootType = "unknown" // the text is not valid
)

// Values lists the types.
func (RootType) Values() []string {
	return valuesOf(ObjectType, ArrayType, StringType, NumberType, BooleanType, NullType, UnknownType)
}

// A JSONFormatRequest asks for a JSON text in another layout.
type JSONFormatRequest struct {
	Text string `json:"text" maxlen:"1048576" doc:"the JSON text, valid UTF-8" example:"{\"b\":1.10,\"a\":[]}"`
	// Indent is the number of spaces for each level, from 0 to 8. Nil means 2; 0 means line breaks without
	// indentation.
	Indent   *int `json:"indent,omitempty" min:"0" max:"8" default:"2" doc:"spaces for each level; 0 breaks lines only"`
	Minify   bool `json:"minify,omitempty" default:"false" doc:"whether to leave out all white space"`
	SortKeys bool `json:"sort_keys,omitempty" default:"false" doc:"whether to sort the members of objects by name"`
}

// A JSONToYAMLRequest asks for JSON to be converted to YAML.
type JSONToYAMLRequest struct {
	Text   string `json:"text" maxlen:"1048576" doc:"the JSON text, valid UTF-8" example:"{\"on\":\"yes\",\"n\":1.10}"`
	Indent *int   `json:"indent,omitempty" min:"1" max:"8" default:"2" doc:"spaces for each level"`
}

// A JSONReport is a JSON text in another form.
type JSONReport struct {
	Valid        bool      `json:"valid" doc:"whether the text is valid JSON by RFC 8259"`
	Result       *string   `json:"result" doc:"the text in the other form, null if it is not valid"`
	RootType     RootType  `json:"root_type" doc:"type of the outermost value, unknown if the text is not valid"`
	Depth        int       `json:"depth" min:"0" doc:"how deeply objects and arrays are nested"`
	Error        JSONError `json:"error,omitzero" doc:"why the text is not valid"`
	Findings     []Finding `json:"findings" doc:"what works, but should be better"`
	OmittedCount int       `json:"omitted_findings_count" min:"0" doc:"findings beyond the first hundred"`
	InputBytes   int       `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes  int       `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
}

// A JSONError is the position and the reason of a fault in a text.
type JSONError struct {
	Message string `json:"message" doc:"what is wrong"`
	Line    int    `json:"line" min:"1" doc:"line, from 1"`
	Column  int    `json:"column" min:"1" doc:"character in the line, from 1"`
	Offset  int    `json:"offset" min:"0" doc:"byte in the text, from 0"`
}

// FormatJSON returns a JSON text in another layout. It changes only white space and, on request, the order of
// members: the text of numbers, escapes in strings, and members with duplicate names are kept. If the text is
// not JSON, the report has Valid false.
//
// Where RFC 8259 leaves a choice:
//
// - Members with the same name, escapes of half a surrogate pair, and numbers that a double cannot hold are
// accepted and survive; each is a finding. - A byte-order mark at the beginning is left out; that is a
// finding. - Text that is not UTF-8, is nested more than 512 levels deep, or would become longer than 8 MiB
// is an InputError.
//
// The error is an [InputError].
func FormatJSON(req JSONFormatRequest) (*JSONReport, error) {
	indent, err := indentOr2(req.Indent, 0)
	if err != nil {
		return nil, err
	}
	if req.Minify {
		indent = -1
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readJSON(req.Text)
	return reading.report(reading.format(indent, req.SortKeys, maxResult))
}

// JSONToYAML converts JSON to YAML. The order of members and the text of numbers are kept. Strings are quoted
// only where a YAML 1.2 or 1.1 parser would give them another type, and strings with several lines are
// literal blocks. [YAMLToJSON] converts the result back to the same JSON. The rules of [FormatJSON] apply,
// except that of members with the same name only the last is kept, because YAML does not allow duplicate
// keys, and that the maximum depth is 256. The error is an *[InputError].
func JSONToYAML(req JSONToYAMLRequest) (*JSONReport, error) {
	indent, err := indentOr2(req.Indent, 1)
	if err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readJSON(req.Text)
	return reading.report(reading.toYAML(indent, maxResult))
}

// A jsonReading is a JSON text that was read, as far as it can be.
type jsonReading struct {
	original  string
	text      string // without a byte-order mark
	root      RootType
	depth     int
	duplicate int   // offset of the first name that an object has twice, or -1
	err       error // why the text cannot be used: a [jsonError] or an [InputError]
	findings
}

// A jsonError says where and why a text is not JSON.
type jsonError struct {
	offset  int
	message string
}

func (e *jsonError) Error() string { return e.message }

// readJSON checks a text that is valid UTF-8.
func readJSON(original string) *jsonReading {
	r := &jsonReading{original: original, root: UnknownType}
	text, marked := strings.CutPrefix(original, byteOrderMark)
	if marked {
		// RFC 8259 section 8.1 lets a reader ignore it.
		r.add(Finding{Code: "text.json.byte_order_mark", Severity: Warning,
			Title:  "Byte-order mark at the beginning",
			Detail: "The text begins with U+FEFF, at which many readers stop; the result is without it.",
			Advice: "Save the text without a byte-order mark.", Reference: "RFC 8259 section 8.1",
			Location: &Location{Offset: 0, Length: len(byteOrderMark)}})
	}
	r.text = text
	s := jsonScanner{text: text, base: len(original) - len(text), duplicate: -1, findings: &r.findings}
	r.err = s.scan()
	r.depth, r.duplicate = s.depth, s.duplicate
	if r.err != nil {
		return r
	}
	r.root = rootTypes[text[s.root]]
	if s.depth > maxJSONDepth {
		r.err = invalid("text", "is nested %d deep; the most is %d", s.depth, maxJSONDepth)
	}
	return r
}

// rootTypes maps the first byte of a value to its type; other values are numbers.
var rootTypes = func() (types [256]RootType) {
	for i := range types {
		types[i] = NumberType
	}
	types['{'], types['['], types['"'] = ObjectType, ArrayType, StringType
	types['t'], types['f'], types['n'] = BooleanType, BooleanType, NullType
	return types
}()

func (r *jsonReading) format(indent int, sorted bool, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	text := r.text
	if sorted {
		text = sortJSON(text)
	}
	w := jsonLayout{text: text, indent: indent, limit: limit}
	if !w.write() {
		return "", invalid("text", "would become more than %d bytes with this layout; that is the most", limit)
	}
	return string(w.out), nil
}

func (r *jsonReading) report(result string, err error) (*JSONReport, error) {
	r.addPlaces(r.text, len(r.original)-len(r.text))
	report := &JSONReport{RootType: r.root, Depth: r.depth, InputBytes: len(r.original),
		Findings: r.all(), OmittedCount: r.omitted}
	if err == nil {
		report.Valid, report.Result, report.OutputBytes = true, &result, len(result)
		return report, nil
	}
	wrong, ok := errors.AsType[*jsonError](err)
	if !ok {
		return nil, err
	}
	line, column := yaml.Position(r.text, wrong.offset)
	report.RootType = UnknownType
	report.Error = JSONError{Message: wrong.message, Line: line, Column: column,
		Offset: wrong.offset + len(r.original) - len(r.text)}
	return report, nil
}
