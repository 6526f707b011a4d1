package textutil_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleRegex() {
	replacement := "<${user}> at $2"
	report, err := textutil.Regex(textutil.RegexRequest{
		Pattern: `(?P<user>\w+)@([\w.]+)`, Text: "ask postmaster@example.com", Replacement: &replacement,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range report.Matches {
		fmt.Println(m.Start, m.End, m.Value, *m.Groups[0].Value)
	}
	fmt.Println(*report.Result)
	// Output:
	// 4 26 postmaster@example.com postmaster
	// ask <postmaster> at example.com
}

func ExampleRegex_unsupported() {
	report, err := textutil.Regex(textutil.RegexRequest{Pattern: `\d+(?= euro)`, Text: "5 euro"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Valid, report.Error.Message, "at byte", *report.Error.Position)
	fmt.Println(report.Error.Hint)
	// Output:
	// false RE2 does not have a lookahead at byte 3
	// Match what follows too, and take from a group what you need
}

// spans returns the places of matches and groups as package regexp gives them.
func spans(report *textutil.RegexReport) [][]int {
	list := [][]int{}
	for _, m := range report.Matches {
		span := []int{m.Start, m.End}
		for _, g := range m.Groups {
			if g.Matched {
				span = append(span, *g.Start, *g.End)
			} else {
				span = append(span, -1, -1)
			}
		}
		list = append(list, span)
	}
	return list
}

// TestRegexFindsAll compares with the library, which the report must agree with wherever it is whole.
func TestRegexFindsAll(t *testing.T) {
	patterns := []string{
		`a`, `a*`, `a*?`, `a+|b`, `(a)(b)?`, `(a*)*`, `(|a)*`, `(|a)+`, `(a|ab)(c|bcd)(d*)`, `^a`, `a$`, `(?m)^a*$`,
		`\b`, `\B`, `\ba`, `a\b`, `(^|b)a`, `(?:^a|b(a))`, `$`, `^`, `\z`, `\A`, `(a)|(b)|(é)`, `é*`, `(?s).`, `.*`, `(.*)$`,
		`(?i)A(É)?`, `[^a]`, `()`, `()|a`, `a()b`, `(?U)a+(b*)`, `\Qa`, `\Qa\Eb`, `[[:alpha:]]+`, `[]a]`, `[^]a]`, `[\]a]`,
		`(?P<x>a)(?<y>b)`, `\(|\)`, `((((a))))b*`, `x*(a$|b)`, `(?:(a)|b)*`, `(?:(?:(a)|b)*?)a`, `b*(?m:$)(\n)?`, `(a|b)*\b`,
		`[[]`, `[a[:digit:]]`, `\pL`, `(\x{e9}|\141)`,
	}
	texts := []string{
		"", "a", "b", "aa", "aab", "abcd", "baab a", "é", "aéa", "ÉaAé", "a\nb\na", "\n", "]", "(ab)", "ab ab\nba aé b1",
		"𐐷a𐐷", "[1a", "xxab",
	}
	for _, pattern := range patterns {
		for _, flags := range []string{"", "i", "ms", "U"} {
			source := pattern
			if flags != "" {
				source = "(?" + flags + ")" + pattern
			}
			want := regexp.MustCompile(source)
			for _, text := range texts {
				report, err := textutil.Regex(textutil.RegexRequest{Pattern: pattern, Flags: flags, Text: text})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := spans(report), want.FindAllStringSubmatchIndex(text, -1); !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s in %q: %v; want %v", source, text, got, want)
				}
				if report.Truncated || report.MatchCount != len(report.Matches) || report.Matched != (report.MatchCount > 0) {
					t.Errorf("%s in %q: %+v", source, text, report)
				}
			}
		}
	}
}

func TestRegexOffsets(t *testing.T) {
	text := strings.Repeat("é𐐷\u0301 x", 60)
	report, err := textutil.Regex(textutil.RegexRequest{Pattern: `(é)?(𐐷.)|x`, Text: text, MaxMatches: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Matches) != 120 {
		t.Fatalf("%d matches", len(report.Matches))
	}
	check := func(what string, offset, runes, units int) {
		if want := utf8.RuneCountInString(text[:offset]); runes != want {
			t.Errorf("%s: byte %d is character %d; want %d", what, offset, runes, want)
		}
		if want := len(utf16.Encode([]rune(text[:offset]))); units != want {
			t.Errorf("%s: byte %d is unit %d; want %d", what, offset, units, want)
		}
	}
	for _, m := range report.Matches {
		check("start", m.Start, m.StartRune, m.StartUTF16)
		check("end", m.End, m.EndRune, m.EndUTF16)
		for _, g := range m.Groups {
			if g.Matched {
				check("start of group", *g.Start, *g.StartRune, *g.StartUTF16)
				check("end of group", *g.End, *g.EndRune, *g.EndUTF16)
				if *g.Value != text[*g.Start:*g.End] {
					t.Errorf("group %d: %q", g.Index, *g.Value)
				}
			}
		}
	}
}

func TestRegexReplaces(t *testing.T) {
	first := false
	cases := []struct {
		name, pattern, text, replacement string
		global                           *bool
		max                              int
		want                             string
		findings                         string
	}{
		{"number", `(\w)(\w)`, "ab cd", "$2$1", nil, 0, "ba dc", ""},
		{"number before a letter", `(a)`, "a", "$1x", nil, 0, "ax", ""},
		{"number in braces", `(a)`, "a", "${1}0", nil, 0, "a0", ""},
		{"name", `(?P<n>a)`, "ba", "<$n>", nil, 0, "b<a>", ""},
		{"name in braces", `(?<n>a)`, "ba", "${n}n", nil, 0, "ban", ""},
		{"the match", `a+`, "baab", "[$0]", nil, 0, "b[aa]b", ""},
		{"dollar sign", `a`, "a", "$$1", nil, 0, "$1", ""},
		{"dollar sign alone", `a`, "a", "5 $ $", nil, 0, "5 $ $", ""},
		{"open brace", `a`, "a", "${1", nil, 0, "${1", ""},
		{"nothing", `a`, "bab", "", nil, 0, "bb", ""},
		{"first only", `a`, "aa", "b", &first, 0, "ba", ""},
		{"as many as asked for", `a`, "aaa", "b", nil, 2, "bba", "text.regex.truncated"},
		{"empty matches", `x*`, "abc", "-", nil, 0, "-a-b-c-", ""},
		{"a group that took no part", `(a)|b`, "b", "<$1>", nil, 0, "<>", ""},
		{"no such group", `(a)`, "a", "$2", nil, 0, "", "text.regex.replacement_group"},
		{"no such name", `(a)`, "a", "x$name", nil, 0, "x", "text.regex.replacement_group"},
		{"no match", `a`, "b", "$0", nil, 0, "b", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Regex(textutil.RegexRequest{
				Pattern: c.pattern, Text: c.text, Replacement: &c.replacement, Global: c.global, MaxMatches: c.max,
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Result == nil || *report.Result != c.want || report.OutputBytes != len(c.want) {
				t.Errorf("got %+v; want %q", report, c.want)
			}
			codes := ""
			for _, f := range report.Findings {
				codes += f.Code
			}
			if codes != c.findings {
				t.Errorf("findings %q; want %q", codes, c.findings)
			}
		})
	}
}

func TestRegexTruncates(t *testing.T) {
	first := false
	cases := []struct {
		name      string
		req       textutil.RegexRequest
		count     int
		truncated bool
	}{
		{"default", textutil.RegexRequest{Pattern: "a", Text: strings.Repeat("a", 101)}, 100, true},
		{"exactly as many", textutil.RegexRequest{Pattern: "a", Text: strings.Repeat("a", 100)}, 100, false},
		{"first", textutil.RegexRequest{Pattern: "a", Text: "aa", Global: &first}, 1, false},
		{"most", textutil.RegexRequest{Pattern: "", Text: "", MaxMatches: 1000}, 0, false},
	}
	cases[3].req.Pattern, cases[3].req.Text = "()", strings.Repeat("a", 1000)
	cases[3].count, cases[3].truncated = 1000, true
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Regex(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if report.MatchCount != c.count || report.Truncated != c.truncated {
				t.Errorf("%d matches, truncated %v; want %d, %v", report.MatchCount, report.Truncated, c.count, c.truncated)
			}
		})
	}
}

// costlyRegexes are requests within the bounds that cost the engine most: the library alone takes many
// seconds for some of them.
var costlyRegexes = []struct {
	name, pattern, unit string
	n                   int // times the unit
}{
	{"reads to the end for each match", `(?s).*!|b`, "b", 256 << 10},
	{"as many instructions as text allows", strings.Repeat("a?", 330) + strings.Repeat("a", 330), "a", 50_000},
	{"repetitions", "(?:a?){1000}a{1000}b", "a", 16_000},
	{"dots", strings.Repeat(".*", 93) + "b", "a", 260_000},
	{"groups", strings.Repeat("(a?)", 249), "a", 49_000},
	{"groups in a large pattern", "(?:" + strings.Repeat("(a?)", 240) + "){50}", "a", 900},
	{"nested groups", strings.Repeat("(", 300) + "a*" + strings.Repeat(")", 300), "a", 60_000},
	{"large pattern", "(?:" + strings.Repeat("(a?)", 19) + strings.Repeat("a?", 200) + "){100}", "a", 1000},
	{"classes", "(?i)(?:" + strings.Repeat(`\pL\PN`, 10) + "){300}", "é", 3000},
}

// TestRegexStaysInTime has a limit for slow machines; the work itself is measured by BenchmarkRegexAtItsBounds and
// counted in TestRegexBudget.
func TestRegexStaysInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	scale, limit := 1, 5*time.Second
	if raceDetector {
		scale = 200
	}
	for _, c := range costlyRegexes {
		if !diagtest.Sampled(c.name, 2) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			req := textutil.RegexRequest{Pattern: c.pattern, Text: strings.Repeat(c.unit, c.n/scale), MaxMatches: 1000}
			began := diagtest.ProcessorTime()
			report, err := textutil.Regex(req)
			took := diagtest.ProcessorTime() - began
			if err != nil || !report.Valid {
				t.Fatalf("got %+v, %v", report, err)
			}
			if t.Log(took); took >= limit {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestRegexReportStaysSmall has matches whose groups repeat the text many times.
func TestRegexReportStaysSmall(t *testing.T) {
	report, err := textutil.Regex(textutil.RegexRequest{
		Pattern: strings.Repeat("(", 60) + "a*" + strings.Repeat(")", 60), Text: strings.Repeat("a", 250_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Truncated || len(report.Matches) != 1 || len(report.Matches[0].Groups) != 0 {
		t.Errorf("%d matches, truncated %v", len(report.Matches), report.Truncated)
	}
	report, err = textutil.Regex(textutil.RegexRequest{
		Pattern: strings.Repeat("(a?)", 100), Text: strings.Repeat("b", 1000), MaxMatches: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Truncated || len(report.Matches) > 201 {
		t.Errorf("%d matches, truncated %v", len(report.Matches), report.Truncated)
	}
}

func TestRegexRefuses(t *testing.T) {
	long := strings.Repeat("r", 4097)
	bad, huge := "\xff", strings.Repeat("$0", 2048)
	cases := []struct {
		name  string
		req   textutil.RegexRequest
		field string
	}{
		{"no pattern", textutil.RegexRequest{Text: "a"}, "pattern"},
		{"long pattern", textutil.RegexRequest{Pattern: strings.Repeat("a", 1001)}, "pattern"},
		{"pattern that is not UTF-8", textutil.RegexRequest{Pattern: bad}, "pattern"},
		{"pattern of too many instructions", textutil.RegexRequest{
			Pattern: "(?:" + strings.Repeat("a", 900) + "){1000}"}, "pattern"},
		{"pattern too large for the text", textutil.RegexRequest{
			Pattern: "(?:a?){1000}", Text: strings.Repeat("a", 256<<10)}, "pattern"},
		{"long text", textutil.RegexRequest{Pattern: "a", Text: strings.Repeat("a", 256<<10+1)}, "text"},
		{"text that is not UTF-8", textutil.RegexRequest{Pattern: "a", Text: bad}, "text"},
		{"unknown flag", textutil.RegexRequest{Pattern: "a", Flags: "ig"}, "flags"},
		{"flag twice", textutil.RegexRequest{Pattern: "a", Flags: "imi"}, "flags"},
		{"long replacement", textutil.RegexRequest{Pattern: "a", Replacement: &long}, "replacement"},
		{"replacement that is not UTF-8", textutil.RegexRequest{Pattern: "a", Replacement: &bad}, "replacement"},
		{"result too long", textutil.RegexRequest{
			Pattern: "a+", Text: strings.Repeat("a", 10_000), Replacement: &huge}, "replacement"},
		{"negative number of matches", textutil.RegexRequest{Pattern: "a", MaxMatches: -1}, "max_matches"},
		{"too many matches", textutil.RegexRequest{Pattern: "a", MaxMatches: 1001}, "max_matches"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Regex(c.req)
			refused(t, report, err, c.field)
		})
	}
}

func TestRegexExplains(t *testing.T) {
	cases := []struct {
		pattern  string
		code     textutil.RegexFaultCode
		position int
	}{
		{`a(?=b)`, "lookahead", 1},
		{`\((?!b)`, "negative_lookahead", 2},
		{`(?<=a)b`, "lookbehind", 0},
		{`[(?=](?<!a)b`, "negative_lookbehind", 5},
		{`(a)\1`, "backreference", 3},
		{`(a)\9`, "backreference", 3},
		{`(?P<n>a)(?P=n)`, "backreference", 8},
		{`(?<n>a)\k<n>`, "backreference", 7},
		{`(?>a+)`, "atomic_group", 0},
		{`ba*+`, "possessive_quantifier", 2},
		{`a{2}+`, "possessive_quantifier", 1},
		{`(?(1)a|b)`, "conditional", 0},
		{`\Q(?=\E(?R)`, "recursion", 7},
		{`(a)(?1)`, "recursion", 3},
		{`(a)(?-1)`, "recursion", 3},
		{`(?&n)`, "recursion", 0},
		{`(?P>n)`, "recursion", 0},
		{`(?|(a)|(b))`, "branch_reset", 0},
		{`(?#a)`, "comment", 0},
		{`a(*FAIL)`, "control_verb", 1},
		{`(?C1)`, "callout", 0},
		{`(?'n'a)`, "quoted_group_name", 0},
		{`(?ix)a`, "extended_mode", 0},
		{`a\Kb`, "match_reset", 1},
		{`\Ga`, "last_match_anchor", 0},
		{`\\\Ra`, "line_break_escape", 2},
		{`\X`, "grapheme_escape", 0},
		{`a\Z`, "final_newline_anchor", 1},
		{`[a\h]`, "horizontal_space_escape", 2},
		{`\u00e9`, "unicode_escape", 0},
		{`[\u00e9]`, "unicode_escape", 1},
		{`\cJ`, "control_escape", 0},
		{`(a(b)`, "missing_closing_parenthesis", 0},
		{`a)b(`, "unexpected_closing_parenthesis", 1},
		{`(a)[b`, "missing_closing_bracket", 3},
		{`ab\`, "trailing_backslash", 2},
		{`a\y`, "invalid_escape", 1},
		{`\p{Klingon}`, "invalid_range", 0},
		{`[z-a]`, "invalid_range", 1},
		{`[[:word:][:none:]]`, "invalid_range", 9},
		{`(?P<1-a>b)`, "invalid_group_name", 0},
		{`(?z)`, "invalid_group", 0},
		{`a|*`, "nothing_to_repeat", 2},
		{`a**`, "nested_repetition", 1},
		{`a{1001}`, "repeat_too_large", 1},
		{`a{2,1}`, "repeat_reversed", 1},
		{`ab{3,2}?`, "repeat_reversed", 2},
		{`a{1,1001}`, "repeat_too_large", 1},
		{`(?:a{500}){3}`, "repeat_too_large", 10},
	}
	for _, c := range cases {
		t.Run(c.pattern, func(t *testing.T) {
			report, err := textutil.Regex(textutil.RegexRequest{Pattern: c.pattern, Text: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if report.Valid || report.Error.Message == "" || report.Matches == nil {
				t.Fatalf("got %+v; want a fault", report)
			}
			if report.Error.Code != c.code {
				t.Errorf("got %+v; want %s", report.Error, c.code)
			}
			if report.Error.Position == nil || *report.Error.Position != c.position {
				t.Errorf("position of %+v is %v; want %d", report.Error, report.Error.Position, c.position)
			}
		})
	}
}
