package textutil

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// compacted returns the tokens of a JSON text without white space, as the standard library sees them.
func compacted(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(strings.TrimPrefix(text, byteOrderMark))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// survives reports whether formatting keeps all tokens of a text, in each layout.
func survives(t testing.TB, name, text string) bool {
	t.Helper()
	zero := 0
	for _, req := range []JSONFormatRequest{{Text: text}, {Text: text, Minify: true}, {Text: text, Indent: &zero}} {
		report, err := FormatJSON(req)
		if err != nil || !report.Valid {
			t.Errorf("%s: refused: %+v, %v", name, report, err)
			return false
		}
		want := compacted(t, text)
		if compacted(t, *report.Result) != want || req.Minify && *report.Result != want {
			t.Errorf("%s: %q became %q", name, text, *report.Result)
			return false
		}
	}
	return true
}

func TestConformanceJSONParsing(t *testing.T) {
	files := diagtest.Suite(t, "text/json/nst_parsing/*.json")
	total, passed := map[string]int{}, map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, text := filepath.Base(file), string(data)
		kind := name[:1]
		total[kind]++
		ok := false
		switch {
		case kind == "y":
			ok = survives(t, name, text)
		case kind == "n":
			ok = refusedWithPosition(t, name, text)
		default:
			ok = policyHolds(t, name, text)
		}
		if ok {
			passed[kind]++
		}
	}
	for kind := range total {
		t.Logf("nst_parsing %s: %d/%d", kind, passed[kind], total[kind])
	}
}

// refusedWithPosition reports whether the text is found invalid at a position that it has.
func refusedWithPosition(t *testing.T, name, text string) bool {
	t.Helper()
	report, err := FormatJSON(JSONFormatRequest{Text: text})
	if !utf8.ValidString(text) {
		return isInputError(t, name, err)
	}
	if err != nil || report.Valid || report.Result != nil || report.Error.Message == "" {
		t.Errorf("%s: accepted: %+v, %v", name, report, err)
		return false
	}
	if wrong := wrongPlace(text, report.Error); wrong != "" {
		t.Errorf("%s: %+v in %.200q: %s", name, report.Error, text, wrong)
		return false
	}
	return true
}

// wrongPlace returns what is wrong about the place of an error, by what the standard library says and by counting
// anew, or nothing. What is before the place is the beginning of a valid text; and it is where the library stops, or
// where the token or the mark begins at which it does, or where a comma is missing before.
func wrongPlace(text string, e JSONError) string {
	text, marked := strings.CutPrefix(text, byteOrderMark)
	offset := e.Offset
	if marked {
		offset -= len(byteOrderMark)
	}
	line, column := 1, 1
	for _, c := range text[:offset] {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	if e.Message == "" || e.Line != line || e.Column != column {
		return fmt.Sprintf("it is at %d:%d", line, column)
	}
	if !continuable(text[:offset]) {
		return "what is before is wrong already"
	}
	stop := len(text)
	if strings.Count(text, "[") > 9000 {
		return ""
	}
	var wrong *json.SyntaxError
	var value any
	err := json.Unmarshal([]byte(text), &value)
	if errors.As(err, &wrong) && wrong.Error() != "unexpected end of JSON input" {
		stop = int(wrong.Offset) - 1
	}
	between := text[min(offset, stop):stop]
	quote := strings.HasPrefix(between, `"`) || strings.HasPrefix(between, "“") || strings.HasPrefix(between, "”")
	token := quote || !strings.ContainsAny(between, " \t\r\n[]{},:")
	// The place of a comma that is missing or too many, or the first brace of two.
	mark := slices.Contains([]string{"", ",", "{"}, strings.TrimRight(between, " \t\r\n"))
	if offset > stop || !token && !mark {
		return fmt.Sprintf("the library stops at byte %d", stop)
	}
	return ""
}

// continuable reports whether a text is the beginning of valid JSON.
func continuable(text string) bool {
	closers, quoted := []byte{}, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			closers = append(closers, c+2)
		case (c == ']' || c == '}') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		}
	}
	if len(closers) > 9000 {
		return true // the library does not read what is deeper than 10,000
	}
	slices.Reverse(closers)
	for _, more := range []string{"", "0", `"`, `":0`, ":0", `"":0`} {
		if json.Valid([]byte(text + more + string(closers))) {
			return true
		}
	}
	return false
}

func isInputError(t *testing.T, name string, err error) bool {
	t.Helper()
	if _, ok := err.(*InputError); !ok {
		t.Errorf("%s: got %v, want an InputError", name, err)
		return false
	}
	return true
}

// policyHolds reports whether a text that RFC 8259 leaves to the reader is treated as [FormatJSON] says:
// text that is not UTF-8, or too deep, is an InputError, what the grammar allows is accepted, and the
// rest is invalid.
func policyHolds(t *testing.T, name, text string) bool {
	t.Helper()
	report, err := FormatJSON(JSONFormatRequest{Text: text})
	switch {
	case !utf8.ValidString(text):
		return isInputError(t, name, err)
	case !json.Valid([]byte(strings.TrimPrefix(text, byteOrderMark))):
		return refusedWithPosition(t, name, text)
	case err != nil:
		return isInputError(t, name, err)
	case len(report.Findings) == 0:
		t.Logf("%s: accepted without a finding", name)
	}
	return survives(t, name, text)
}

