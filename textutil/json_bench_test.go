package textutil

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// largeJSON returns a text of some six million bytes.
func largeJSON() string {
	var b strings.Builder
	b.WriteString("[")
	for i := 0; b.Len() < 6<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"user %d","tags":["a","b","c"],"score":%d.50,"active":true,`+
			`"address":{"street":"some \"street\" %d","zip":"0%d","country":null}}`, i, i, i, i, i)
	}
	b.WriteString("]")
	return b.String()
}

func BenchmarkFormatJSON(b *testing.B) {
	text := largeJSON()
	b.Run("diagkit", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readJSON(text).format(2, false, 64<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json.Indent", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var out bytes.Buffer
			if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkJSONToYAML(b *testing.B) {
	text := largeJSON()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readJSON(text).toYAML(2, 64<<20); err != nil {
			b.Fatal(err)
		}
	}
}
