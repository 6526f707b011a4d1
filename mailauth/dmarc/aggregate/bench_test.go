package aggregate

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkLargeReport reads and analyzes a report of a large receiver, and for comparison unmarshals it with
// encoding/xml.
func BenchmarkLargeReport(b *testing.B) {
	data := large()
	b.Run("Read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			r, err := readOne(data, func(*Record) error { return nil })
			require.NoError(b, err)
			require.Equal(b, 14_200, r.Read)
		}
	})
	b.Run("Analyze", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			a, err := Analyze(b.Context(), nil, Request{Content: data})
			require.NoError(b, err)
			require.Equal(b, 14_200, a.RecordsCount)
		}
	})
	b.Run("encoding-xml", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var r xmlReport
			require.NoError(b, xml.Unmarshal(data, &r))
			require.Len(b, r.Records, 14_200)
		}
	})
}