func TestConformanceJSONTransform(t *testing.T) {
	files := diagtest.Suite(t, "text/json/nst_transform/*.json")
	passed := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, text := filepath.Base(file), string(data)
		if !utf8.ValidString(text) {
			_, err := FormatJSON(JSONFormatRequest{Text: text})
			if isInputError(t, name, err) {
				passed++
			}
			continue
		}
		if survives(t, name, text) {
			passed++
		}
	}
	t.Logf("nst_transform: %d/%d", passed, len(files))
}

func TestConformanceJSONPreserve(t *testing.T) {
	type vector struct{ Input string }
	cases, passed := diagtest.Cases[vector](t, diagtest.Vectors(t, "text/json/format_preserve.json")), 0
	for _, c := range cases {
		if survives(t, c.Input, c.Input) && roundTrips(t, c.Input) {
			passed++
		}
	}
	t.Logf("format_preserve: %d/%d", passed, len(cases))
}

func TestConformanceJSONToYAML(t *testing.T) {
	files := diagtest.Suite(t, "text/json/nst_parsing/y_*.json")
	passed := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if roundTrips(t, string(data)) {
			passed++
		}
	}
	t.Logf("json to yaml to json: %d/%d", passed, len(files))
}

// roundTrips reports whether a JSON text is the same after it was YAML, but for white space and escapes.
// Of members with the same name the last stays.
func roundTrips(t testing.TB, text string) bool {
	t.Helper()
	one, eight := 1, 8
	for _, indent := range []*int{nil, &one, &eight} {
		there, err := JSONToYAML(JSONToYAMLRequest{Text: text, Indent: indent})
		if err != nil || !there.Valid {
			t.Errorf("%q: %+v, %v", text, there, err)
			return false
		}
		back, err := YAMLToJSON(YAMLToJSONRequest{Text: *there.Result})
		if err != nil || !back.Valid {
			t.Errorf("%q became %q: %+v %v", text, *there.Result, back.Error, err)
			return false
		}
		if got, want := jsonOrdered(t, *back.Result), jsonOrdered(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %q became %q", text, *there.Result, *back.Result)
			return false
		}
	}
	return true
}

// jsonOrdered returns the tokens of a text with strings unquoted. Of members with the same name it has
// the last only.
func jsonOrdered(t testing.TB, text string) []string {
	t.Helper()
	text = strings.TrimPrefix(text, byteOrderMark)
	nodes := jsonNodes(text)
	var tokens []string
	var walk func(node int32)
	walk = func(node int32) {
		n := nodes[node]
		switch text[n.start] {
		case '[':
			tokens = append(tokens, "[")
			for item := node + 1; item < n.behind; item = nodes[item].behind {
				walk(item)
			}
			tokens = append(tokens, "]")
		case '{':
			tokens = append(tokens, "{")
			for _, m := range lastMembers(jsonMembers(nil, text, nodes, node)) {
				tokens = append(tokens, "name "+m.name)
				walk(m.node)
			}
			tokens = append(tokens, "}")
		case '"':
			tokens = append(tokens, "string "+yaml.Unquote(text[n.start:n.end]))
		default:
			tokens = append(tokens, text[n.start:n.end])
		}
	}
	walk(0)
	return tokens
}

// yamlForbids are vectors that YAML 1.2.2 does not allow, with the rule of its grammar.
var yamlForbids = map[string]string{"n: -": "[126] ns-plain-first"}

func TestConformanceYAMLScalars(t *testing.T) {
	type vector struct{ YAML, JSON string }
	cases, passed := diagtest.Cases[vector](t, diagtest.Vectors(t, "text/yaml/core_schema_scalars.json")), 0
	for _, c := range cases {
		if rule, ok := yamlForbids[c.YAML]; ok {
			c.JSON = "ERR " + rule
		}
		report, err := YAMLToJSON(YAMLToJSONRequest{Text: c.YAML})
		switch {
		case err != nil:
			t.Errorf("%q: %v", c.YAML, err)
		case c.JSON == "ERR-or-null-or-string":
			// Infinities and not-a-number are null, with a finding.
			if !report.Valid || !strings.Contains(*report.Result, "null") || len(report.Findings) != 1 {
				t.Errorf("%q: %+v", c.YAML, report)
				continue
			}
			passed++
		case strings.HasPrefix(c.JSON, "ERR"):
			if report.Valid {
				t.Errorf("%q: %s", c.YAML, *report.Result)
				continue
			}
			passed++
		case !report.Valid || !reflect.DeepEqual(jsonOrdered(t, *report.Result), jsonOrdered(t, c.JSON)):
			t.Errorf("%q: %+v", c.YAML, report)
		default:
			passed++
		}
	}
	t.Logf("core_schema_scalars: %d/%d", passed, len(cases))
}
