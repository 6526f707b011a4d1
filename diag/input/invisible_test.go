package input

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInvisible(t *testing.T) {
	tests := []struct{ text, found, stripped string }{
		{"example.com", "", "example.com"},
		{"example.com\u200B", "U+200B ZERO WIDTH SPACE at character 12", "example.com"},
		{"\uFEFFexample.com", "U+FEFF ZERO WIDTH NO-BREAK SPACE at character 1", "example.com"},
		{"bü\u00ADcher", "U+00AD SOFT HYPHEN at character 3", "bücher"},
		{"a\u202Eb\u202C", "U+202E RIGHT-TO-LEFT OVERRIDE at character 2", "ab"},
		{"a\U000E0041", "U+E0041 at character 2", "a"}, // a tag
		{"a\u3164", "U+3164 HANGUL FILLER at character 2", "a"},
		{"a\u00A0b", "", "a\u00A0b"},
		{"क्\u200Dष", "", "क्\u200Dष"},
		{"❤\uFE0F", "", "❤\uFE0F"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.found, findRune(tt.text, stray), "%q", tt.text)
		require.Equal(t, tt.stripped, without(tt.text, stray), "%q", tt.text)
	}
	require.Equal(t, "U+200D ZERO WIDTH JOINER at character 2", findRune("a\u200D", Invisible))
	require.Equal(t, "U+00A0 NO-BREAK SPACE", DescribeRune('\u00A0'))
	require.Equal(t, "U+0061 'a'", DescribeRune('a'))
	for r := range runeNames {
		require.Contains(t, DescribeRune(r), runeNames[r])
	}
}
