package textutil

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// TestRegexBudget gives searches little to spend. The first search is always made, so that matched is
// always right; what follows stops in time.
func TestRegexBudget(t *testing.T) {
	cases := []struct {
		name, pattern, text string
		budget              int
		matches             int
		groups              int // of the last match
	}{
		{"enough", `b`, strings.Repeat("ab", 20), 100_000, 20, 0},
		{"reads to the end for each match", `(?s).*!|b`, strings.Repeat("b", 2000), 100_000, 7, 0},
		{"reads to the end though nothing follows", `(?s)a|.*!`, "a" + strings.Repeat("b", 2000), 10_000, 1, 0},
		{"nothing left behind the first", `b`, strings.Repeat("b", 20), 0, 1, 0},
		{"nothing left for groups", `(b+)`, strings.Repeat("b", 20), 0, 1, 0},
		{"enough for the groups of two matches", `(?:(a?)b){20} `, strings.Repeat(strings.Repeat("ab", 20)+" ", 9), 20_000,
			2, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tree, err := syntax.Parse(c.pattern, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			prog, err := syntax.Compile(tree.Simplify())
			if err != nil {
				t.Fatal(err)
			}
			req := &RegexRequest{Pattern: c.pattern, Text: c.text}
			report := &RegexReport{}
			s := newRegexSearch(req, len(prog.Inst), tree.CapNames())
			s.budget = c.budget
			s.run(report)
			if !report.Matched || report.MatchCount != c.matches || report.Truncated != (c.name != "enough") {
				t.Errorf("%d matches, truncated %v; want %d", report.MatchCount, report.Truncated, c.matches)
			}
			if last := report.Matches[len(report.Matches)-1]; len(last.Groups) != c.groups {
				t.Errorf("%d groups of the last match; want %d", len(last.Groups), c.groups)
			}
			if first := len(prog.Inst) * len(c.text); s.spent > c.budget+first {
				t.Errorf("spent %d of %d, and %d for the first search", s.spent, c.budget, first)
			}
		})
	}
}

// TestRegexSize compares the bound with what patterns compile to.
func TestRegexSize(t *testing.T) {
	patterns := []string{
		"", "a", "abc", "[a-z]", ".", "^$", "(a)", "(?:a)", "a*", "a+", "a?", "(a*)*", "(a|b|cd)", "a{3}", "a{2,5}", "a{3,}",
		"a{0}", "a{0,}", "a{0,3}", "(ab){2,}", "(?:a{9}){9}", "(?i)abc", `\b\pL`, "(?:a?){1000}", "|a|", "a{1,}", "(?:(a)|){1,7}",
		"(?:ab|cd*?|[^e]+){5,9}",
	}
	for _, pattern := range patterns {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		size := regexSize(tree)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		// Each program has an instruction that fails and one that ends.
		if got := len(prog.Inst) - 2; got > size || size > 2*got+4 {
			t.Errorf("%s: %d instructions; the bound is %d", pattern, got, size)
		}
	}
}
