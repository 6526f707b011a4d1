package textutil_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

// What a key says in JSON is said once, and not about a text that does not become JSON.
func TestYAMLFindingsInKeys(t *testing.T) {
	for text, want := range map[string][]string{
		"? [.inf]\n: a":   {"text.yaml.number.not_finite", "text.yaml.key.collection"},
		"? {[a]: b}\n: c": {"text.yaml.key.collection", "text.yaml.key.collection"},
	} {
		var codes []string
		for _, finding := range toJSON(t, text).Findings {
			codes = append(codes, finding.Code)
		}
		assert.Equal(t, want, codes, text)
		report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: text})
		require.NoError(t, err)
		assert.Empty(t, report.Findings, text)
	}
}

// TestYAMLEqualKeys holds one rule for all keys: they are equal if they are by the core schema, tags included
// (YAML 1.2.2 section 3.2.1.3).
func TestYAMLEqualKeys(t *testing.T) {
	equal := map[string]string{ // and what the message calls the key
		": a\n: b": "null", "{: 1, : 2}": "null", "null: 1\nnull: 2": "null", "~: 1\n: 2": "null",
		"{[a]: 1, [a]: 2}": "[a]", "? - a\n: 1\n[a]: 2": "[a]", "{a: 1, b: 2}: x\n{b: 2, a: 1}: y": "{b: 2, a: 1}",
		"a: 1\n!!str a: 2": "a", "! 1: 1\n'1': 2": "1", "!x a: 1\n!x a: 2": "a", "!!int '1': a\n1: b": "1",
		"1: a\n0x1: b": "1", "-0: a\n0: b": "0", "1.0: a\n1.00: b": "1.00", "1e2: a\n100.0: b": "100.0",
		".inf: a\n+.INF: b": ".inf", "true: a\nTrue: b": "true", "&a k: 1\n*a : 2": "k",
		"[&a [x], *a]: 1\n[[x], [x]]: 2":                          "[[x], [x]]",
		"%TAG !e! tag:yaml.org,2002:\n---\n!e!str a: 1\na: 2":     "a",
		"? !!map {a: b}\n: 1\n? {a: b}\n: 2":                      "{a: b}",
		strings.Repeat("k", 3) + ": 0\n" + manyKeys(20) + "k7: x": "k7",
	}
	for text, name := range equal {
		report := toJSON(t, text)
		require.NotZero(t, report.Error, text)
		assert.Contains(t, report.Error.Message, fmt.Sprintf("the mapping has the key %q already, in line ", name), text)
		format, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: text})
		require.NoError(t, err)
		assert.Equal(t, report.Error, format.Error, text)
	}
	different := []string{"!x a: 1\na: 2", "!x a: 1\n!y a: 2", "1: a\n'1': b", "1: a\n1.0: b",
		"null: a\n'null': b", "'': a\n: b",
		"[a]: 1\n[a, a]: 2",
		"[a]: 1\n['a', b]: 2", "[a]: 1\n!x [a]: 2", "{a: b}: 1\n[a, b]: 2",
		"[[a], b]: 1\n[[a, b]]: 2",
		"{a: bc}: 1\n{ab: c}: 2", ".inf: a\n-.inf: b", "a: 1\nb: {a: 1}", "[1]: a\n['1']: b"}
	for _, text := range different {
		assert.Zero(t, toJSON(t, text).Error, text)
	}
}

func manyKeys(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

// TestYAMLTagsFit holds nodes to their tags.
func TestYAMLTagsFit(t *testing.T) {
	for text, message := range map[string]string{
		"!!seq a":          "the tag !!seq is for a sequence, and this is a scalar",
		"!!map [a]":        "the tag !!map is for a mapping, and this is a sequence",
		"!!str {a: b}":     "the tag !!str is for a scalar, and this is a mapping",
		"a: !!set\n  - b":  "the tag !!set is for a mapping, and this is a sequence",
		"!!map":            "the tag !!map is for a mapping, and this is a scalar",
		"!!null [a]":       "the tag !!null is for a scalar, and this is a sequence",
		"? [!!int a]\n: b": `the text "a" does not fit the tag !!int; remove the tag, or write a value of its type`,
		"!!bool yes":       `the text "yes" does not fit the tag !!bool; remove the tag, or write a value of its type`,
		"!!null x":         `the text "x" does not fit the tag !!null; remove the tag, or write a value of its type`,
		"!!float x":        `the text "x" does not fit the tag !!float; remove the tag, or write a value of its type`,
	} {
		report := toJSON(t, text)
		require.NotZero(t, report.Error, text)
		assert.Equal(t, message, report.Error.Message, text)
		format, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: text})
		require.NoError(t, err)
		assert.Equal(t, report.Error, format.Error, text)
	}
	for _, text := range []string{"!!seq [a]", "!!map {a: b}", "!!omap [a: b]", "!!set {a}", "!!float 3", "!!int 0x1F",
		"!!binary aGk=",
		"!seq a", "! [a]", "!!other [a]", "!!str", "!!null"} {
		assert.Zero(t, toJSON(t, text).Error, text)
	}
}

