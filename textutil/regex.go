package textutil

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	maxRegexPattern     = 1000      // characters (CONTRACT 3.2)
	maxRegexText        = 256 << 10 // bytes (CONTRACT 3.2)
	maxRegexReplacement = 4096      // characters (CONTRACT 3.2)
	maxRegexMatches     = 1000      // in one report (CONTRACT 3.2)
	defaultRegexMatches = 100       // CONTRACT 3.2
	// maxRegexWork bounds instructions times bytes of text (CONTRACT 3.2): one search at the bound takes
	// about half a second.
	maxRegexWork = 50_000_000
	// maxRegexInstructions bounds the compiled pattern: a longer one would cost more memory and time to
	// compile than any search with it. It refuses nothing for texts of 500 bytes or more.
	maxRegexInstructions = 100_000
)

// A RegexRequest asks for the matches of a regular expression in a text.
type RegexRequest struct {
	// Pattern is in the syntax of RE2 (https://golang.org/s/re2syntax).
	Pattern string `json:"pattern" minlen:"1" maxlen:"1000" doc:"expression in the syntax of RE2" example:"(\\w+)@(\\w+)"`
	// Text must be valid UTF-8. Its length in bytes times the instructions of the compiled pattern must not
	// exceed 5·10^7.
	Text string `json:"text" maxbytes:"262144" doc:"the text to search" example:"postmaster@example.com"`
	// Flags has any of the letters imsU, each at most once. i: ignore case; m: ^ and $ match at line
	// boundaries; s: the dot matches a line feed; U: repetitions are non-greedy.
	Flags  string `json:"flags,omitempty" default:"" maxlen:"4" pattern:"^[imsU]*$" doc:"as in (?imsU)" example:"i"`
	Global *bool  `json:"global,omitempty" default:"true" doc:"find all matches, not just the first"`
	// Replacement, if not nil, replaces every match in the report. $1 and ${1} stand for a group, $name and
	// ${name} for a named group, $0 for the match, $$ for a dollar sign.
	Replacement *string `json:"replacement,omitempty" maxlen:"4096" doc:"put in place of each match; $1 ${name} $0 $$"`
	MaxMatches  int     `json:"max_matches,omitempty" default:"100" min:"1" max:"1000" doc:"most matches in the report"`
}

// A RegexFault is the reason that a pattern is not a valid RE2 expression.
type RegexFault struct {
	Code     RegexFaultCode `json:"code" doc:"permanent name of the construct or fault" example:"lookahead"`
	Message  string         `json:"message" doc:"what is wrong with the pattern"`
	Position *int           `json:"position,omitempty" min:"0" doc:"the byte of the pattern where it is wrong, from 0"`
	Hint     string         `json:"hint,omitempty" doc:"how to say it otherwise"`
}

// A RegexMatch is a match of the pattern. End offsets are exclusive.
type RegexMatch struct {
	Value      string       `json:"value" doc:"the text that matched; it may be empty"`
	Start      int          `json:"start" min:"0" doc:"offset in bytes of UTF-8"`
	End        int          `json:"end" min:"0" doc:"offset in bytes of UTF-8"`
	StartRune  int          `json:"start_rune" min:"0" doc:"offset in characters (code points)"`
	EndRune    int          `json:"end_rune" min:"0" doc:"offset in characters (code points)"`
	StartUTF16 int          `json:"start_utf16" min:"0" doc:"offset in units of UTF-16, as JavaScript counts"`
	EndUTF16   int          `json:"end_utf16" min:"0" doc:"offset in units of UTF-16, as JavaScript counts"`
	Groups     []RegexGroup `json:"groups" doc:"the groups of the pattern in the order of their opening brackets"`
}

// A RegexGroup is the match of a group of the pattern. Value and offsets are nil if the group did not
// participate in the match.
type RegexGroup struct {
	Index      int     `json:"index" min:"1" doc:"number of the group, from 1"`
	Name       string  `json:"name,omitempty" doc:"name of the group, if it has one"`
	Matched    bool    `json:"matched" doc:"whether the group took part in the match"`
	Value      *string `json:"value,omitempty" doc:"the text of the group"`
	Start      *int    `json:"start,omitempty" min:"0" doc:"offset in bytes of UTF-8"`
	End        *int    `json:"end,omitempty" min:"0" doc:"offset in bytes of UTF-8"`
	StartRune  *int    `json:"start_rune,omitempty" min:"0" doc:"offset in characters (code points)"`
	EndRune    *int    `json:"end_rune,omitempty" min:"0" doc:"offset in characters (code points)"`
	StartUTF16 *int    `json:"start_utf16,omitempty" min:"0" doc:"offset in units of UTF-16"`
	EndUTF16   *int    `json:"end_utf16,omitempty" min:"0" doc:"offset in units of UTF-16"`
}

