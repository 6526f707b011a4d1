package textutil_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func TestConformanceRegexUnsupported(t *testing.T) {
	var cases []struct{ Pattern, Why string }
	conformance(t, &cases, diagtest.Vectors(t, "text/regex/unsupported_or_invalid.json"))
	passed := 0
	for _, c := range cases {
		report, err := textutil.Regex(textutil.RegexRequest{Pattern: c.Pattern, Text: "a"})
		if err != nil || report.Valid || report.Error.Code == "" || report.Error.Position == nil {
			t.Errorf("%s (%s): %+v, %v", c.Pattern, c.Why, report, err)
			continue
		}
		t.Logf("%s (%s): %s, %s", c.Pattern, c.Why, report.Error.Code, report.Error.Message)
		passed++
	}
	t.Logf("unsupported_or_invalid: %d/%d", passed, len(cases))
}

func TestConformanceRegexReDoS(t *testing.T) {
	var cases []struct {
		Pattern, Pump, Suffix string
		Pumps                 []int
	}
	conformance(t, &cases, diagtest.Vectors(t, "text/regex/redos.json"))
	passed, total, slowest := 0, 0, time.Duration(0)
	for _, c := range cases {
		for _, n := range c.Pumps {
			if raceDetector { // which needs minutes for the longest of these texts
				n = min(n, 2000)
			}
			total++
			text := strings.Repeat(c.Pump, n) + c.Suffix
			start := diagtest.ProcessorTime()
			report, err := textutil.Regex(textutil.RegexRequest{Pattern: c.Pattern, Text: text})
			took := diagtest.ProcessorTime() - start
			slowest = max(slowest, took)
			if err != nil || !report.Valid || took > 5*time.Second {
				t.Errorf("%s with %d pumps: %v, %v, %v", c.Pattern, n, report, err, took)
				continue
			}
			if want := regexp.MustCompile(c.Pattern).MatchString(text); n <= 1000 && report.Matched != want {
				t.Errorf("%s with %d pumps: matched %v; want %v", c.Pattern, n, report.Matched, want)
				continue
			}
			passed++
		}
	}
	t.Logf("redos: %d/%d, the slowest in %v", passed, total, slowest)
}

// A rustCase is a case of the suite of the regex crate of Rust. Its engine is a relative of RE2, with a
// richer syntax.
type rustCase struct {
	Name            string
	Regex           any // a pattern, or a list of them
	Haystack        string
	Matches         []any
	MatchLimit      int `json:"match-limit"`
	Compiles        *bool
	Anchored        bool
	Bounds          any
	Unescape        bool
	Unicode         *bool
	CaseInsensitive bool   `json:"case-insensitive"`
	MatchKind       string `json:"match-kind"`
	SearchKind      string `json:"search-kind"`
	LineTerminator  string `json:"line-terminator"`
}

var (
	// asciiClasses have letters of ASCII only in RE2, and of all Unicode in Rust.
	asciiClasses = regexp.MustCompile(`\\[wWdDsSbB]`)

	// richerSyntax matches syntax that RE2 reads differently: sets of classes, boundaries of words in other letters.
	richerSyntax = regexp.MustCompile(`&&|--|~~|\[[^\]:]*\[[^:]|\\[bB]\{|\\[<>]|\{,`)
)

// A difference is a syntax that one engine reads and the other does not.
type difference struct {
	syntax *regexp.Regexp
	why    string
}

// onlyRust lists syntax that RE2 does not have (https://golang.org/s/re2syntax), and may refuse for that reason alone.
var onlyRust = []difference{
	{regexp.MustCompile(`\(\?[a-zA-Z-]*[uRx][a-zA-Z-]*[:)]`), "the flags u, R and x of Rust"},
	{regexp.MustCompile(`\\[uU]`), `the escape \u of Rust`},
	{regexp.MustCompile(`\\[pP]\{\^?(\w*[^\w}]|[a-z]` +
		`|(Alphabetic|Uppercase|Lowercase|Letter|Any|ASCII|Assigned|Age|White_?Space)\b)`),
		"properties of Unicode that RE2 does not know"},
	{regexp.MustCompile(`\(\?P?<\w*[^\w>]`), "names of groups with marks"},
	{regexp.MustCompile(`\{\d{4,}|\{\d+,\d{4,}`), "more than 1000 repetitions"},
	{regexp.MustCompile(`[*+?}][*+]|[*+}]\?[*+?]|[*+?}]\{`), "repetitions of repetitions"},
}

