package textutil

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A YAMLToJSONRequest asks for a YAML text as JSON.
type YAMLToJSONRequest struct {
	// Text is valid UTF-8 of at most [MaxText] bytes.
	Text string `json:"text" maxlen:"1048576" doc:"the YAML text, valid UTF-8" example:"a: 1\nb: [80, 443]"`

	// Indent is how many spaces each level has, 0 to 8. Nil means 2; with 0 there are line breaks only.
	Indent *int `json:"indent,omitempty" min:"0" max:"8" default:"2" doc:"spaces for each level; 0 breaks lines only"`

	// AllDocuments asks for a list of all documents. Otherwise the result is the first.
	AllDocuments bool `json:"all_documents,omitempty" default:"false" doc:"whether the result is a list of all documents"`
}

// A YAMLReport is a YAML text in another form.
type YAMLReport struct {
	Valid          bool       `json:"valid" doc:"whether the text is valid YAML 1.2"`
	Result         *string    `json:"result" doc:"the text in the other form, null if it is not valid"`
	RootType       RootType   `json:"root_type" doc:"type of the first document, unknown if the text is not valid"`
	Depth          int        `json:"depth" min:"0" doc:"how deep collections are nested"`
	DocumentsCount int        `json:"documents_count" min:"0" doc:"number of documents in the text"`
	Error          *YAMLError `json:"error,omitempty" doc:"why the text is not valid"`
	Findings       []Finding  `json:"findings" doc:"what works, but should be better"`
	OmittedCount   int        `json:"omitted_findings_count" min:"0" doc:"findings beyond the first hundred"`
	InputBytes     int        `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes    int        `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
}

// A YAMLError says where and why a text is not valid.
type YAMLError struct {
	Message string `json:"message" doc:"what is wrong"`
	Line    int    `json:"line" min:"1" doc:"line, from 1"`
	Column  int    `json:"column" min:"1" doc:"character in the line, from 1"`
}

// YAMLToJSON returns a YAML 1.2 text as JSON. The order of keys and the digits of numbers survive; what
// aliases stand for is written out; keys that are no strings become their text. Scalars have the types
// of the core schema (YAML 1.2.2 section 10.3), in which "yes" and "<<" are strings. A text that is no
// YAML is a report that says so. The error is an [InputError]: so is a text that is nested more than 256
// deep, has more than 160,000 values unless it is JSON, or would become more than 8 MiB.
func YAMLToJSON(req YAMLToJSONRequest) (*YAMLReport, error) {
	indent, err := indentOr2(req.Indent, 0)
	if err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readYAML(req.Text)
	return reading.report(reading.toJSON(indent, req.AllDocuments, maxResult))
}

// indentOr2 returns the indentation asked for, at least so much, or 2.
func indentOr2(indent *int, least int) (int, error) {
	if indent == nil {
		return 2, nil
	}
	if *indent < least || *indent > 8 {
		return 0, invalid("indent", "is %d; it is %d to 8", *indent, least)
	}
	return *indent, nil
}

const codeYAMLMark = "text.yaml.byte_order_mark"

// A yamlReading is a YAML text that was read, as far as it can be.
type yamlReading struct {
	original string
	text     string // without a byte-order mark, and with line feeds for all line breaks
	stream   *yamlStream
	json     bool // the text is JSON
	root     RootType
	err      error // why there is no stream
	findings
}

// readYAML reads a text that is valid UTF-8, and has at most [maxYAMLValues].
func readYAML(original string) *yamlReading { return readYAMLWithin(original, maxYAMLValues) }

