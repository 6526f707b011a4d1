package textutil

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// FuzzFormatJSON compares the formatter with the standard library: both accept the same texts, and see the same
// tokens in the result. What is formatted twice does not change.
func FuzzFormatJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,null,"\u00e9\ud800"],"a":{}}`, "\uFEFF[ ]", "[1,",
		`{"b":1,"a":[[]]}`,
		"[01]", "\"\t\"", "nul", "[1e400,123456789012345678901234567890]", `{"":{"":[{}]}}`} {
		f.Add(seed, uint8(2), false)
	}
	f.Fuzz(func(t *testing.T, text string, indent uint8, sorted bool) {
		spaces := int(indent % 9)
		req := JSONFormatRequest{Text: text, Indent: &spaces, Minify: indent > 128, SortKeys: sorted}
		report, err := FormatJSON(req)
		if (report == nil) == (err == nil) {
			t.Fatalf("report %+v, error %v", report, err)
		}
		if err != nil {
			return
		}
		if valid := json.Valid([]byte(strings.TrimPrefix(text, byteOrderMark))); report.Valid != valid {
			t.Fatalf("%q: %+v, %+v", text, report, report.Error)
		}
		if !report.Valid {
			if wrong := wrongPlace(text, report.Error); wrong != "" {
				t.Fatalf("%q: %+v: %s", text, report.Error, wrong)
			}
			return
		}
		if got, want := compacted(t, *report.Result), compacted(t, text); got != want && !sorted {
			t.Fatalf("%q became %q", want, got)
		}
		if len(compacted(t, *report.Result)) != len(compacted(t, text)) {
			t.Fatalf("%q became %q", text, *report.Result)
		}
		req.Text = *report.Result
		if again, err := FormatJSON(req); err != nil || *again.Result != *report.Result {
			t.Fatalf("%q became %v, %v", *report.Result, again, err)
		}
		for _, finding := range report.Findings {
			if l := finding.Location; l.Offset+l.Length > len(text) {
				t.Fatalf("%q: %+v", text, finding)
			}
		}
	})
}

// FuzzJSONToYAML checks that the two directions are inverse: the JSON from YAML is the same.
func FuzzJSONToYAML(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c\nd\n"}],"yes":"no"}`, `"a\u0085b: #"`,
		`["- a","\ud800\udc00","\udc00"]`,
		`[[[]],{},{"a":{"a":1,"a":2}}]`, `{"a\nb":"\n\n"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reading := readJSON(text)
		if !utf8.ValidString(text) || reading.err != nil || reading.depth > yaml.MaxDepth || len(text) > 1<<16 {
			return
		}
		roundTrips(t, text)
	})
}

// TestJSONToYAMLRoundTrips does the same with texts made of hard cases.
func TestJSONToYAMLRoundTrips(t *testing.T) {
	hard := []string{" ", "\n", "\t", "-", "- ", "?", ":", ": ", "#", " #", "\"", "'", "\\", "[", "]", "{", "}", ",", "&",
		"*", "!",
		"|", ">", "%", "@", "`", "~", "---", "...", "null", "yes", "0x1", "1", ".", "e", "1:2",
		"\r", "\u0085", "\u2028", "\uFEFF",
		"\u00a0", "é", "😀", "\x00", "\x7f", "\uFFFE", "<<", "=", "a", "b c"}
	word := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hard), 0, 5).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(r *rapid.T) {
		text := drawJSON(r, word, 4)
		if !roundTrips(t, text) {
			r.Fatalf("%s", text)
		}
	})
}

// drawJSON draws a text with objects and arrays of some depth.
func drawJSON(r *rapid.T, word *rapid.Generator[string], depth int) string {
	kind := rapid.IntRange(0, 5).Draw(r, "kind")
	if depth == 0 {
		kind = min(kind, 2)
	}
	switch kind {
	case 0, 1:
		return quotedJSON(word.Draw(r, "string"))
	case 2:
		scalars := []string{"1", "-0", "1.10", "1e5", "1E-400", "true", "false", "null", "{}", "[]"}
		return rapid.SampledFrom(scalars).Draw(r, "scalar")
	}
	var parts []string
	for range rapid.IntRange(1, 4).Draw(r, "count") {
		part := drawJSON(r, word, depth-1)
		if kind == 3 {
			part = quotedJSON(word.Draw(r, "name")) + ":" + part
		}
		parts = append(parts, part)
	}
	if kind == 3 {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quotedJSON(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("quoting %q: %v", s, err))
	}
	return string(quoted)
}

func TestSortJSONIsStable(t *testing.T) {
	text := `{"b":1,"a":{"d":1,"c":2},"b":2,"\u0061":[{"f":1,"e":2}]}`
	want := `{"a":{"c":2,"d":1},"\u0061":[{"e":2,"f":1}],"b":1,"b":2}`
	if got := sortJSON(text); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if names := jsonMembers(nil, want, jsonNodes(want), 0); !slices.IsSortedFunc(names,
		func(a, b jsonMember) int { return strings.Compare(a.name, b.name) }) {
		t.Errorf("got %v", names)
	}
}
