package textutil

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// yamlSeeds returns texts to begin with.
func yamlSeeds() []string {
	seeds := []string{"a: 1\nb:\n- c # d\n- {e: f, ? g : h}\n", "%TAG ! x\n---\n- &a !!str 'b'\n- *a\n...\n",
		"? |\n  a\n: >-\n  b\n\n   c\n", "\"a\\u00e9\\\n  b\"", "[a, [b: c], 'd\n e']", "- - - a\n  -\n    # c\n    b: c",
		"key: [\n  a\n]\n", "\uFEFF# c\r\n---\ra: -", "# a\n\n# b\nc: # d\n  e: |+\n    f\n\n# g\nh: &i\n  j: k # l\n  # m\n"}
	files, _ := filepath.Glob(filepath.Join(vectorsAt("yaml", "yaml-test-suite"), "*", "in.yaml"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			seeds = append(seeds, string(data))
		}
	}
	return seeds
}

// FuzzYAML holds three things: no text makes the parser fail in another way than it says, what is
// formatted means the same, has the same comments and does not change when formatted again, and the
// JSON of a text is JSON.
func FuzzYAML(f *testing.F) {
	seeds := yamlSeeds()
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
		case ok && (wrong.offset < 0 || wrong.offset > len(reading.text) || wrong.message == ""):
			t.Fatalf("%q: %+v", text, wrong)
		default:
			return
		}
		if wrong := sameAfterFormat(text, int(indent%8)+1, sorted); wrong != "" {
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
	seeds := yamlSeeds()
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
		if wrong := sameAfterFormat(text, 1+random.IntN(8), random.IntN(2) == 0); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
	}
	if formatted < 1000 {
		t.Errorf("only %d texts were valid", formatted)
	}
}