// readYAMLWithin reads a text that has at most so many values, unless it is JSON.
func readYAMLWithin(original string, most int) *yamlReading {
	r := &yamlReading{original: original}
	text, marked := strings.CutPrefix(original, byteOrderMark)
	if marked {
		r.add(Finding{Code: codeYAMLMark, Severity: Info,
			Title:  "The text begins without a byte-order mark",
			Detail: "It begins with U+FEFF, which has no meaning in UTF-8; the result is without it.",
			Advice: "Save the text without a byte-order mark.", Reference: "YAML 1.2.2 section 5.2",
			Location: &Location{Offset: 0, Length: len(byteOrderMark)}})
	}
	if strings.IndexByte(text, '\r') >= 0 {
		// A carriage return is a line break too (YAML 1.2.2 section 5.4).
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	r.text = text
	if r.readJSON() {
		return r
	}
	r.stream, r.err = parseYAML(text, most)
	if r.err != nil {
		return r
	}
	keys, err := r.stream.checkKeys()
	if err != nil {
		r.stream, r.err = nil, err
		return r
	}
	r.findings.join(keys)
	r.warn()
	return r
}

// warn adds findings about what the grammar does not allow, but most readers do.
func (r *yamlReading) warn() {
	for _, offset := range r.stream.closers {
		r.add(Finding{Code: "text.yaml.flow.indentation", Severity: Warning,
			Title:     "Lines of a flow collection are indented more than the collection around",
			Detail:    "The closing bracket is not. Most readers accept that; strict ones do not.",
			Advice:    "Indent the closing bracket by a space more.",
			Reference: "YAML 1.2.2 section 7.4", Location: &Location{Offset: offset, Length: 1}})
	}
	for _, offset := range r.stream.dashes {
		r.add(Finding{Code: "text.yaml.plain.dash", Severity: Warning,
			Title:     "Something follows the dash that begins a plain scalar",
			Detail:    "A dash stands alone behind a key. It is taken as a string here; most readers refuse it.",
			Advice:    "Put the dash in quotes, or write null.",
			Reference: "YAML 1.2.2 section 7.3.3", Location: &Location{Offset: offset, Length: 1}})
	}
}

// toJSON returns the JSON of the text, of at most limit bytes.
func (r *yamlReading) toJSON(indent int, all bool, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	if r.json {
		return r.jsonToJSON(indent, all, limit)
	}
	w := &yamlWriter{yamlStream: r.stream, indent: indent, limit: limit}
	w.out = make([]byte, 0, min(len(r.text)+len(r.text)/2, limit)+64)
	err := w.documents(all)
	r.findings.join(w.findings)
	if err != nil {
		return "", err
	}
	return string(w.out), nil
}

// report returns the report of a result or of an error.
func (r *yamlReading) report(result string, err error) (*YAMLReport, error) {
	report := &YAMLReport{RootType: UnknownType, InputBytes: len(r.original)}
	if r.stream != nil {
		report.Depth, report.DocumentsCount = r.stream.depth, len(r.stream.docs)
	}
	if err != nil {
		wrong, ok := errors.AsType[*yamlError](err)
		if !ok {
			return nil, err
		}
		line, column := position(r.text, wrong.offset)
		report.Error = &YAMLError{Message: wrong.message, Line: line, Column: column}
	} else {
		report.Valid, report.Result, report.OutputBytes = true, &result, len(result)
		report.RootType = r.rootType()
	}
	report.Findings, report.OmittedCount = r.all(), r.omitted
	r.locate(report.Findings)
	return report, nil
}

// locate turns locations in the text that was read into such in the original.
func (r *yamlReading) locate(list []Finding) {
	if r.text == r.original {
		return
	}
	offsets := make(map[int]int, 2*len(list)) // from the text to the original
	for _, f := range list {
		if f.Location != nil {
			offsets[f.Location.Offset], offsets[f.Location.Offset+f.Location.Length] = 0, 0
		}
	}
	i := len(r.original) - len(strings.TrimPrefix(r.original, byteOrderMark))
	for at := 0; at <= len(r.text); at++ {
		if _, ok := offsets[at]; ok {
			offsets[at] = i
		}
		if strings.HasPrefix(r.original[i:], "\r\n") {
			i++
		}
		i++
	}
	for _, f := range list {
		if f.Location != nil && f.Code != codeYAMLMark {
			end := offsets[f.Location.Offset+f.Location.Length]
			f.Location.Offset = offsets[f.Location.Offset]
			f.Location.Length = end - f.Location.Offset
		}
	}
}

// rootType returns the type of the first document.
func (r *yamlReading) rootType() RootType {
	if r.json {
		return r.root
	}
	if len(r.stream.docs) == 0 {
		return NullType
	}
	root := r.stream.docs[0].tree
	switch root.Kind {
	case yaml.SequenceNode:
		return ArrayType
	case yaml.MappingNode:
		return ObjectType
	}
	switch t, _, _ := r.stream.resolve(root); t {
	case yamlNull:
		return NullType
	case yamlBool:
		return BooleanType
	case yamlInt, yamlFloat, yamlNotFinite:
		return NumberType
	}
	return StringType
}
