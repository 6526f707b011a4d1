package textutil_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/diagkit/diagkit/textutil"
)

func ExampleFormatJSON() {
	report, err := textutil.FormatJSON(textutil.JSONFormatRequest{
		Text: `{"price": 1.10, "tags": [], "price": 2}`, SortKeys: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*report.Result)
	fmt.Println(report.Findings[0].Detail)
	// Output:
	// {
	//   "price": 1.10,
	//   "price": 2,
	//   "tags": []
	// }
	// Line 1, column 29: The object has a member "price" already. Readers take the last or the first.
}

func ExampleFormatJSON_invalid() {
	report, err := textutil.FormatJSON(textutil.JSONFormatRequest{Text: "{\n  \"a\": 1,\n}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Valid, report.Error.Line, report.Error.Column, report.Error.Offset)
	fmt.Println(report.Error.Message)
	// Output:
	// false 2 9 10
	// nothing follows this comma; remove it
}

func ExampleJSONToYAML() {
	report, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{
		Text: `{"on": "yes", "version": "1.10", "price": 1.10, "script": "a\nb\n", "list": [{"k": null}, []]}`})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(*report.Result)
	// Output:
	// "on": "yes"
	// version: "1.10"
	// price: 1.10
	// script: |
	//   a
	//   b
	// list:
	//   - k: null
	//   - []
}

// formatJSON formats a text that is answered.
func formatJSON(t *testing.T, req textutil.JSONFormatRequest) *textutil.JSONReport {
	t.Helper()
	report, err := textutil.FormatJSON(req)
	require.NoError(t, err)
	assert.Equal(t, len(req.Text), report.InputBytes)
	return report
}

func TestFormatJSONLayout(t *testing.T) {
	zero, one, eight := 0, 1, 8
	const text = ` {"b" : [1, {} , [ ], {"x":"\u00e9"}],"a":true } `
	cases := []struct {
		name string
		req  textutil.JSONFormatRequest
		want string
	}{
		{"two spaces", textutil.JSONFormatRequest{},
			"{\n  \"b\": [\n    1,\n    {},\n    [],\n    {\n      \"x\": \"\\u00e9\"\n    }\n  ],\n  \"a\": true\n}"},
		{"no spaces", textutil.JSONFormatRequest{Indent: &zero},
			"{\n\"b\": [\n1,\n{},\n[],\n{\n\"x\": \"\\u00e9\"\n}\n],\n\"a\": true\n}"},
		{"one space, sorted", textutil.JSONFormatRequest{Indent: &one, SortKeys: true},
			"{\n \"a\": true,\n \"b\": [\n  1,\n  {},\n  [],\n  {\n   \"x\": \"\\u00e9\"\n  }\n ]\n}"},
		{"minified", textutil.JSONFormatRequest{Indent: &eight, Minify: true}, `{"b":[1,{},[],{"x":"\u00e9"}],"a":true}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.req.Text = text
			report := formatJSON(t, c.req)
			require.NotNil(t, report.Result)
			assert.Equal(t, c.want, *report.Result)
			assert.Equal(t, len(c.want), report.OutputBytes)
			assert.Equal(t, textutil.ObjectType, report.RootType)
			assert.Equal(t, 3, report.Depth)
			assert.Empty(t, report.Findings)
			assert.NotNil(t, report.Findings)
		})
	}
}

func TestFormatJSONSortsByValue(t *testing.T) {
	report := formatJSON(t, textutil.JSONFormatRequest{Minify: true, SortKeys: true,
		Text: `{"é":1,"e\u0301":2,"\u0061":3,"B":4,"b":5,"a":6,"":7,"\ud83d\ude00":8,"\uffff":9}`})
	assert.Equal(t, `{"":7,"B":4,"\u0061":3,"a":6,"b":5,"e\u0301":2,"é":1,"\uffff":9,"\ud83d\ude00":8}`, *report.Result)
}

func TestFormatJSONErrors(t *testing.T) {
	cases := []struct {
		name, text           string
		line, column, offset int
		message              string
	}{
		{"empty", "", 1, 1, 0, "the value is missing; write one, such as {}"},
		{"blank", " \n ", 2, 2, 3, "the value is missing; write one, such as {}"},
		{"trailing comma", "[1,\n2,]", 2, 2, 5, "nothing follows this comma; remove it"},
		{"no comma", "[1\n 2]", 1, 3, 2,
			"a comma is missing here; write one before what follows in line 2, column 2"},
		{"no colon", `{"a" 1}`, 1, 6, 5, "a colon must follow the name; write one here"},
		{"open array", "{\"a\":\n[1", 2, 3, 8,
			"the text ends, but '[' of line 2, column 1 is still open; close it with ']'"},
		{"open string", `["a`, 1, 2, 1, `the string that opens here is not closed; write " where it ends`},
		{"line break in a string", "[\"a\n\"]", 1, 4, 3,
			`the string of line 1, column 2 is not closed on its line; close it with ", or write \n for a line break`},
		{"tab in a string", "[\"\t\"]", 1, 3, 2, `a string cannot contain a tab character; write \t`},
		{"column in characters", `["äöü" x]`, 1, 7, 9,
			"a comma is missing here; write one before what follows in line 1, column 8"},
		{"single quotes", "['a']", 1, 2, 1, `strings and names must be in double quotes; write " instead of '`},
		{"bare name", "{a: 1}", 1, 2, 1, `the name "a" must be in double quotes; write "a"`},
		{"bare word", "[abc]", 1, 2, 1, `"abc" is not a value; put text in double quotes: "abc"`},
		{"upper case", "[True]", 1, 2, 1, "True is written in lower case; write true"},
		{"not a number", "[NaN]", 1, 2, 1, "JSON has no NaN; numbers are finite, so write null or a string"},
		{"none", "None", 1, 1, 0, "JSON has no None; write null"},
		{"comment", "[1 // one\n]", 1, 4, 3, "JSON has no comments; remove it"},
		{"leading zero", "[012]", 1, 2, 1,
			`a number cannot begin with a 0 before other digits; remove it, or write "012" for text`},
		{"plus", "[+1]", 1, 2, 1, "a number has no plus; remove it"},
		{"point", "[1.]", 1, 2, 1, "digits must follow the point of a number; write 1.0"},
		{"exponent", "[1e]", 1, 3, 2, "digits must follow the exponent of a number; write them, or remove the e"},
		{"escape", `["\x"]`, 1, 3, 2, `a backslash with 'x' is not an escape; write \\ for a backslash`},
		{"short escape", `["\u12"]`, 1, 3, 2, `\u needs four hexadecimal digits; write \\u for a backslash and a u`},
		{"wrong bracket", "[1}", 1, 3, 2, "'}' cannot close '[' of line 1, column 1; close that with ']' first"},
		{"extra bracket", "[1]]", 1, 4, 3, "nothing is open that ']' could close; remove it"},
		{"two values", "{} {}", 1, 4, 3,
			"a second value begins here, and a JSON text has one; put the values in an array, [ … , … ], or convert " +
				"each line by itself if this is JSON Lines"},
		{"pair in an array", `["a":1]`, 1, 5, 4,
			"an array has no names; write { and } around its members instead of [ and ]"},
		{"space that is none", "[\u00a01]", 1, 2, 1,
			"U+00A0 (no-break space) is not white space in JSON; write a space in its place"},
		{"behind a byte-order mark", "\uFEFF[x]", 1, 2, 4, `"x" is not a value; put text in double quotes: "x"`},
		{"deeper than allowed", strings.Repeat("[", 600), 1, 601, 600,
			"the text ends, but '[' is still open; close it with ']'"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := formatJSON(t, textutil.JSONFormatRequest{Text: c.text})
			assert.False(t, report.Valid)
			assert.Nil(t, report.Result)
			assert.Equal(t, textutil.UnknownType, report.RootType)
			require.NotZero(t, report.Error)
			assert.Equal(t, textutil.JSONError{Message: c.message, Line: c.line, Column: c.column, Offset: c.offset},
				report.Error)
		})
	}
}

func TestFormatJSONFindings(t *testing.T) {
	cases := []struct {
		name, text string
		codes      string
		location   textutil.Location // of the last
	}{
		{"same name", `{"a":1,"a":2}`, "text.json.name.duplicate", textutil.Location{Offset: 7, Length: 3}},
		{"same name by escape", `{"a":1,"\u0061":2}`, "text.json.name.duplicate", textutil.Location{Offset: 7, Length: 8}},
		{"same name in other objects", `[{"a":{"a":1}},{"a":2}]`, "", textutil.Location{}},
		{"same name after many", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"a":2}`,
			"text.json.name.duplicate", textutil.Location{Offset: 67, Length: 3}},
		{"high surrogate", `["\ud800"]`, "text.json.string.lone_surrogate", textutil.Location{Offset: 2, Length: 6}},
		{"low surrogate", `["\udc00\ud800"]`, "text.json.string.lone_surrogate text.json.string.lone_surrogate",
			textutil.Location{Offset: 8, Length: 6}},
		{"surrogates", `["\ud83d\ude00"]`, "", textutil.Location{}},
		{"byte-order mark", "\uFEFF{}", "text.json.byte_order_mark", textutil.Location{Offset: 0, Length: 3}},
		{"infinite", `[1e400]`, "text.json.number.range", textutil.Location{Offset: 1, Length: 5}},
		{"zero", `[-1.5e-999]`, "text.json.number.range", textutil.Location{Offset: 1, Length: 9}},
		{"real zero", `[0e-999,-0.0e9]`, "", textutil.Location{}},
		{"inexact", `[9007199254740993]`, "text.json.number.precision", textutil.Location{Offset: 1, Length: 16}},
		{"inexact below zero", `[-9007199254740993]`, "text.json.number.precision", textutil.Location{Offset: 1, Length: 17}},
		{"the double of two integers", `[9007199254740992]`, "text.json.number.precision",
			textutil.Location{Offset: 1, Length: 16}},
		{"safe", `[9007199254740991,-9007199254740991]`, "", textutil.Location{}},
		{"zeros", `[1000000000000000]`, "", textutil.Location{}},
		{"written with an exponent", `[1e16,9.007199254740992e15,1E+23]`, "", textutil.Location{}},
		{"digits of a double", `[0.1,0.30000000000000004,0.10000000000000001,1.7976931348623157e308]`, "", textutil.Location{}},
		{"expansion of a double", `[0.1000000000000000055511151231257827]`, "", textutil.Location{}},
		{"long fraction", `[3.14159265358979323846]`, "text.json.number.digits", textutil.Location{Offset: 1, Length: 22}},
		{"integer as a fraction", `[9007199254740993.0]`, "text.json.number.digits",
			textutil.Location{Offset: 1, Length: 18}},
		{"integer with an exponent", `[9007199254740993e0]`, "text.json.number.digits",
			textutil.Location{Offset: 1, Length: 18}},
		{"in a string", `["9007199254740993"]`, "", textutil.Location{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := formatJSON(t, textutil.JSONFormatRequest{Text: c.text, Minify: true})
			require.True(t, report.Valid)
			assert.Equal(t, strings.TrimPrefix(c.text, "\uFEFF"), *report.Result)
			var codes []string
			for _, f := range report.Findings {
				codes = append(codes, f.Code)
			}
			assert.Equal(t, c.codes, strings.Join(codes, " "))
			if len(report.Findings) > 0 {
				assert.Equal(t, c.location, *report.Findings[len(report.Findings)-1].Location)
			}
		})
	}
}

func TestFormatJSONBoundsFindings(t *testing.T) {
	report := formatJSON(t, textutil.JSONFormatRequest{Text: "[" + strings.Repeat("1e999,", 1000) + "1]"})
	assert.Len(t, report.Findings, 100)
	assert.Equal(t, 900, report.OmittedCount)
}

func TestJSONRefuses(t *testing.T) {
	nine, minus := 9, -1
	deep := strings.Repeat("[", 513) + strings.Repeat("]", 513)
	cases := []struct {
		name   string
		text   string
		indent *int
		reason string
	}{
		{"text: no UTF-8", "[\"\xff\"]", nil, "byte 2"},
		{"text: too long", strings.Repeat(" ", textutil.MaxText) + "1", nil, "1048577 bytes"},
		{"text: too deep", deep, nil, "nested 513 deep"},
		{"indent: too wide", "[]", &nine, "is 9"},
		{"indent: negative", "[]", &minus, "is -1"},
	}
	operations := map[string]func(text string, indent *int) error{
		"format": func(text string, indent *int) error {
			_, err := textutil.FormatJSON(textutil.JSONFormatRequest{Text: text, Indent: indent})
			return err
		},
		"to-yaml": func(text string, indent *int) error {
			_, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text, Indent: indent})
			return err
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for name, operation := range operations {
				input, ok := errors.AsType[*textutil.InputError](operation(c.text, c.indent))
				require.True(t, ok, name)
				field, reason := input.InputField()
				want, _, _ := strings.Cut(c.name, ":")
				assert.Equal(t, want, field)
				assert.Contains(t, reason, c.reason)
			}
		})
	}
}

func TestJSONRefusesLongResults(t *testing.T) {
	eight := 8
	text := strings.Repeat("[", 250) + strings.Repeat("1,", 10000) + "1" + strings.Repeat("]", 250)
	_, format := textutil.FormatJSON(textutil.JSONFormatRequest{Text: text, Indent: &eight})
	text = strings.Repeat(`{"a":`, 250) + `"` + strings.Repeat(`b\n`, 10000) + `"` + strings.Repeat("}", 250)
	_, toYAML := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text, Indent: &eight})
	for _, err := range []error{format, toYAML} {
		input, ok := errors.AsType[*textutil.InputError](err)
		require.True(t, ok, err)
		assert.Contains(t, input.Reason, "would become more than 8388608 bytes")
	}
}

func TestFormatJSONOfDeepestText(t *testing.T) {
	text := strings.Repeat("[", 512) + strings.Repeat("]", 512)
	assert.Equal(t, 512, formatJSON(t, textutil.JSONFormatRequest{Text: text}).Depth)
}

// Strings that are something else to a reader when they are plain, and such that are not.
var (
	quotedStrings = strings.Split("y Y n N yes Yes YES no No NO on On ON off Off OFF true True TRUE false False FALSE "+
		"null Null NULL ~ 0 1 -1 +1 012 0o17 0x1F 0b101 1_000 12:30:45 1:30 190:20:30.15 1.5 .5 5. 1e3 1.0e+3 -.5 "+
		".inf -.Inf +.INF .nan .NaN .NAN 2001-12-14 2001-12-14t21:59:43.10-05:00 2001-1-1 << = - --- ... "+
		"? : a: :a: #a & &a *a !a !!a | > ' \" % @ ` , [ ] { } [a] {a} a:b: 685_230.15 +12", " ")
	quotedTexts = []string{"", " ", "a ", " a", "a: b", "a #b", "- a", "? a", ": a", "a\t", "\ta", "a\rb", "a\u0085b",
		"a\u2028b", "\uFEFFa", "\x00", "\x7f", "\n", "\n\n", " a\nb", "\ta\nb", "\na", "a\r\nb", "a\u0085\nb",
		"--- a", "... a", "2001-12-14 21:59:43.10 -5", "\U0010FFFF\uFFFE"}
	plainTexts = []string{"a", "abc def", "yEs", "nope", "1.2.3", "1-2", "a-b", "-a", "--a", "?a", ":a", "a:b", "a#b",
		"a'b", "x\"y", "x\\y", "ä", "日本", "😀", "http://example.com/?q=1#x", "12:30:61x", "2001-12-14x", "0xG", "1e", "e1",
		"a, b", "a [b]", "a {b}", "a & b", "a * b", "a ! b", "a | b", "a > b", "a % b", "a @ b", "a ` b", "<a>", "=a"}
)

func TestJSONToYAMLQuotes(t *testing.T) {
	for _, value := range append(quotedStrings, quotedTexts...) {
		result := stringToYAML(t, value)
		assert.Contains(t, "\"'|", result[:1], "%q became %q", value, result)
	}
	for _, value := range plainTexts {
		assert.Equal(t, value+"\n", stringToYAML(t, value))
	}
}

// stringToYAML returns a string as YAML. Another parser must read it as the same string, also as a key
// and in a list.
func stringToYAML(t *testing.T, value string) string {
	t.Helper()
	quoted := func(s string) string {
		var b strings.Builder
		b.WriteByte('"')
		for _, r := range s {
			if r < ' ' || r == '"' || r == '\\' {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String() + `"`
	}
	toYAML := func(text string) string {
		report, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text})
		require.NoError(t, err)
		require.True(t, report.Valid, text)
		return *report.Result
	}
	var values struct{ List, Nested [][]string }
	text := toYAML(fmt.Sprintf(`{"list":[[%s]],"nested":[[%[1]s,"x"]]}`, quoted(value)))
	require.NoError(t, yaml.Unmarshal([]byte(text), &values), text)
	assert.Equal(t, value, values.List[0][0], text)
	assert.Equal(t, value, values.Nested[0][0], text)
	var object map[any]any
	text = toYAML(fmt.Sprintf(`{%s:%[1]s}`, quoted(value)))
	require.NoError(t, yaml.Unmarshal([]byte(text), &object), text)
	assert.Equal(t, map[any]any{value: value}, object, text)
	return toYAML(quoted(value))
}

func TestJSONToYAMLLayout(t *testing.T) {
	one, four := 1, 4
	long := strings.Repeat("k", 1025)
	cases := []struct {
		name, text string
		indent     *int
		want       string
	}{
		{"scalar", "1.0", nil, "1.0\n"},
		{"empty", "{}", nil, "{}\n"},
		{"lists in lists", "[[[1,2]],[[]]]", nil, "- - - 1\n    - 2\n- - []\n"},
		{"one space", `{"a":[{"b":1,"c":[2]}]}`, &one, "a:\n - b: 1\n   c:\n    - 2\n"},
		{"four spaces", `{"a":[{"b":{"c":"d\ne"}}]}`, &four,
			"a:\n    - b:\n          c: |-\n              d\n              e\n"},
		{"literals", `["a\nb","a\nb\n","a\nb\n\n","a\n\n b","a\n"]`, nil,
			"- |-\n  a\n  b\n- |\n  a\n  b\n- |+\n  a\n  b\n\n- |-\n  a\n\n   b\n- |\n  a\n"},
		{"literal text", `"a\nb"`, nil, "|-\n  a\n  b\n"},
		{"long key", `{"` + long + `":{"a":[1]}}`, nil, "? " + long + "\n: a:\n    - 1\n"},
		{"key of lines", `{"a\nb":1}`, nil, "\"a\\nb\": 1\n"},
		{"lone surrogate", `{"\ud800":"\udfff"}`, nil, "\"\\uD800\": \"\\uDFFF\"\n"},
		{"last of the same name", `{"a":1,"b":2,"a":{"c":3,"c":4}}`, nil, "b: 2\na:\n  c: 4\n"},
		{"numbers", `[-0,1E400,1.10,123456789012345678901234567890]`, nil,
			"- -0\n- 1E400\n- 1.10\n- 123456789012345678901234567890\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: c.text, Indent: c.indent})
			require.NoError(t, err)
			require.True(t, report.Valid)
			assert.Equal(t, c.want, *report.Result)
		})
	}
}

func TestJSONToYAMLRefusesWhatYAMLCannotRead(t *testing.T) {
	text := strings.Repeat("[", 257) + strings.Repeat("]", 257)
	_, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text})
	input, ok := errors.AsType[*textutil.InputError](err)
	require.True(t, ok)
	assert.Contains(t, input.Reason, "256")
}
