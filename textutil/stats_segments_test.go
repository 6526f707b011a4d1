package textutil

import (
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// TestConformanceSegments reads the tests of UAX 29: the text between two ÷ is one segment.
func TestConformanceSegments(t *testing.T) {
	cases := []struct {
		file     string
		segments func(text string) iter.Seq[string]
		count    func(*StatsReport) int // of the segments that are a word, if they are of words; nil to count none
	}{
		{"GraphemeBreakTest.txt", graphemes, func(r *StatsReport) int { return r.Graphemes }},
		{"SentenceBreakTest.txt", sentences, nil},
		{"WordBreakTest.txt", wordPieces, func(r *StatsReport) int { return r.Words }},
	}
	for _, c := range cases {
		data, err := os.ReadFile(diagtest.Suite(t, "text/unicode/"+c.file)[0])
		if err != nil {
			t.Fatal(err)
		}
		passed, total := 0, 0
		for line := range strings.Lines(string(data)) {
			want := segmentsOf(t, line)
			text := strings.Join(want, "")
			if text == "" || strings.ContainsRune(text, unicode.ReplacementChar) { // a comment; surrogates
				continue
			}
			total++
			r, err := Stats(StatsRequest{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			count := len(want)
			if c.file == "WordBreakTest.txt" {
				count = len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !isWord(s) }))
			}
			if got := slices.Collect(c.segments(text)); !slices.Equal(got, want) || c.count != nil && c.count(r) != count {
				t.Errorf("%s: %s: %+q, counted in %+v; want %+q", c.file, line, got, r, want)
				continue
			}
			passed++
		}
		if total == 0 {
			t.Errorf("%s: no cases", c.file)
		}
		t.Logf("%s: %d/%d", c.file, passed, total)
	}
}

// segmentsOf returns the segments in a line of a test of UAX 29, such as "÷ 0061 × 0308 ÷ 0062 ÷ # …".
func segmentsOf(t *testing.T, line string) []string {
	t.Helper()
	line, _, _ = strings.Cut(line, "#")
	segments := []string{}
	for part := range strings.SplitSeq(line, "÷") {
		segment := ""
		for code := range strings.FieldsSeq(strings.ReplaceAll(part, "×", " ")) {
			c, err := strconv.ParseUint(code, 16, 21)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			segment += string(rune(c))
		}
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	return segments
}
