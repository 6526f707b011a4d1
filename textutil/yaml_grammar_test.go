package textutil_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

// TestYAMLAccepts holds rules of the grammar that many readers do not know.
func TestYAMLAccepts(t *testing.T) {
	cases := []struct{ name, yaml, json string }{
		// YAML 1.2.2 section 6.9.2: an anchor is made of anything but white space and the marks of collections.
		{"colon at the end of an anchor", "one: &b: two\nthree: *b:", `{"one":"two","three":"two"}`},
		{"colon at the end of the anchor of a key", "&k: one: &v: two\nthree:\n  *k: \nfour: *v:",
			`{"one":"two","three":"one","four":"two"}`},
		{"anchor that is no letter", "- &☃ snow\n- *☃", `["snow","snow"]`},
		{"anchor of marks", "a: &%\"|>'!?#: x\nb: *%\"|>'!?#:", `{"a":"x","b":"x"}`},
		{"anchors of marks and letters", "- &-0 a\n- &é b\n- *-0\n- *é", `["a","b","a","b"]`},
		{"anchor again under another name", "- &é a\n- *é\n- &é b\n- *é", `["a","a","b","b"]`},
		{"anchors of two documents", "--- [&é a, *é]\n--- [&ü b, *ü]", `["a","a"]`},
		// Section 6.8: unknown directives and minor versions are ignored.
		{"unknown directive", "%ODD x y # z\n--- a", `"a"`},
		{"version 1.2", "%YAML 1.2\n---\na: b", `{"a":"b"}`},
		{"version 1.9", "%YAML 1.9 # later\n--- a", `"a"`},
		{"tag directive with a number sign", "%TAG !e! tag:example.com,2000:x#\n--- !e!y a", `"a"`},
		{"tag with a number sign", "- !<tag:example.com,2000:x#y> a\n- !x#y b", `["a","b"]`},
		// Section 9.1.2: a marker ends a block scalar that has no indentation.
		{"percent in a literal", "%YAML 1.2\n--- |\n%no directive\n...\n%YAML 1.2\n--- # empty\n...", `"%no directive\n"`},
		{"literal without indentation", "--- |\na\n\n b\n--- c", `"a\n\n b\n"`},
		{"folded without indentation", ">-\na\nb\n\nc\n...", `"a b\nc"`},
		{"empty literal at the root", "|\n---\na", `""`},
		{"comment behind a literal", "a: |+\n  b\n\n# c\n\nd: e", `{"a":"b\n\n","d":"e"}`},
		// Section 5.4: the line breaks of YAML 1.1 are characters like others.
		{"line breaks of YAML 1.1", "a: b\u0085c\u2028 d\u2029\n\"e\u2028\": 'f\u0085'",
			"{\"a\":\"b\u0085c\u2028 d\u2029\",\"e\u2028\":\"f\u0085\"}"},
		{"characters for private use", "a: \uE000b\uE000\u2028\nc: \"\\uE000\\ud800\uE0000\"",
			"{\"a\":\"\uE000b\uE000\u2028\",\"c\":\"\uE000\\ud800\uE0000\"}"},
		// Section 7.4: a colon behind a key needs no space before a mark, nor behind a key in quotes.
		{"colon before a bracket", "{a:[b],c:{d: e},\"f\":g}", `{"a":["b"],"c":{"d":"e"},"f":"g"}`},
		{"colon behind a tag", "[!!str :a, {&x :b c: d, e: *x}]", `[":a",{":b c":"d","e":":b c"}]`},
		{"quotes behind a tag and a colon", "[!!str :'a' '']", `[":'a' ''"]`},
		// Section 6.3: tabs may separate where they do not indent.
		{"tab behind a question", "?\ta\n:\tb", `{"a":"b"}`},
		{"tab before the root", "\ta", `"a"`},
		{"tab on an empty line", "a:\n\t \n  [\n  \tb\n  ]", `{"a":["b"]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.yaml)
			require.NotNil(t, report.Result, "%+v", report.Error)
			assert.Equal(t, c.json, strings.ReplaceAll(strings.ReplaceAll(*report.Result, "\n", ""), `": `, `":`))
		})
	}
}

// TestYAMLIsStrict holds rules of the grammar that many readers are not strict about.
func TestYAMLIsStrict(t *testing.T) {
	cases := []struct{ name, text string }{
		// YAML 1.2.2 section 7.4: lines inside brackets are indented.
		{"line in brackets at the left", "k: [x,\ny,\nz]"},
		{"line in braces at the left", "- a: {\n  b: c\n  }\n- d: {\ne: f}"},
		{"tab in brackets", "- [\n\tx,\n y\n ]"},
		{"tab before a closing bracket", "- [\n x\n\t]"},
		// Section 7.3: so are lines inside quotes.
		{"line in double quotes at the left", "- \"x\n  y\n\n z\"\n- \"u\nv\""},
		{"line in single quotes at the left", "k: 'x\ny'"},
		{"tab in double quotes", "k: \"x\n\ty\""},
		{"tab behind too few spaces in quotes", "a:\n  k: 'x\n  \ty'"},
		// Section 8.1.1.1: empty lines before a block scalar have no more spaces than its first.
		{"spaces before a literal", "k: |\n    \n\n  x"},
		{"spaces before a folded scalar", "- >\n   \n  x"},
		{"block scalar that is not indented", "k:\n|\n x"},
		// Section 6.8: the parameters of directives.
		{"comment right behind a version", "%YAML 1.1#x\n---"},
		{"version with something behind", "%YAML 1.2 x\n---"},
		{"version that is a word", "%YAML 1.x\n---"},
		{"directive right behind a document", "'a'\n%YAML 1.2\n---"},
		// Section 6.7: a comment ends a plain scalar.
		{"comment in a plain scalar", "k: x\n  # y\n  z"},
		{"comment in a plain scalar in brackets", "[x\n# y\nz]"},
		{"comment in a plain root", "x # y\nz"},
		// Section 7.4.2: keys are short.
		{"long key", strings.Repeat("a", 1025) + ": b"},
		{"long key in braces of a sequence", "[{" + strings.Repeat("a, ", 400) + "}: b]"},
		// Section 8.2.2: no collection begins on the line of a key.
		{"dash alone behind a key", "k: -"},
		{"dash alone behind an empty key", "? a\n&b : -"},
		{"dash alone before a comment", "k: - #c"},
		{"dash alone in braces", "{a: -}"},
		{"dash alone in brackets", "[-]"},
		{"closing bracket at the column of the key", "k: [a\n]"},
		{"closing brace at the column of the item", "- {a: b\n}"},
		{"dash behind an empty key", ": - a"},
		{"dash behind an empty key with an anchor", "? a\n&b : - c"},
		{"dash behind a tab", "?\t- a"},
		{"dash alone behind a tab", "? a\n:\t-"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			assert.False(t, report.Valid)
			assert.Equal(t, textutil.UnknownType, report.RootType)
		})
	}
}
