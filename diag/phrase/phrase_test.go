package phrase

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	require.Equal(t, "v=spf1 -all", Quote("v=spf1 -all"))
	require.Equal(t, `"a\x1b[2J"`, Quote("a\x1b[2J"))
	require.Equal(t, "a\uFFFD", Quote("a\xff"))
	require.Equal(t, maxQuoted+len("…"), len(Quote(strings.Repeat("x", 1000))))
}

func TestSeries(t *testing.T) {
	list := []string{"a", "b", "c", "d"}
	for n, want := range []string{"", "a", "a and b", "a, b and c", "a, b, c and 1 more"} {
		require.Equal(t, want, Series(list[:n], 3))
	}
}

func TestSentence(t *testing.T) {
	require.Equal(t, "The term is empty.", Sentence("the term is empty"))
	require.Equal(t, "ip4 is misspelt.", Sentence("ip4 is misspelt"))
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 records", "1 record", "2 records"} {
		require.Equal(t, want, Count(n, "record"))
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"preload", "preload", 0}, {"prelaod", "preload", 1}, {"preloads", "preload", 1},
		{"max_age", "max-age", 1}, {"includesubdomain", "includesubdomains", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 100), "a", maxCompared},
	} {
		require.Equal(t, tt.want, Distance(tt.a, tt.b), tt.a)
		require.Equal(t, tt.want, Distance(tt.b, tt.a), tt.a)
	}
}
