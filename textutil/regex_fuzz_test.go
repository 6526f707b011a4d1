package textutil_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil"
)

// FuzzRegex compares with the library: the same patterns are valid, and the same places match.
func FuzzRegex(f *testing.F) {
	for _, pattern := range []string{
		"(a*)*b", `\b(\w)|$`, "(?i)é+?", `\Q(`, "[[:alpha:]]{2,3}", "(?<n>a)|(?P<m>b)", `(?=a)\1`, "^(.*)$",
		"a**", "[^]a]", `\pL(?m:^)`, "(|a)*", "(?:a{9}){9}",
	} {
		f.Add(pattern, "aab é\nbaab", "", "$1")
		f.Add(pattern, "(a\r\n𐐷", "im", "${n}$")
	}
	f.Fuzz(func(t *testing.T, pattern, text, flags, replacement string) {
		report, err := textutil.Regex(textutil.RegexRequest{
			Pattern: pattern, Text: text, Flags: flags, Replacement: &replacement,
		})
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		if err != nil {
			return
		}
		source := pattern
		if flags != "" {
			source = "(?" + flags + ")" + pattern
		}
		want, err := regexp.Compile(source)
		if report.Valid != (err == nil) {
			t.Fatalf("%q: %+v; the library says %v", source, report.Error, err)
		}
		if !report.Valid {
			if e := report.Error; e.Code == "" || e.Message == "" || e.Position != nil && *e.Position > len(pattern) {
				t.Fatalf("%q: %+v", source, report.Error)
			}
			return
		}
		if !utf8.ValidString(*report.Result) {
			t.Fatalf("%q: result %q", source, *report.Result)
		}
		all := want.FindAllStringSubmatchIndex(text, report.MatchCount+1)
		if report.Matched != (len(all) > 0) {
			t.Fatalf("%q in %q: matched %v; want %d matches", source, text, report.Matched, len(all))
		}
		if !report.Truncated && !slices.EqualFunc(spans(report), all, slices.Equal) {
			t.Fatalf("%q in %q: %v; want %v", source, text, spans(report), all)
		}
	})
}

func BenchmarkRegex(b *testing.B) {
	text := "From: postmaster@example.com, To: hostmaster@example.org\r\n"
	for b.Loop() {
		if _, err := textutil.Regex(textutil.RegexRequest{Pattern: `(\w+)@([\w.]+)`, Text: text}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRegexAtItsBounds measures the requests that cost most: each should take about half a second at
// most.
func BenchmarkRegexAtItsBounds(b *testing.B) {
	for _, c := range costlyRegexes {
		b.Run(c.name, func(b *testing.B) {
			req := textutil.RegexRequest{Pattern: c.pattern, Text: strings.Repeat(c.unit, c.n), MaxMatches: 1000}
			for b.Loop() {
				if _, err := textutil.Regex(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
