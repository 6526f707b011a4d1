package textutil_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

func ExampleYAMLToJSON() {
	report, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{
		Text: "base: &base {retries: 3}\nservice: *base\nenabled: yes\nmode: 0o17\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*report.Result)
	// Output:
	// {
	//   "base": {
	//     "retries": 3
	//   },
	//   "service": {
	//     "retries": 3
	//   },
	//   "enabled": "yes",
	//   "mode": 15
	// }
}

func ExampleYAMLToJSON_invalid() {
	report, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: "a:\n\tb: 1\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Valid, report.Error.Line, report.Error.Column, report.Error.Message)
	// Output:
	// false 2 1 a tab cannot indent; use spaces
}

func ExampleFormatYAML() {
	report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{
		Text: "# settings\n\nb:   [1,2]   # two\na:\n      - x\n      # last\n", SortKeys: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(*report.Result)
	// Output:
	// # settings
	//
	// a:
	//   - x
	//   # last
	// b: [1, 2] # two
}

// toJSON returns the report on a text that is answered, with the result on one line.
func toJSON(t *testing.T, text string) *textutil.YAMLReport {
	t.Helper()
	zero := 0
	report, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: text, Indent: &zero})
	require.NoError(t, err)
	assert.Equal(t, len(text), report.InputBytes)
	if report.Result != nil {
		assert.Equal(t, len(*report.Result), report.OutputBytes)
	}
	return report
}

func TestYAMLToJSONTypes(t *testing.T) {
	cases := []struct{ yaml, json string }{
		{"", "null"}, {"# nothing", "null"}, {"---", "null"}, {"~", "null"}, {"null", "null"}, {"nUll", `"nUll"`},
		{"true", "true"}, {"TRUE", "true"}, {"tRue", `"tRue"`}, {"False", "false"},
		{"12", "12"}, {"-12", "-12"}, {"+12", "12"}, {"012", "12"}, {"-007", "-7"}, {"00", "0"}, {"-0", "-0"},
		{"1_000", `"1_000"`}, {"0x1f", "31"}, {"0xFFFFFFFFFFFFFFFFFF", "4722366482869645213695"}, {"-0x1F", `"-0x1F"`},
		{"0o17", "15"}, {"0o18", `"0o18"`}, {"0b1", `"0b1"`}, {"0x", `"0x"`}, {"12:30:45", `"12:30:45"`},
		{"1.10", "1.10"}, {"1.", "1.0"}, {".5", "0.5"}, {"-.5", "-0.5"}, {"+1.5E+3", "1.5E+3"}, {"1.e2", "1.0e2"},
		{"01.5", "1.5"}, {"1e400", "1e400"}, {".", `"."`}, {"-", `null`}, {"1e", `"1e"`}, {"1.2.3", `"1.2.3"`}, {"+",
			`"+"`},
		{".inf", "null"}, {"-.Inf", "null"}, {"+.INF", "null"}, {".nan", "null"}, {"-.nan", `"-.nan"`},
		{"'12'", `"12"`}, {`"true"`, `"true"`}, {"!!str 12", `"12"`}, {"! 12", `"12"`}, {"!x 12", `"12"`},
		{"!!int '12'", "12"}, {"!!float 3", "3"}, {"!!null ''", "null"}, {"!!bool true", "true"}, {"!!binary aGk=",
			`"aGk="`},
		{"2001-12-14", `"2001-12-14"`}, {"yes", `"yes"`}, {"=", `"="`},
		{`"\x41\u00e9\U0001F600\ud83d\ude00\N\_\L\P\e\0"`, "\"Aé😀😀\u0085\u00a0\u2028\u2029\\u001b\\u0000\""},
		{`"\ud800"`, `"\ud800"`}, {`"a\tb\/c\"d\\"`, `"a\tb/c\"d\\"`}, {`"<&>"`, `"<&>"`},
	}
	for _, c := range cases {
		report := toJSON(t, c.yaml)
		if assert.NotNil(t, report.Result, c.yaml) && c.yaml != "-" {
			assert.Equal(t, c.json, *report.Result, c.yaml)
		}
	}
}

