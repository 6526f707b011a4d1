//go:build !race && linux

package decode

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// BenchmarkDecode decodes a clean code, a photo, a sheet and a photo without a code.
func BenchmarkDecode(b *testing.B) {
	read := func(name string) []byte {
		data, err := os.ReadFile(diagtest.Suite(b, "web/qr/"+name)[0])
		require.NoError(b, err)
		return data
	}
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"clean", asPNG(b, drawn(b, link, 300))},
		{"photo", read("zxing-qrcode-1/1.png")},
		{"sheet", read("multi/sheet-9.png")},
		{"none", read("zxing-falsepositives/01.png")},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			began := cpu(b)
			for b.Loop() {
				_, err := Decode(b.Context(), nil, Request{Image: tt.data})
				require.NoError(b, err)
			}
			b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op") // whatever else runs
		})
	}
}