// TestYAMLVersions finds scalars that YAML 1.1 parsers read as another type, as yamllint does.
func TestYAMLVersions(t *testing.T) {
	const prefix = "text.yaml.v1_1."
	for value, code := range map[string]string{
		"yes": "boolean", "No": "boolean", "ON": "boolean", "off": "boolean",
		"012": "octal", "-0644": "octal", "0o17": "octal", "0_7": "octal",
		"1:30": "base60", "01:30.5": "base60",
		"22:22:07": "base60", "1_000": "number", "0b101": "number", "0x_1F": "number", "1_0.5": "number",
		"1e3": "exponent", "12E03": "exponent", "1.5e3": "exponent", "<<": "merge",
	} {
		report := toJSON(t, "\uFEFFk: "+value+"\r\n")
		require.Len(t, report.Findings, 2, value)
		finding := report.Findings[1]
		assert.Equal(t, prefix+code, finding.Code, value)
		assert.Equal(t, textutil.Warning, finding.Severity)
		assert.Equal(t, &textutil.Location{Offset: 6, Length: len(value)}, finding.Location, value)
		format, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: "- {" + value + ": x}"})
		require.NoError(t, err)
		assert.Equal(t, prefix+code, format.Findings[0].Code, value)
	}
	for _, text := range []string{"a: 1", "true", "True", "null", "y", "n", "=", ".", "0", "-0",
		"10", "1.5", "1.5e+3", "0x1F",
		"'yes'", "\"012\"", "08", "007", "0_8", "09:30", "00:00:00",
		"!!str yes", "|\n  yes", "yEs", "yess", "'2001-12-14'", "12:30:61",
		"1.2.3", "-", "+", "[yes and no]", "v1:30", ".5", "0.7"} {
		for _, finding := range toJSON(t, text).Findings {
			assert.NotContains(t, finding.Code, prefix, text)
		}
	}
}

// What the merge key of YAML 1.1 does where it is asked for.
func TestYAMLMerge(t *testing.T) {
	for _, c := range []struct{ name, yaml, json, codes string }{
		{"alias", "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n  z: 4", `{"a":{"x":1,"y":2},"b":{"x":1,"y":3,"z":4}}`, ""},
		{"own pairs win wherever they stand", "a: &a {x: 1}\nb: {x: 2, <<: *a}", `{"a":{"x":1},"b":{"x":2}}`, ""},
		{"the first of a list wins", "- &a {x: 1}\n- &b {x: 2, y: 3}\n- <<: [*a, *b]", `[{"x":1},{"x":2,"y":3},{"x":1,"y":3}]`, ""},
		{"merged again", "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}",
			`{"a":{"x":1},"b":{"x":1,"y":2},"c":{"x":1,"y":2}}`, ""},
		{"written out", "a: {<<: {x: 1}}", `{"a":{"x":1}}`, ""},
		{"quoted", `a: {"<<": {x: 1}}`, `{"a":{"<<":{"x":1}}}`, ""},
		{"no mapping", "a: {<<: 1}", `{"a":{"<<":1}}`, "text.yaml.merge.value"},
		{"1 and its text", "a: &a {1: x}\nb: {<<: *a, '1': y}", `{"a":{"1":"x"},"b":{"1":"x","1":"y"}}`, "text.yaml.key.same_text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: c.yaml, Indent: new(0), Merge: true})
			require.NoError(t, err)
			require.NotNil(t, report.Result)
			require.Equal(t, c.json, strings.ReplaceAll(strings.ReplaceAll(*report.Result, "\n", ""), ": ", ":"))
			codes := ""
			for _, f := range report.Findings {
				codes += string(f.Code)
			}
			require.Equal(t, c.codes, codes)
		})
	}
	report, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: "a: &a {x: 1}\nb: {<<: *a}"})
	require.NoError(t, err)
	require.Contains(t, report.Findings[0].Advice, "Set merge")
}

// Merging takes no more than the text could hold.
func TestYAMLMergeIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("- &a0 {")
	for i := range 2000 {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	b.WriteString("}\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "- &a%d {<<: [*a%d, *a%d, *a%d]}\n", i+1, i, i, i)
	}
	began := time.Now()
	_, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: b.String(), Merge: true})
	require.Error(t, err)
	require.Less(t, time.Since(began), time.Minute, "a tenth of a second on an idle machine")
}
