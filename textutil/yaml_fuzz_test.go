package textutil

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// yamlSeeds returns texts to begin with.
func yamlSeeds(t testing.TB) []string {
	t.Helper()
	seeds := []string{"a: 1\nb:\n- c # d\n- {e: f, ? g : h}\n", "%TAG ! x\n---\n- &a !!str 'b'\n- *a\n...\n",
		"? |\n  a\n: >-\n  b\n\n   c\n", "\"a\\u00e9\\\n  b\"", "[a, [b: c], 'd\n e']", "- - - a\n  -\n    # c\n    b: c",
		"key: [\n  a\n]\n", "\uFEFF# c\r\n---\ra: -", "# a\n\n# b\nc: # d\n  e: |+\n    f\n\n# g\nh: &i\n  j: k # l\n  # m\n",
		"- &é a\n- *é\n- \"\\ud800\"\n- {a:[b]}\n- !x#y \u2028\n", "%YAML 1.2\n--- |\n%a\n...\n",
		"{\"a\": [1, 2.50, \"\\u00e9\"], \"b\": {}}"}
	files, _ := filepath.Glob(filepath.Join(vectorsAt(t, "text", "yaml", "yaml-test-suite"), "*", "in.yaml"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			seeds = append(seeds, string(data))
		}
	}
	return seeds
}

// unclear is in the messages about texts of which the scanner and the library do not have the same opinion,
// and about those at which the library breaks. Nobody should see one.
const unclear = "not clear where"

// differsAsYAML returns how the result differs when a text that was read as JSON is read as YAML, or nothing.
func differsAsYAML(r *yamlReading) string {
	if !r.json {
		return ""
	}
	asYAML := &yamlReading{original: r.original, text: r.text}
	asYAML.stream, asYAML.err = parseYAML(r.text, len(r.text)*8)
	want, err := asYAML.toJSON(1, true, maxResult)
	if _, limit := err.(*InputError); limit {
		return ""
	}
	if got, jsonErr := r.toJSON(1, true, maxResult); got != want || (err == nil) != (jsonErr == nil) {
		return fmt.Sprintf("as JSON %q %v, as YAML %q %v", got, jsonErr, want, err)
	}
	if err == nil && r.stream.depth != asYAML.stream.depth {
		return fmt.Sprintf("depth %d as JSON, %d as YAML", r.stream.depth, asYAML.stream.depth)
	}
	return ""
}

func TestYAMLReadsJSONLikeYAML(t *testing.T) {
	texts := []string{`{}`, `[]`, ` [ ] `,
		"{\n\t\"a\" : [1,-0,1.50,1e5,1E+400,0.0,true,false,null]\n}",
		`["\u00e9\/\b\f\n\r\t\"\\"]`,
		`["\ud83d\ude00","\ud83d","\ude00\ud83d","\ue000","\u2028\u0085\u0000"]`, "[\"\u2028\u0085\uE000\x7f\uFEFF\"]",
		`{"a":{"b":[{"c":[[]]}]},"":"","<<":1,"null":null}`, `{"` + strings.Repeat("k", 2000) + `":1}`, `{"a":1}` + "\n\n",
		"[1\n,2\n,\t3]", `["a: b","- c","# d","&e","*f","!g","|",">","%h","@i"," j ","k\tl"]`}
	for _, text := range texts {
		reading := readYAML(text)
		require.True(t, reading.json, text)
		require.NoError(t, reading.err, text)
		assert.Empty(t, differsAsYAML(reading), text)
	}
	twice := readYAML("{\"a\":1,\n\"a\":2}")
	require.True(t, twice.json)
	assert.Equal(t, &yamlError{8, `the mapping has the key "a" already`}, twice.err)
}

// FuzzYAML holds five things: no text makes the reader fail in another way than it says; the scanner and the
// library agree about where nodes are; what is formatted means the same, has the same comments and does not
// change when formatted again; JSON means the same when it is read as YAML; and the JSON of a text is JSON.
func FuzzYAML(f *testing.F) {
	seeds := yamlSeeds(f)
	for _, seed := range seeds {
		f.Add(seed, uint8(2), false)
	}
	f.Fuzz(func(t *testing.T, text string, indent uint8, sorted bool) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		reading := readYAML(text)
		switch wrong, ok := reading.err.(*yamlError); {
		case reading.err == nil:
		case ok && (wrong.offset < 0 || wrong.offset > len(reading.text) || wrong.message == "" ||
			strings.Contains(wrong.message, unclear)):
			t.Fatalf("%q: %+v", text, wrong)
		default:
			return
		}
		if wrong := sameAfterFormat(t, text, int(indent%8)+1, sorted); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
		if wrong := differsAsYAML(reading); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
		report, err := reading.report(reading.toJSON(int(indent%9), sorted, maxResult))
		if err != nil || !report.Valid {
			return
		}
		if !json.Valid([]byte(*report.Result)) {
			t.Fatalf("%q became %q", text, *report.Result)
		}
		for _, finding := range report.Findings {
			if l := finding.Location; l != nil && (l.Offset < 0 || l.Length < 0 || l.Offset+l.Length > len(text)) {
				t.Fatalf("%q: %+v", text, finding)
			}
		}
	})
}

// TestFormatYAMLOfMangledTexts formats texts into which pieces of YAML were thrown at random.
func TestFormatYAMLOfMangledTexts(t *testing.T) {
	seeds := yamlSeeds(t)
	pieces := []string{" ", "  ", "\n", "\t", ":", "- ", "? ", ": ", "\"", "'", "[", "]", "{", "}", ",", "#",
		" # c1\n", "\n# c2\n",
		"\n  # c3\n", "&a ", "*a", "!!str ", "|\n", ">\n", "|+\n", "---\n", "...\n", "a", "%", "-", "\n\n", "\\", "\r\n"}
	random := rand.New(rand.NewPCG(1, 2))
	formatted := 0
	for range 20000 {
		text := seeds[random.IntN(len(seeds))]
		for range 1 + random.IntN(4) {
			at := random.IntN(len(text) + 1)
			behind := at
			if at < len(text) && random.IntN(3) == 0 {
				behind++
			}
			text = text[:at] + pieces[random.IntN(len(pieces))] + text[behind:]
		}
		if !utf8.ValidString(text) || readYAML(text).err != nil {
			continue
		}
		formatted++
		if wrong := sameAfterFormat(t, text, 1+random.IntN(8), random.IntN(2) == 0); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
	}
	if formatted < 1000 {
		t.Errorf("only %d texts were valid", formatted)
	}
}
