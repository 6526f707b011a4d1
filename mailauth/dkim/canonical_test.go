package dkim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/stretchr/testify/require"
)

func body(c dkim.Canonicalization, text string) string {
	var b bytes.Buffer
	if n := c.WriteBody(&b, []byte(text)); n != int64(b.Len()) {
		panic("wrong size")
	}
	return b.String()
}

func field(c dkim.Canonicalization, raw string) string {
	return string(c.AppendField(nil, []byte(raw)))
}

func TestCanonicalField(t *testing.T) {
	tests := []struct{ raw, simple, relaxed string }{
		{"A: X\r\n", "A: X\r\n", "a:X\r\n"}, // RFC 6376 section 3.4.5, as are the next
		{"B : Y\t\r\n\tZ  \r\n", "B : Y\t\r\n\tZ  \r\n", "b:Y Z\r\n"},
		{"a: b\n c\n", "a: b\r\n c\r\n", "a:b c\r\n"},
		{"a:", "a:\r\n", "a:\r\n"},
		{"A:\r\n \t\r\n", "A:\r\n \t\r\n", "a:\r\n"},
		{"a: b\rc\r\n", "a: b\rc\r\n", "a:b\rc\r\n"},
		{"Subject: \xc3\x84 \xff\r\n", "Subject: \xc3\x84 \xff\r\n", "subject:\xc3\x84 \xff\r\n"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.simple, field(dkim.Simple, tt.raw), "%q", tt.raw)
		require.Equal(t, tt.relaxed, field(dkim.Relaxed, tt.raw), "%q", tt.raw)
	}
}

func TestCanonicalBody(t *testing.T) {
	tests := []struct{ text, simple, relaxed string }{
		{" C \r\nD \t E\r\n\r\n\r\n", " C \r\nD \t E\r\n", " C\r\nD E\r\n"}, // RFC 6376 section 3.4.5
		{"", "\r\n", ""},
		{"\r\n\r\n", "\r\n", ""},
		{" \r\n\t\r\n", " \r\n\t\r\n", ""},
		{"a", "a\r\n", "a\r\n"},
		{"a\n\nb\n\n", "a\r\n\r\nb\r\n", "a\r\n\r\nb\r\n"},
		{"a\r\n \r\nb", "a\r\n \r\nb\r\n", "a\r\n\r\nb\r\n"},
		{"a\r\rb\r\n", "a\r\rb\r\n", "a\r\rb\r\n"},
		{"\t\ta\t\tb c  d", "\t\ta\t\tb c  d\r\n", " a b c d\r\n"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.simple, body(dkim.Simple, tt.text), "%q", tt.text)
		require.Equal(t, tt.relaxed, body(dkim.Relaxed, tt.text), "%q", tt.text)
	}
	long := strings.Repeat(strings.Repeat("a", 1000)+"  b\r\n", 200) // more than a single write
	require.Equal(t, long, body(dkim.Simple, long))
	require.Equal(t, strings.ReplaceAll(long, "  ", " "), body(dkim.Relaxed, long))
}

// Canonicalization is idempotent; relaxed tolerates all that simple does; line ends of files make no difference.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"A : b\r\n\tc \r\n", "a:\r\n", " a \t b\r\n\r\n \r\n", "x\r\r\n", "\r", "a: \r \n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := "Name :" + s
		for _, c := range []dkim.Canonicalization{dkim.Simple, dkim.Relaxed} {
			require.Equal(t, body(c, s), body(c, body(c, s)))
			require.Equal(t, field(c, raw), field(c, field(c, raw)))
			require.Equal(t, body(dkim.Relaxed, s), body(dkim.Relaxed, body(c, s)))
			require.Equal(t, field(dkim.Relaxed, raw), field(dkim.Relaxed, field(c, raw)))
			if strings.Contains(s, "\r\r") {
				continue // the first CR is not part of the line end
			}
			require.Equal(t, body(c, s), body(c, strings.ReplaceAll(s, "\r\n", "\n")))
			require.Equal(t, field(c, raw), field(c, strings.ReplaceAll(raw, "\r\n", "\n")))
		}
	})
}
