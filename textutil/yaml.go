package textutil

import (
	"errors"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A YAMLFormatRequest asks for a YAML text in another layout.
type YAMLFormatRequest struct {
	Text     string `json:"text" maxlen:"1048576" doc:"the YAML text, valid UTF-8" example:"b:   1 # one\na: [x,y]"`
	Indent   *int   `json:"indent,omitempty" min:"1" max:"8" default:"2" doc:"spaces for each level"`
	SortKeys bool   `json:"sort_keys,omitempty" default:"false" doc:"whether to sort the pairs of mappings by key"`
}

// A YAMLToJSONRequest asks for YAML to be converted to JSON.
type YAMLToJSONRequest struct {
	Text string `json:"text" maxlen:"1048576" doc:"the YAML text, valid UTF-8" example:"a: 1\nb: [80, 443]"`
	// Indent is the number of spaces for each level, from 0 to 8. Nil means 2; 0 means line breaks without
	// indentation.
	Indent       *int `json:"indent,omitempty" min:"0" max:"8" default:"2" doc:"spaces for each level; 0 breaks lines only"`
	AllDocuments bool `json:"all_documents,omitempty" default:"false" doc:"whether the result is a list of all documents"`
	// Merge enables the merge key "<<" of YAML 1.1, which Docker Compose and CI configurations use: the pairs
	// of its value are merged into the enclosing mapping.
	Merge bool `json:"merge,omitempty" default:"false" doc:"whether << merges the mapping behind it into the one around, as in YAML 1.1"`
}

// A YAMLReport is a YAML text in another form.
type YAMLReport struct {
	Valid          bool      `json:"valid" doc:"whether the text is valid YAML 1.2"`
	Result         *string   `json:"result" doc:"the text in the other form, null if it is not valid"`
	RootType       RootType  `json:"root_type" doc:"type of the first document, unknown if the text is not valid"`
	Depth          int       `json:"depth" min:"0" doc:"how deeply collections are nested"`
	DocumentsCount int       `json:"documents_count" min:"0" doc:"number of documents in the text"`
	Error          YAMLError `json:"error,omitzero" doc:"why the text is not valid"`
	Findings       []Finding `json:"findings" doc:"what works, but should be better"`
	OmittedCount   int       `json:"omitted_findings_count" min:"0" doc:"findings beyond the first hundred"`
	InputBytes     int       `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes    int       `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
}

// A YAMLError is the position and the reason of a fault in a text.
type YAMLError struct {
	Message string `json:"message" doc:"what is wrong"`
	Line    int    `json:"line" min:"1" doc:"line, from 1"`
	Column  int    `json:"column" min:"1" doc:"character in the line, from 1"`
}

// FormatYAML returns a YAML text in another layout. It changes indentation, spacing and, on request, the
// order of pairs; comments, the style and the text of scalars, anchors, tags, directives and single empty
// lines are kept. Aliases are not expanded. If the text is not YAML, the report has Valid false. The error is
// an *[InputError]; the limits are those of [YAMLToJSON].
func FormatYAML(req YAMLFormatRequest) (*YAMLReport, error) {
	indent, err := indentOr2(req.Indent, 1)
	if err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readYAML(req.Text)
	return reading.report(reading.format(indent, req.SortKeys, maxResult))
}

// YAMLToJSON converts YAML 1.2 to JSON. The order of keys and the digits of numbers are kept; aliases are
// expanded; keys that are not strings become their text. Scalars have the types of the core schema (YAML
// 1.2.2 section 10.3), in which "yes" is a string, and so is "<<" unless Merge is set. Tags without a JSON
// type are dropped with a finding, and a number that a double cannot hold is a finding. If the text is not
// YAML, the report has Valid false.
//
// The error is an *[InputError], also for a text that is nested more than 256 levels deep, has more than
// 600,000 values, or would become longer than 8 MiB. A text with aliases may grow to 64 KiB or to eight times
// its length, whichever is more.
func YAMLToJSON(req YAMLToJSONRequest) (*YAMLReport, error) {
	indent, err := indentOr2(req.Indent, 0)
	if err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readYAML(req.Text)
	reading.merge = req.Merge
	if req.Merge {
		reading.list = slices.DeleteFunc(reading.list, func(f Finding) bool { return f.Code == codeYAMLMerge })
	}
	for i := range reading.list {
		if f := &reading.list[i]; f.Code == codeYAMLMerge {
			f.Severity, f.Advice = Warning, "Set merge to have the mapping merged, or write the merged pairs out."
		}
	}
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
	stream   *yaml.Stream
	merge    bool  // whether "<<" merges
	err      error // why the text cannot be used: a [yaml.SyntaxError] or an [InputError]
	// placeholders are the keys that replace the contents of the braces of templates; nil without templates.
	placeholders map[*yaml.Node]bool
	findings
}

// maxYAMLNodes bounds the nodes of a text. Every mebibyte has fewer, unless it is made of brackets with empty pairs.
const maxYAMLNodes = 600_000

// readYAML reads a text that is valid UTF-8, and has at most [maxYAMLNodes].
func readYAML(original string) *yamlReading { return readYAMLWithin(original, maxYAMLNodes) }

// readYAMLWithin reads a text that has at most so many nodes.
func readYAMLWithin(original string, nodes int) *yamlReading {
	r := &yamlReading{original: original}
	text, marked := strings.CutPrefix(original, byteOrderMark)
	if marked {
		r.add(Finding{Code: codeYAMLMark, Severity: Info,
			Title:  "Byte-order mark at the beginning",
			Detail: "The text begins with U+FEFF, which has no meaning in UTF-8; the result is without it.",
			Advice: "Save the text without a byte-order mark.", Reference: "YAML 1.2.2 section 5.2",
			Location: &Location{Offset: 0, Length: len(byteOrderMark)}})
	}
	r.text = yaml.LineFeeds(text)
	r.stream, r.err = yaml.Parse(r.text, nodes)
	if r.err == nil {
		r.err = r.stream.Check()
	}
	if limit, ok := errors.AsType[*yaml.LimitError](r.err); ok {
		r.err = invalid("text", "%s", limit.Reason)
	}
	if r.err != nil {
		r.stream = nil
		return r
	}
	for _, doc := range r.stream.Documents {
		r.findPitfalls(doc.Root, rootRole)
	}
	return r
}

func (r *yamlReading) format(indent int, sorted bool, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	result, unsorted := r.stream.Format(yaml.Layout{Indent: indent, SortKeys: sorted, Limit: limit})
	for _, doc := range unsorted {
		r.add(Finding{Code: "text.yaml.keys.anchored", Severity: Info,
			Title:    "Keys not sorted because of an alias",
			Detail:   "Sorting would leave an alias before its anchor, so the document keeps the order of its keys.",
			Location: &Location{Offset: doc.Start, Length: 0}})
	}
	if len(result) > limit {
		return "", invalid("text", "would become more than %d bytes with this layout; that is the most", limit)
	}
	return result, nil
}

func (r *yamlReading) report(result string, err error) (*YAMLReport, error) {
	report := &YAMLReport{RootType: UnknownType, InputBytes: len(r.original)}
	if r.stream != nil {
		report.Depth, report.DocumentsCount = r.stream.Depth, len(r.stream.Documents)
	}
	if err != nil {
		wrong, ok := errors.AsType[*yaml.SyntaxError](err)
		if !ok {
			return nil, err
		}
		line, column := yaml.Position(r.text, wrong.Offset)
		report.Error = YAMLError{Message: wrong.Message, Line: line, Column: column}
	} else {
		report.Valid, report.Result, report.OutputBytes = true, &result, len(result)
		report.RootType = r.rootType()
	}
	r.addPlaces(r.text, 0)
	report.Findings, report.OmittedCount = r.all(), r.omitted
	r.locate(report.Findings)
	return report, nil
}

// locate turns places in the text that was read into places in the original.
func (r *yamlReading) locate(list []Finding) {
	text := strings.TrimPrefix(r.original, byteOrderMark)
	var pairs []int // where the text that was read has one line feed for two characters
	for i := range len(text) - 1 {
		if text[i] == '\r' && text[i+1] == '\n' {
			pairs = append(pairs, i-len(pairs))
		}
	}
	original := func(at int) int {
		before, _ := slices.BinarySearch(pairs, at)
		return at + before + len(r.original) - len(text)
	}
	for _, f := range list {
		if f.Location != nil && f.Code != codeYAMLMark {
			end := original(f.Location.Offset + f.Location.Length)
			f.Location.Offset = original(f.Location.Offset)
			f.Location.Length = end - f.Location.Offset
		}
	}
}

func (r *yamlReading) rootType() RootType {
	if len(r.stream.Documents) == 0 {
		return NullType
	}
	root := r.stream.Documents[0].Root
	switch root.Kind() {
	case yaml.Sequence:
		return ArrayType
	case yaml.Mapping:
		return ObjectType
	}
	switch t, _, _ := r.stream.Resolve(root); t {
	case yaml.Null:
		return NullType
	case yaml.Bool:
		return BooleanType
	case yaml.Int, yaml.Float, yaml.NotFinite:
		return NumberType
	}
	return StringType
}