// A RegexReport has the matches of a regular expression.
type RegexReport struct {
	Valid        bool         `json:"valid" doc:"whether the pattern is one of RE2"`
	Engine       string       `json:"engine" doc:"the engine, always re2: its time is linear in the text" example:"re2"`
	Error        RegexFault   `json:"error,omitzero" doc:"why the pattern is not valid"`
	Matched      bool         `json:"matched" doc:"whether the pattern matches anywhere in the text"`
	MatchCount   int          `json:"match_count" min:"0" doc:"number of matches in the report"`
	Truncated    bool         `json:"truncated" doc:"whether the report ends before the last match; a finding says why"`
	Matches      []RegexMatch `json:"matches" doc:"the matches from left to right; none overlaps another"`
	Result       *string      `json:"result,omitempty" doc:"the text with every match of the report replaced"`
	Instructions int          `json:"instructions" min:"0" doc:"size of the compiled pattern"`
	Findings     []Finding    `json:"findings" doc:"what is worth knowing about the answer"`
	InputBytes   int          `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes  int          `json:"output_bytes" min:"0" doc:"length of the result in bytes; 0 without one"`
}

// Regex searches a text for matches of a regular expression, and optionally replaces them. The engine is RE2,
// which takes time linear in the text. The total work of a request is limited, so that none takes more than
// about half a second. If RE2 does not support the pattern, the report has Valid false. The error is an
// *[InputError].
func Regex(req RegexRequest) (*RegexReport, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	report := &RegexReport{Engine: "re2", Matches: []RegexMatch{}, Findings: []Finding{}, InputBytes: len(req.Text)}
	tree, err := syntax.Parse(req.Pattern, req.syntaxFlags())
	if err != nil {
		report.Error = explainRegex(req.Pattern, err)
		return report, nil
	}
	if size := regexSize(tree); size > maxRegexInstructions {
		return nil, invalid("pattern", "needs about %d instructions; the most is %d", size, maxRegexInstructions)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compiling a pattern that was parsed: %w", err)
	}
	report.Instructions = len(prog.Inst)
	if work := len(prog.Inst) * len(req.Text); work > maxRegexWork {
		return nil, invalid("pattern", "has %d instructions, which makes %d steps for %d bytes of text; the most is %d",
			len(prog.Inst), work, len(req.Text), maxRegexWork)
	}
	report.Valid = true
	newRegexSearch(&req, len(prog.Inst), tree.CapNames()).run(report)
	if err := req.replace(report, tree.CapNames()); err != nil {
		return nil, err
	}
	return report, nil
}

func (req *RegexRequest) check() error {
	switch n := utf8.RuneCountInString(req.Pattern); {
	case n == 0:
		return invalid("pattern", "is empty")
	case n > maxRegexPattern:
		return invalid("pattern", "has %d characters; the most is %d", n, maxRegexPattern)
	case len(req.Text) > maxRegexText:
		return invalid("text", "has %d bytes; the most is %d", len(req.Text), maxRegexText)
	case req.MaxMatches < 0 || req.MaxMatches > maxRegexMatches:
		return invalid("max_matches", "is %d; it may be from 1 to %d", req.MaxMatches, maxRegexMatches)
	}
	for i, flag := range req.Flags {
		if !strings.ContainsRune("imsU", flag) {
			return invalid("flags", "%q is not one of i, m, s, U", flag)
		}
		if strings.ContainsRune(req.Flags[:i], flag) {
			return invalid("flags", "has %q twice", flag)
		}
	}
	if req.Replacement != nil {
		if n := utf8.RuneCountInString(*req.Replacement); n > maxRegexReplacement {
			return invalid("replacement", "has %d characters; the most is %d", n, maxRegexReplacement)
		}
		if err := checkText("replacement", *req.Replacement); err != nil {
			return err
		}
	}
	if err := checkText("pattern", req.Pattern); err != nil {
		return err
	}
	return checkText("text", req.Text)
}

// syntaxFlags returns the flags to parse the pattern with.
func (req *RegexRequest) syntaxFlags() syntax.Flags {
	flags := syntax.Perl
	for _, flag := range req.Flags {
		switch flag {
		case 'i':
			flags |= syntax.FoldCase
		case 'm':
			flags &^= syntax.OneLine
		case 's':
			flags |= syntax.DotNL
		case 'U':
			flags |= syntax.NonGreedy
		}
	}
	return flags
}

// maxMatches returns the number of matches to look for.
func (req *RegexRequest) maxMatches() int {
	switch {
	case req.Global != nil && !*req.Global:
		return 1
	case req.MaxMatches == 0:
		return defaultRegexMatches
	}
	return req.MaxMatches
}

// regexSize returns the number of instructions that the expression compiles to, or a little more. The parser has seen
// to it that repetitions multiply to no more than a thousand, and that the nesting is not deep.
func regexSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += regexSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return size
	case syntax.OpAlternate:
		return size + len(re.Sub)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return size*max(1, re.Min) + 2
		}
		return size*re.Max + re.Max - re.Min + 1
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return size + 2
	}
	return 1
}
