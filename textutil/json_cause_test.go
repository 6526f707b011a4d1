package textutil_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

// TestJSONCauses checks that an error names the author's mistake, and the correction.
func TestJSONCauses(t *testing.T) {
	cases := []struct {
		name, text   string
		line, column int
		piece        string
	}{
		{"comma missing at the end of a line", "{\"a\": 1\n \"b\": 2}", 1, 8,
			"write one before what follows in line 2, column 2"},
		{"comma missing between objects", "[{}\n\n {}]", 1, 4, "line 3, column 2"},
		{"comma behind the last member", `{"a": 1,}`, 1, 8, "remove it"},
		{"two commas", "[1,,2]", 1, 4, "or remove the comma"},
		{"semicolon between entries", "[1; 2]", 1, 3, "write , instead of ;"},
		{"semicolon behind the text", "{};", 1, 3, "remove the semicolon"},
		{"single quotes", "{'a': 1}", 1, 2, `write " instead of '`},
		{"typographic quotes", "{“a”: 1}", 1, 2, `write " instead`},
		{"typographic quote at the end", "{\"a”: 1}", 1, 4, "does not close the string of line 1, column 2"},
		{"bare name", "{a: 1}", 1, 2, `write "a"`},
		{"bare value", `{"a": b}`, 1, 7, `put text in double quotes: "b"`},
		{"line comment", "{\"a\": 1 // b\n}", 1, 9, "JSON has no comments; remove it"},
		{"block comment", "/* a */ {}", 1, 1, "JSON has no comments"},
		{"comment behind the text", "{} # a", 1, 4, "JSON has no comments"},
		{"comment before a colon", `{"a" /* b */: 1}`, 1, 6, "JSON has no comments"},
		{"value of Python", `{"a": True}`, 1, 7, "write true"},
		{"null of Python", `{"a": None}`, 1, 7, "write null"},
		{"string of Python", `{"a": u"b"}`, 1, 7, `"u" before a quote`},
		{"tuple", "(1, 2)", 1, 1, "write a list in [ and ]"},
		{"not a number", "[NaN]", 1, 2, "write null or a string"},
		{"infinity", "[-Infinity]", 1, 2, "write null or a string"},
		{"hexadecimal", "[0x1F]", 1, 3, "write it in decimal digits, 31"},
		{"underscore", "[1_000]", 1, 3, "write it in decimal digits, 1000"},
		{"leading zero", "[0644]", 1, 2, `or write "0644" for text`},
		{"point at the beginning", "[.5]", 1, 2, "write 0.5"},
		{"point at the end", "[1.]", 1, 2, "write 1.0"},
		{"plus", "[+1]", 1, 2, "remove it"},
		{"no-break space", "{\"a\":\u00a01}", 1, 6, "U+00A0 (no-break space) is not white space in JSON; write a space"},
		{"zero-width space", "{\"a\": 1\u200b}", 1, 8, "U+200B (zero-width space) is not white space in JSON; remove it"},
		{"byte-order mark inside", "[\uFEFF1]", 1, 2, "U+FEFF (byte-order mark)"},
		{"path", `["C:\dir"]`, 1, 5, `write \\ for a backslash`},
		{"apostrophe", `["don\'t"]`, 1, 6, "write ' alone"},
		{"quotes in a string", `["say "hi" now"]`, 1, 8, `write \" for a quote in a string`},
		{"name with its quote too late", `{"a: "b"}`, 1, 7, `" before the colon alone`},
		{"form feed", "{\f}", 1, 2, "U+000C is not white space"},
		{"line separator", "[1,\u20282]", 1, 4, "U+2028 (line separator)"},
		{"tab in a string", "[\"a\tb\"]", 1, 4, `write \t`},
		{"string over lines", "[\"a\nb\"]", 1, 4, "the string of line 1, column 2 is not closed on its line"},
		{"open string", `{"a": "b`, 1, 7, `write " where it ends`},
		{"open object", "{\n\"a\": [1", 2, 8, "'[' of line 2, column 6 is still open; close it with ']'"},
		{"other bracket", `{"a": [1}`, 1, 9, "'[' of line 1, column 7; close that with ']' first"},
		{"bracket too many", "[1]]", 1, 4, "remove it"},
		{"equals sign", `{"a" = 1}`, 1, 6, "write : instead of ="},
		{"arrow", `{"a" => 1}`, 1, 6, "write : instead of =>"},
		{"name alone", `{"a"}`, 1, 5, "a colon and a value must follow the name"},
		{"value missing", `{"a": }`, 1, 7, "write one, such as null"},
		{"member alone", `"a": 1`, 1, 1, "write { before and } after them"},
		{"member in an array", `["a": 1]`, 1, 5, "write { and } around its members"},
		{"lines of JSON", "{\"a\": 1}\n{\"a\": 2}", 2, 1, "JSON Lines"},
		{"placeholder", `{"a": {{ b }}}`, 1, 7, "placeholder of a template"},
		{"variable", `{"a": ${B}}`, 1, 7, "placeholder of a template"},
		{"page", "<!DOCTYPE html>", 1, 1, "HTML or XML"},
		{"fence", "```json\n{}\n```", 1, 1, "Markdown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := formatJSON(t, textutil.JSONFormatRequest{Text: c.text})
			require.False(t, report.Valid)
			assert.Contains(t, report.Error.Message, c.piece)
			assert.Equal(t, []int{c.line, c.column}, []int{report.Error.Line, report.Error.Column}, report.Error.Message)
			yaml, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: c.text})
			require.NoError(t, err)
			assert.Equal(t, report.Error, yaml.Error)
		})
	}
}

// A number is said to lose digits with what becomes of it, in both operations that read JSON.
func TestJSONNumbersSay(t *testing.T) {
	text := "{\n  \"id\": 175928847299117063\n}"
	report := formatJSON(t, textutil.JSONFormatRequest{Text: text})
	yaml, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text})
	require.NoError(t, err)
	for _, findings := range [][]textutil.Finding{report.Findings, yaml.Findings} {
		got := said(findings)
		for _, piece := range []string{"warning text.json.number.precision", "Line 2, column 9: 175928847299117063",
			"they read 175928847299117060", `"175928847299117063"`} {
			assert.Contains(t, got, piece)
		}
	}
}