func TestYAMLToJSONCollections(t *testing.T) {
	cases := []struct{ name, yaml, json string }{
		{"keys that are no strings", "1: a\n2.50: b\ntrue: c\n~: d\n0x10: e",
			`{"1":"a","2.50":"b","true":"c","null":"d","16":"e"}`},
		{"keys that are collections", "[a, b]: 1\n? {c: d}\n: 2", `{"[\"a\",\"b\"]":1,"{\"c\":\"d\"}":2}`},
		{"key by alias", "&a k: 1\nl: {*a : 2}", `{"k":1,"l":{"k":2}}`},
		{"order", "z: 1\na: 2\n10: 3\n9: 4", `{"z":1,"a":2,"10":3,"9":4}`},
		{"no merging", "a: &a {x: 1}\nb:\n  <<: *a", `{"a":{"x":1},"b":{"<<":{"x":1}}}`},
		{"anchor again", "- &a 1\n- *a\n- &a 2\n- *a", `[1,1,2,2]`},
		{"sequence at the column of its key", "a:\n- b\n- c\nd: e", `{"a":["b","c"],"d":"e"}`},
		{"compact", "- - a\n  - b: c\n    d: e\n- ? f\n  : g", `[["a",{"b":"c","d":"e"}],{"f":"g"}]`},
		{"set", "!!set\n? a\n? b", `{"a":null,"b":null}`},
		{"pairs in a list", "[a: b, ? c : d, e]", `[{"a":"b"},{"c":"d"},"e"]`},
		{"JSON", `{"a":[1,2,{"b":null}],"c":"d"}`, `{"a":[1,2,{"b":null}],"c":"d"}`},
		{"folding", "a: >\n  b\n  c\n\n  d\n   e\nf: |-\n  g\n\n  h\n", `{"a":"b c\nd\n e\n","f":"g\n\nh"}`},
		{"plain lines", "a: b\n  c\n\n  d # e\nf: g", `{"a":"b c\nd","f":"g"}`},
		{"carriage returns", "a: |\r\n  b\r\n  c\r\nd: 'e\r  f'", `{"a":"b\nc\n","d":"e f"}`},
		{"anchors of any characters", "&a: b: &😀 c\nd: [*a: , *😀]", `{"b":"c","d":["b","c"]}`},
		{"byte-order marks between documents", "a: b\n...\n\uFEFF# c\n---\nd", `{"a":"b"}`},
		{"characters in quotes only", "\"\x7f\": 'a\uFEFF'", "{\"\x7f\":\"a\uFEFF\"}"},
		{"tags with escapes", "- !a%21 b\n- !<tag:yaml.org,2002:int> 3\n- !!set {a}", `["b",3,{"a":null}]`},
		{"lines of double quotes", "\"a \\\n  \\  b\\\n\n c\n\n d\"", `"a   b\nc\nd"`},
		{"tags of their own", "%TAG !e! tag:example.com,2000:\n--- !e!x\na: !<tag:yaml.org,2002:str> 1", `{"a":"1"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.yaml)
			require.NotNil(t, report.Result, "%+v", report.Error)
			assert.JSONEq(t, c.json, *report.Result)
			assert.Equal(t, c.json, strings.ReplaceAll(strings.ReplaceAll(*report.Result, "\n", ""), `": `, `":`))
		})
	}
}

func TestYAMLErrors(t *testing.T) {
	cases := []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"tab", "a:\n  b: 1\n\tc: 2", 3, 1, "a tab cannot indent; use spaces"},
		{"tab before a dash", "-\t- a", 1, 2, "a tab cannot indent; use spaces"},
		{"indentation", "a:\n    b: 1\n  c: 2", 3, 3,
			"the indentation of 2 fits no line before; indent the line by 4 or 0"},
		{"two colons", "a: b: c", 1, 5,
			`a value with a colon and a space in it must be in quotes: "b: c"; a mapping begins on a line of its own`},
		{"key behind a marker", "--- a: b", 1, 6, "a key with its colon is not allowed here; begin it on a new line"},
		{"no colon", "a: 1\nb\nc: 2", 2, 1,
			"a key was expected, but no colon follows it; write a colon and a space after the key, or indent the line " +
				"by more than 0 if it continues the value above"},
		{"dash among keys", "a: 1\n- b", 2, 1,
			"a sequence is not allowed between the keys of a mapping; write a key without a value on the line above it, " +
				"or remove the value of the key above"},
		{"sequence behind a key", "a: - b", 1, 4,
			`a sequence is not allowed here; begin it on a new line, or put the value in quotes: "- b"`},
		{"same key", "a: 1\nb: 2\n\"a\": 3", 3, 1,
			`the mapping has the key "a" already, in line 1, column 1; keep one of them`},
		{"same number", "1: a\n0x1: b", 2, 1,
			`the mapping has the key "1" already, in line 1, column 1; keep one of them`},
		{"same key behind a number", "1: a\n'1': b\n\"1\": c", 3, 1,
			`the mapping has the key "1" already, in line 2, column 1; keep one of them`},
		{"same empty key behind a number", "1: a\n'1': b\n'': c\n\"\": d", 4, 1,
			`the mapping has the key "" already, in line 3, column 1; keep one of them`},
		{"open quote", "a: \"b\nc: d", 1, 4,
			"the double quote that opens here is not closed before line 2, which is not indented by more than 0; " +
				"close it, or indent that line"},
		{"open quote at the end", "a: 'b\n c", 1, 4,
			"the single quote that opens here is not closed; write ' where the value ends"},
		{"open bracket", "a: [b,\n c", 1, 4, "'[' is not closed; write ']' where it ends"},
		{"wrong bracket", "[a}", 1, 3, "a comma or ']' was expected; '[' of line 1, column 1 is still open"},
		{"double comma", "[a,,b]", 1, 4, "there is nothing before the comma; remove it"},
		{"bracket at the left", "a: [\nb]", 2, 1,
			"'[' of line 1, column 4 is still open; write ']' where it ends, or indent this line by more than 0"},
		{"escape", `a: "\q"`, 1, 5,
			`in double quotes a backslash begins an escape, and this one does not exist; write \\ for a ` +
				`backslash, or put the value in single quotes`},
		{"hexadecimal escape", `"\x4"`, 1, 2, `\x needs 2 hexadecimal digits; write \\ for a backslash`},
		{"no character", `"\U00110000"`, 1, 2, "110000 is not a character"},
		{"unknown anchor", "a: *b", 1, 4,
			`the asterisk begins an alias, and no anchor before is called "b"; write &b before what it means, or put ` +
				`text in quotes: "*b"`},
		{"recursion", "a: &a [*a]", 1, 8, "the alias a is inside the node that it refers to"},
		{"alias with a tag", "- &a b\n- !x *a", 2, 3, "an alias cannot have an anchor or a tag"},
		{"two anchors", "&a &b c", 1, 4, "the node has an anchor already"},
		{"alias without a name", "a: *", 1, 4, `the alias has no name; put text in quotes: "*"`},
		{"two tags on two lines", "!a\n!b c", 2, 1, "the node has a tag already"},
		{"two anchors on two lines", "&a\n&b c", 2, 1, "the node has an anchor already"},
		{"anchor before an alias", "- a: &a b\n- &c\n  *a", 2, 3, "an alias cannot have an anchor or a tag"},
		{"anchor before a dash", "&a - b", 1, 4, "a sequence is not allowed here; begin it on a new line"},
		{"tag before a question", "!a ? b", 1, 4, "a mapping is not allowed here; begin it on a new line"},
		{"tag that is none", "!!", 1, 1, `"!!" is not a tag; put text in quotes: "!!"`},
		{"tag with a brace", "!a{b} c", 1, 3, "'{' cannot follow !a without a space"},
		{"tag with another character", "!aé b", 1, 3,
			`a tag cannot have this character; write it as %XX, or put text in quotes: "!aé b"`},
		{"tag with half an escape", "!a%4 b", 1, 1, "the tag !a%4 has a % without two hexadecimal digits"},
		{"open tag", "!<a b", 1, 1, "the tag is not closed by >"},
		{"empty tag", "!<> b", 1, 1, `"!<>" is not a tag`},
		{"tag in angles with another character", "!<a^b> c", 1, 4, "a tag cannot have this character; write it as %XX"},
		{"handle that is none", "%TAG e! x\n---", 1, 1, `"e!" is not a tag handle`},
		{"prefix that is none", "%TAG !e! [x\n---", 1, 1, `"[x" is not a prefix of tags`},
		{"handle twice", "%TAG !e! x\n%TAG !e! y\n---", 2, 1, "the tag handle !e! has a meaning already"},
		{"handle without a prefix", "%TAG !e!\n---", 1, 1, "the %TAG directive needs a handle and a prefix"},
		{"version that is none", "%YAML 1.x\n---", 1, 1, `"1.x" is not a version of YAML`},
		{"version and more", "%YAML 1.2 x\n---", 1, 1,
			"the %YAML directive needs a version and nothing else, such as %YAML 1.2"},
		{"directive without a name", "% a\n---", 1, 1, "the directive has no name"},
		{"text behind the end", "a\n... b", 2, 5, "unexpected text behind the end of the document"},
		{"bracket that closes nothing", "[a]\n]", 2, 1, "nothing is open that ']' could close; remove it"},
		{"text behind the root", "[a]\nb", 2, 1,
			"the document has ended, but there is more text; write --- on the line before it to begin another"},
		{"directive behind the root", "[a]\n%YAML 1.2\n---", 2, 1,
			"a line with ... must precede the directives of the next document"},
		{"marker in brackets", "[a,\n---\n]", 1, 1,
			"'[' is not closed before the document ends; write ']' where it ends"},
		{"marker in quotes", "'a\n---\nb'", 1, 1,
			"the single quote that opens here is not closed; write ' where the value ends"},
		{"comment behind a comma", "[a,#b\n]", 1, 4, "a comment must have a space before its #"},
		{"comment behind a bracket", "[[a]#b\n]", 1, 5, "a comment must have a space before its #"},
		{"long key in brackets", "[" + strings.Repeat("a", 1025) + ": b]", 1, 2,
			"a key in a sequence has at most 1024 characters; write ? before it"},
		{"key of two lines", "a\n b: c", 1, 1,
			"a key cannot have several lines without a ? before it; write a colon and a space after the key of " +
				"line 1"},
		{"later key of two lines", "a: b\n'c\n d': e", 2, 1,
			"a key cannot have several lines without a ? before it; write it on one line"},
		{"delete before quotes", "a\x7f: 'b\x7f'", 1, 2, "the character U+007F must be in quotes"},
		{"key of two lines in brackets", "[a\n: b]", 1, 2,
			"a key in a sequence has one line, and '[' of line 1, column 1 is still open; write ']' where it ends, or the key on one line"},
		{"colon right before a value", "- &a x\n- {*a :b}", 2, 7, "a colon behind a key needs a space after it"},
		{"alias behind an anchor of other characters", "[&é a, *b]", 1, 8,
			`the asterisk begins an alias, and no anchor before is called "b"; write &b before what it means, or put ` +
				`text in quotes: "*b"`},
		{"many directives", strings.Repeat("%A\n", 101) + "---", 101, 1,
			"the document has more than 100 directives; that is the most"},
		{"delete in quotes that are wrong", "\"a\x7f\\q\"", 1, 4,
			`in double quotes a backslash begins an escape, and this one does not exist; write \\ for a ` +
				`backslash, or put the value in single quotes`},
		{"byte-order mark behind a space", " \uFEFFa:\nb:", 1, 2,
			"U+FEFF (byte-order mark) is not white space in YAML; remove it"},
		{"tab in quotes", "a: 'b\n\tc'", 2, 1, "a tab cannot indent; use spaces"},
		{"tab in brackets", "- [\n\ta]", 2, 1, "a tab cannot indent; use spaces"},
		{"tab in a block", "a: |\n\tb", 2, 1, "a tab cannot indent; use spaces"},
		{"spaces in a block", "a: |\n   \n b", 2, 1,
			"an empty line before the first of a block scalar has more spaces than it; remove its spaces"},
		{"unknown handle", "!e!a b", 1, 1, "no %TAG directive of this document tells what !e! means"},
		{"tag that does not fit", "a: !!int b", 1, 4,
			`the text "b" does not fit the tag !!int; remove the tag, or write a value of its type`},
		{"reserved", "a: @b", 1, 4, `a plain scalar cannot begin with '@'; put it in quotes: "@b"`},
		{"comment without a space", "a: 'b'#c", 1, 7, "a comment must have a space before its #"},
		{"text behind a value", "a: 'b' c", 1, 8,
			`text follows the value on its line; put the whole value in quotes: "'b' c"`},
		{"two versions", "%YAML 1.2\n%YAML 1.2\n---", 2, 1, "there is a second %YAML directive"},
		{"version 2", "%YAML 2.0\n---", 1, 1, "version 2.0 of YAML is unknown"},
		{"directive without a marker", "%YAML 1.2\na: b", 2, 1, "a line with --- must follow the directives"},
		{"directive in a document", "a: b\n%YAML 1.2\n---", 2, 1,
			`a plain scalar cannot begin with '%'; put it in quotes: "%YAML 1.2"`},
		{"literal", "a: |\n   b\n  c", 3, 3,
			"a line of the block scalar has fewer spaces than the first; indent it by 3"},
		{"literal in brackets", "[|\n a]", 1, 2,
			`a block scalar is not allowed in a flow collection or a key; put text in quotes: "|"`},
		{"control character", "a: \x01", 1, 4,
			`the control character U+0001 must be written as \x01 in double quotes, or removed`},
		{"delete outside of quotes", "a: b\x7f", 1, 5, "the character U+007F must be in quotes"},
		{"column in characters", "ä: ö: ü", 1, 5,
			`a value with a colon and a space in it must be in quotes: "ö: ü"; a mapping begins on a line of its own`},
		{"line behind carriage returns", "a: 1\r\nb: 2\rc: @", 3, 4,
			`a plain scalar cannot begin with '@'; put it in quotes: "@"`},
		{"second document", "a: b\n---\n[", 3, 1, "'[' is not closed; write ']' where it ends"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			assert.False(t, report.Valid)
			assert.Nil(t, report.Result)
			assert.Equal(t, textutil.UnknownType, report.RootType)
			require.NotZero(t, report.Error)
			assert.Equal(t, textutil.YAMLError{Message: c.message, Line: c.line, Column: c.column}, report.Error)
		})
	}
}

func TestYAMLDocuments(t *testing.T) {
	const text = "--- 1\n---\n[a]\n...\n# none\n...\nb: c\n"
	one := toJSON(t, text)
	assert.Equal(t, "1", *one.Result)
	assert.Equal(t, textutil.NumberType, one.RootType)
	assert.Equal(t, 3, one.DocumentsCount)
	assert.Equal(t, 1, one.Depth)
	assert.Equal(t, "text.yaml.documents.several", one.Findings[0].Code)
	all, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: text, AllDocuments: true})
	require.NoError(t, err)
	assert.Equal(t, "[\n  1,\n  [\n    \"a\"\n  ],\n  {\n    \"b\": \"c\"\n  }\n]", *all.Result)
	assert.Empty(t, all.Findings)
	none, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: "# none", AllDocuments: true})
	require.NoError(t, err)
	assert.Equal(t, "[]", *none.Result)
	assert.Zero(t, none.DocumentsCount)
}

func TestYAMLFindings(t *testing.T) {
	cases := []struct {
		name, text string
		code       string
		location   textutil.Location
	}{
		{"byte-order mark", "\uFEFFa: b", "text.yaml.byte_order_mark", textutil.Location{Offset: 0, Length: 3}},
		{"infinity", "\uFEFFa:\r\n  - .inf", "text.yaml.number.not_finite", textutil.Location{Offset: 11, Length: 4}},
		{"keys of the same text", "1: a\n'1': b", "text.yaml.key.same_text", textutil.Location{Offset: 5, Length: 3}},
		{"key that is a collection", "[a]: b", "text.yaml.key.collection", textutil.Location{Offset: 0, Length: 3}},
		{"key that is a block", "? - a\n  - b\n: c", "text.yaml.key.collection", textutil.Location{Offset: 2, Length: 9}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			require.True(t, report.Valid, "%+v", report.Error)
			require.NotEmpty(t, report.Findings)
			last := report.Findings[len(report.Findings)-1]
			assert.Equal(t, c.code, last.Code)
			assert.Equal(t, c.location, *last.Location)
		})
	}
}

func TestFormatYAMLLayout(t *testing.T) {
	one, four := 1, 4
	cases := []struct {
		name, text string
		indent     *int
		want       string
	}{
		{"spacing", "a:   b\nc:    [ d,e , {f:  g} ]", nil, "a: b\nc: [d, e, {f: g}]\n"},
		{"one space", "a:\n    - b:\n        - c\n", &one, "a:\n - b:\n    - c\n"},
		{"four spaces", "a:\n- b: c\n  d: e\n", &four, "a:\n    - b: c\n      d: e\n"},
		{"comments", "# head\n\n\na: 1   # one\n  # foot of nothing\n\n# two\nb: 2\n", nil,
			"# head\n\na: 1 # one\n# foot of nothing\n\n# two\nb: 2\n"},
		{"comments at the end of collections", "a:\n    b:\n        - c\n        # 1\n    # 2\n# 3\nd: e", nil,
			"a:\n  b:\n    - c\n    # 1\n  # 2\n# 3\nd: e\n"},
		{"comments in brackets", "a: [ # 1\n  b, # 2\n  c # 3\n  # 4\n  ]", nil,
			"a: [\n    # 1\n    b, # 2\n    c # 3\n    # 4\n  ]\n"},
		{"comments in pairs", "[ # 1\n  ? a # 2\n  : # 3\n    [b, # 4\n    c]\n  ]", nil,
			"[\n  # 1\n  # 2\n  # 3\n  a: [\n    b, # 4\n    c\n  ]\n]\n"},
		{"comments in explicit pairs", "? a # 1\n: # 2\n  b # 3\n? - c # 4\n# 5\n: - d\n", nil,
			"# 1\n# 2\na: b # 3\n? - c # 4\n:\n  # 5\n  - d\n"},
		{"comment behind a key", "a: # 1\n   b: # 2\n      - c\n", nil, "a: # 1\n  b: # 2\n    - c\n"},
		{"scalars as they are", "a: 'b'\nc: \"\\u00e9\"\nd: 0x1F\ne: +1\nf: ~\ng:\n", nil,
			"a: 'b'\nc: \"\\u00e9\"\nd: 0x1F\ne: +1\nf: ~\ng:\n"},
		{"lines of scalars", "a: b\n      c\n\n      d\ne: \"f  \n   g\\\n   h\"", nil,
			"a: b\n  c\n\n  d\ne: \"f\n  g\\\n  h\"\n"},
		{"blocks", "a: |\n      b\n       c\n\nd: >+\n        e\n\n\nf: |2\n    g\n", nil,
			"a: |\n  b\n   c\n\nd: >+\n  e\n\n\nf: |2\n    g\n"},
		{"properties", "a:   &x   !!str   b\nc: !t\n    d: *x", nil, "a: &x !!str b\nc: !t\n  d: *x\n"},
		{"explicit keys", "?   a\n:   b\n?   - c\n:   - d\n", nil, "a: b\n? - c\n: - d\n"},
		{"keys in keys", "? - ? a\n: # 1\n  - b", nil, "? - a:\n:\n  # 1\n  - b\n"},
		{"collections as keys of pairs", "[{a: b}: c, [d]: {}, {e : f}]", nil, "[{a: b}: c, [d]: {}, {e: f}]\n"},
		{"documents", "%YAML 1.2\n---\na\n...\n%TAG ! x\n--- # c\nb\n--- c\n", nil,
			"%YAML 1.2\n--- a\n...\n%TAG ! x\n--- # c\nb\n--- c\n"},
		{"comments only", "# a\n\n\n# b\n", nil, "# a\n\n# b\n"},
		{"nothing", "", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: c.text, Indent: c.indent})
			require.NoError(t, err)
			require.True(t, report.Valid, "%+v", report.Error)
			assert.Equal(t, c.want, *report.Result)
		})
	}
}

func TestFormatYAMLSorts(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"keys with their comments", "# head\n\n# 1\nb: 1 # one\n# 2\na: 2\n", "# head\n\n# 2\na: 2\n# 1\nb: 1 # one\n"},
		{"deep", "b: {d: 1, c: 2}\na:\n  - f: 1\n    e: 2\n", "a:\n  - e: 2\n    f: 1\nb: {c: 2, d: 1}\n"},
		{"anchor behind its alias", "b: &x 1\na: *x\n", "b: &x 1\na: *x\n"},
		{"anchor before its alias", "b: *x\na: &x 1\n", ""},
		{"anchors in order", "c: 0\na: &x 1\nb: *x\n", "a: &x 1\nb: *x\nc: 0\n"},
		{"a key is a collection", "b: 1\n[a]: 2\n", "b: 1\n[a]: 2\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: c.text, SortKeys: true})
			require.NoError(t, err)
			if c.want == "" {
				assert.False(t, report.Valid)
				return
			}
			require.NotNil(t, report.Result)
			assert.Equal(t, c.want, *report.Result)
		})
	}
}

func TestYAMLRefuses(t *testing.T) {
	nine, zero := 9, 0
	deep := strings.Repeat("- ", 257) + "a"
	cases := []struct {
		name   string
		text   string
		indent *int
		reason string
	}{
		{"text: no UTF-8", "a: \xff", nil, "byte 3"},
		{"text: too long", strings.Repeat(" ", textutil.MaxText) + "1", nil, "1048577 bytes"},
		{"text: too deep", deep, nil, "nested more than 256 deep at line 1"},
		{"text: too deep in pairs", strings.Repeat("[a: ", 200) + strings.Repeat("]", 200), nil,
			"nested more than 256 deep"},
		{"text: too deep as JSON", strings.Repeat("[", 257) + strings.Repeat("]", 257), nil,
			"nested more than 256 deep at line 1"},
		{"text: too many values", "a: [\n" + strings.Repeat(" :,", 200_001) + "]", nil,
			"more than 600000 values at line 2"},
		{"text: too long tags",
			"%TAG !e! x" + strings.Repeat("y", 900_000) + "\n--- [!e!a,!e!b,!e!c,!e!d,!e!e,!e!f,!e!g,!e!h,!e!i,!e!j]", nil,
			"tags of more than 8388608 bytes"},
		{"indent: too wide", "a", &nine, "is 9"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, format := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: c.text, Indent: c.indent})
			_, toJSON := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: c.text, Indent: c.indent})
			for _, err := range []error{format, toJSON} {
				input, ok := errors.AsType[*textutil.InputError](err)
				require.True(t, ok)
				field, reason := input.InputField()
				want, _, _ := strings.Cut(c.name, ":")
				assert.Equal(t, want, field)
				assert.Contains(t, reason, c.reason)
			}
		})
	}
	_, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: "a", Indent: &zero})
	assert.Error(t, err, "an indentation of 0 cannot show what is inside")
}
