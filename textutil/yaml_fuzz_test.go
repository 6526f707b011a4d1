package textutil

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestYAMLReadsJSON holds that JSON means the same when it is read as YAML (YAML 1.2.2 section 1.2).
func TestYAMLReadsJSON(t *testing.T) {
	for _, text := range []string{`{}`, `[]`, ` [ ] `, `"a"`, `1.50`,
		"{\n\t\"a\" : [1,-0,1.50,1e5,1E+400,0.0,true,false,null]\n}",
		`{"a":"\u00e9\ud83d\ude00\ud800\/\b\f\n\r\t\"\\","":"","<<":1,"null":null}`,
		`{"` + strings.Repeat("k", 2000) + `":1}`, `{"a":1}` + "\n\n",
		"[1\n,2\n,\t3]", `["a: b","- c","# d","&e","*f","!g","|",">","%h","@i"," j ","k\tl"]`} {
		report, err := YAMLToJSON(YAMLToJSONRequest{Text: text})
		require.NoError(t, err)
		require.True(t, report.Valid, "%s: %+v", text, report.Error)
		assert.Equal(t, jsonValues(t, []byte(text)), jsonValues(t, []byte(*report.Result)), text)
	}
	twice := readYAML("{\"a\":1,\n\"a\":2}")
	assert.EqualError(t, twice.err, `the mapping has the key "a" already, in line 1, column 2; keep one of them`)
}

// FuzzYAMLToJSON holds three things: the JSON of a text is JSON; JSON means the same when it is read as YAML; and
// what findings point to lies in the text.
func FuzzYAMLToJSON(f *testing.F) {
	for _, seed := range []string{"a: 1\nb:\n- c # d\n- {e: f, ? g : h}\n", "- &a [b]\n- *a\n- {*a : c}",
		"\uFEFFk: yes\r\nl: 012",
		"{\"a\": [1, 2.50, \"\\u00e9\"], \"b\": {}}", "? [.inf]\n: .nan", "1: a\n'1': b", "\"\\ud800\""} {
		f.Add(seed, uint8(2), false)
	}
	for _, seed := range diagtest.Seeds(f, "text/yaml/yaml-test-suite/*/in.yaml") {
		f.Add(seed, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, text string, indent uint8, all bool) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		spaces := int(indent % 9)
		report, err := YAMLToJSON(YAMLToJSONRequest{Text: text, Indent: &spaces, AllDocuments: all})
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		if err != nil {
			return
		}
		for _, finding := range report.Findings {
			if l := finding.Location; l != nil && (l.Offset < 0 || l.Length < 0 || l.Offset+l.Length > len(text)) {
				t.Fatalf("%q: %+v", text, finding)
			}
		}
		if !report.Valid {
			if e := report.Error; e.Line < 1 || e.Column < 1 || e.Message == "" || report.Result != nil {
				t.Fatalf("%q: %+v", text, e)
			}
			return
		}
		if !json.Valid([]byte(*report.Result)) {
			t.Fatalf("%q became %q", text, *report.Result)
		}
		if !all && json.Valid([]byte(text)) {
			if was, is := jsonValues(t, []byte(text)), jsonValues(t, []byte(*report.Result)); !reflect.DeepEqual(was, is) {
				t.Fatalf("%q became %q", text, *report.Result)
			}
		}
	})
}
