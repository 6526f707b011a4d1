package textutil

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// largeYAML returns a text of some five million bytes, as people write them.
func largeYAML() string {
	var b strings.Builder
	for i := 0; b.Len() < 5<<20; i++ {
		fmt.Fprintf(&b, "- id: %d\n  name: \"user %d\" # comment\n  tags: [a, b, c]\n  address:\n"+
			"    street: some street %d\n    zip: '0%d'\n", i, i, i, i)
	}
	return b.String()
}

func BenchmarkYAMLToJSON(b *testing.B) {
	text := largeYAML()
	b.Run("diagkit", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readYAMLWithin(text, len(text)).toJSON(2, false, 64<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("yaml-v4", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var value any
			err := yaml.Unmarshal([]byte(text), &value)
			if err == nil {
				_, err = json.MarshalIndent(value, "", "  ")
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFormatYAML(b *testing.B) {
	text := largeYAML()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readYAMLWithin(text, len(text)).format(2, false, 64<<20); err != nil {
			b.Fatal(err)
		}
	}
}
