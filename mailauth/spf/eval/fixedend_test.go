package eval

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The fixed end of a name consists of whole labels.
func TestFixedEnd(t *testing.T) {
	for value, want := range map[string]string{
		"%{i}.spf.example.com":         "spf.example.com",
		"%{i}-x.spf.example.com.":      "spf.example.com",
		"%{ir}.%{v}.%{d}.spf.example":  "example.com.spf.example",
		"%{ir}._spf.%{d}":              "_spf.example.com",
		"%{ir}._spf%{d1}.%{d2}":        "_spfcom.example.com",
		"x.%{i}":                       "",
		"%{d}.%{l}":                    "",
		"%{l}x.%%.example":             "%.example",
		"%{h}.a.%{d2r}.example.net":    "a.com.example.example.net",
		"%{d}.example.net.%{i}com.net": "net",
	} {
		record, faults := Parse("v=spf1 include:" + value)
		require.Empty(t, faults, value)
		require.Equal(t, want, record.Terms[0].FixedEnd("slipvh", func(byte) string { return "example.com" }), value)
	}
}