// onlyRE2 lists syntax that Rust refuses.
var onlyRE2 = []difference{
	{regexp.MustCompile(`\(\?\)`), "a group of no flags"},
	{regexp.MustCompile(`(^|[^\\])\{(\D|$)`), "a brace as a character"},
	{regexp.MustCompile(`\\[0-7QC]`), "octal escapes, quotations and single bytes of RE2"},
}

// readBy returns why only one of the engines reads the pattern, or nothing.
func readBy(differences []difference, pattern string) string {
	for _, d := range differences {
		if d.syntax.MatchString(pattern) {
			return d.why
		}
	}
	return ""
}

// request returns the request that the case makes, or why RE2 does not define its answer.
func (c *rustCase) request() (req textutil.RegexRequest, why string) {
	pattern, single := c.Regex.(string)
	if list, ok := c.Regex.([]any); ok && len(list) == 1 {
		pattern, single = list[0].(string)
	}
	text := c.Haystack
	if c.Unescape {
		quoted, err := strconv.Unquote(`"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text) + `"`)
		if err != nil {
			return req, "a haystack with escapes of Rust"
		}
		text = quoted
	}
	switch {
	case !single:
		return req, "many patterns at once"
	case c.MatchKind != "" && c.MatchKind != "leftmost-first", c.SearchKind != "" && c.SearchKind != "leftmost":
		return req, "another kind of search"
	case c.Bounds != nil:
		return req, "a part of the text"
	case c.LineTerminator != "":
		return req, "another end of lines"
	case c.Anchored && c.MatchLimit != 1:
		return req, "each match at the end of the one before"
	case !utf8.ValidString(text):
		return req, "text that is not UTF-8"
	case !isASCII(text) && c.Unicode != nil && !*c.Unicode:
		return req, "bytes in place of characters"
	case slices.ContainsFunc(slices.Concat(c.spans()...), func(at int) bool {
		return at >= 0 && at < len(text) && !utf8.RuneStart(text[at])
	}):
		return req, "a match within a character"
	case !isASCII(text) && asciiClasses.MatchString(pattern):
		return req, "classes of ASCII"
	case richerSyntax.MatchString(pattern):
		return req, "a richer syntax"
	}
	if pattern == "" {
		pattern = "(?:)"
	}
	if c.Anchored {
		pattern = `\A(?:` + pattern + `)`
	}
	req = textutil.RegexRequest{Pattern: pattern, Text: text, MaxMatches: cmp.Or(c.MatchLimit, 1000)}
	if c.CaseInsensitive {
		req.Flags = "i"
	}
	return req, ""
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// spans returns the places that the case wants, in the form of spans; groups beyond the first few may
// be left out.
func (c *rustCase) spans() [][]int {
	list := [][]int{}
	for _, m := range c.Matches {
		if o, ok := m.(map[string]any); ok {
			if m, ok = o["span"]; !ok {
				m = o["spans"]
			}
		}
		span := []int{}
		for _, v := range m.([]any) {
			switch v := v.(type) {
			case float64:
				span = append(span, int(v))
			case nil:
				span = append(span, -1, -1)
			case []any:
				if len(v) == 0 {
					span = append(span, -1, -1)
					continue
				}
				span = append(span, int(v[0].(float64)), int(v[1].(float64)))
			}
		}
		list = append(list, span)
	}
	return list
}

func TestConformanceRegexRust(t *testing.T) {
	passed, total, left := 0, 0, map[string]int{}
	for _, file := range diagtest.Suite(t, "text/regex/rust-regex/*.json") {
		suite := diagtest.Documents[struct{ Test []rustCase }](t, []string{file})[0]
		if strings.HasPrefix(filepath.Base(file), "regex-lite") {
			// The answers of a smaller engine, which folds the letters of ASCII only.
			left["another engine"] += len(suite.Test)
			continue
		}
		for _, c := range suite.Test {
			switch ok, why := c.run(t, filepath.Base(file)); {
			case why != "":
				left[why]++
			case ok:
				passed++
				total++
			default:
				total++
			}
		}
	}
	if total == 0 {
		t.Error("no cases")
	}
	t.Logf("rust-regex: %d/%d; left out: %v", passed, total, left)
}

// run checks the case, or returns why it was left out.
func (c *rustCase) run(t *testing.T, file string) (ok bool, why string) {
	t.Helper()
	req, why := c.request()
	if why != "" {
		return false, why
	}
	report, err := textutil.Regex(req)
	switch {
	case err != nil:
		t.Errorf("%s %s: %v", file, c.Name, err)
		return false, ""
	case c.Compiles != nil && !*c.Compiles && report.Valid:
		if why = readBy(onlyRE2, req.Pattern); why == "" {
			t.Errorf("%s %s: %q is taken for valid", file, c.Name, req.Pattern)
		}
		return false, why
	case c.Compiles != nil && !*c.Compiles:
		return true, ""
	case !report.Valid:
		if why = readBy(onlyRust, req.Pattern); why == "" {
			t.Errorf("%s %s: %q is refused: %s", file, c.Name, req.Pattern, report.Error.Message)
		}
		return false, why
	}
	want := c.spans()
	got := spans(report)
	ok = slices.EqualFunc(got, want, func(g, w []int) bool { return len(w) <= len(g) && slices.Equal(g[:len(w)], w) })
	if !ok {
		t.Errorf("%s %s: %q in %q: %v; want %v", file, c.Name, req.Pattern, req.Text, got, want)
	}
	return ok, ""
}

// TestConformanceRegexRE2 reads the log of RE2's own tests. Of the four answers to each pattern and text,
// the first is that of the pattern for the whole text, the second that of a search; the others are of
// the longest match, which is not offered here.
func TestConformanceRegexRE2(t *testing.T) {
	lines := conformanceLines(t, "text/regex/go-re2-search.txt")
	var texts []string
	var section, pattern string
	input, passed, total, bytes := 0, 0, 0, 0
	for _, line := range lines {
		switch {
		case line == "strings" || line == "regexps":
			if section = line; line == "strings" {
				texts = nil
			}
		case line == "" || line[0] == '#' || 'A' <= line[0] && line[0] <= 'Z':
		case line[0] == '"':
			text, err := strconv.Unquote(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if section == "strings" {
				texts = append(texts, text)
			} else {
				pattern, input = text, 0
			}
		default:
			if input >= len(texts) {
				t.Fatalf("%q has more answers than texts", pattern)
			}
			answers := strings.Split(line, ";")
			for i, form := range []string{`\A(?:%s)\z`, `%s`} {
				if strings.Contains(pattern, `\C`) {
					bytes++ // a byte of a character, which RE2 for Go does not match
					continue
				}
				total++
				if answersAs(t, fmt.Sprintf(form, pattern), texts[input], answers[i]) {
					passed++
				}
			}
			input++
		}
	}
	if total == 0 {
		t.Error("no cases")
	}
	t.Logf("go-re2-search: %d/%d; left out: single bytes %d", passed, total, bytes)
}

// answersAs checks the first match of the pattern.
func answersAs(t *testing.T, pattern, text, answer string) bool {
	t.Helper()
	if pattern == "" {
		pattern = "(?:)"
	}
	first := false
	report, err := textutil.Regex(textutil.RegexRequest{Pattern: pattern, Text: text, Global: &first})
	if err != nil || !report.Valid {
		t.Errorf("%q in %q: %+v, %v", pattern, text, report, err)
		return false
	}
	got := "-"
	for _, span := range spans(report) {
		pairs := []string{}
		for i := 0; i < len(span); i += 2 {
			if span[i] < 0 {
				pairs = append(pairs, "-")
			} else {
				pairs = append(pairs, fmt.Sprintf("%d-%d", span[i], span[i+1]))
			}
		}
		got = strings.Join(pairs, " ")
	}
	if got != answer {
		t.Errorf("%q in %q: %s; want %s", pattern, text, got, answer)
		return false
	}
	return true
}

// conformanceLines reads a file of vectors of others line by line.
func conformanceLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(diagtest.Suite(t, path)[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}
