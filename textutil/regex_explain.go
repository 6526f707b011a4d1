package textutil

import (
	"errors"
	"regexp/syntax"
	"strconv"
	"strings"
)

// explainRegex says what is wrong in a pattern that the parser refused.
func explainRegex(pattern string, err error) RegexFault {
	tokens := regexTokens(pattern)
	for _, t := range tokens {
		if c := foreignConstruct(t.kind, pattern[t.at:]); c != nil {
			return c.fault(&t.at)
		}
	}
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return RegexFault{Code: "too_large", Message: err.Error()}
	}
	at := regexFaultAt(pattern, tokens, e)
	switch c := findConstruct(e.Expr, regexEscapeConstructs); {
	case e.Code == syntax.ErrInvalidEscape && c != nil: // in a class
		return c.fault(at)
	case e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"):
		return (&regexConstruct{"", "possessive_quantifier", "a possessive quantifier", hintPlain}).fault(at)
	}
	if e.Code == syntax.ErrInvalidRepeatSize && isReversed(e.Expr) {
		return RegexFault{Code: "repeat_reversed", Message: "the least number of repetitions is more than the most",
			Position: at, Hint: "Write the lower number first"}
	}
	for _, k := range regexFaultKinds {
		if k.code == e.Code {
			return RegexFault{Code: k.fault, Message: k.message, Position: at, Hint: k.hint}
		}
	}
	return RegexFault{Code: "invalid_group", Message: string(e.Code), Position: at}
}

func (c *regexConstruct) fault(at *int) RegexFault {
	return RegexFault{Code: c.code, Message: "RE2 does not have " + c.name, Position: at, Hint: c.hint}
}

// foreignConstruct returns the construct of other engines that the rest of a pattern begins with, which
// is a token of the given kind, or nil.
func foreignConstruct(kind regexTokenKind, rest string) *regexConstruct {
	switch {
	case kind == regexGroup && isRegexCall(rest):
		return &regexConstruct{"", "recursion", "a call of a group", hintRecurse}
	case kind == regexGroup && hasExtendedFlag(rest):
		return &regexConstruct{"", "extended_mode", "the flag x", "Take white space and comments out of the pattern"}
	case kind == regexGroup:
		return findConstruct(rest, regexGroupConstructs)
	case kind == regexEscape && isBackreference(rest):
		return &regexConstruct{"", "backreference", "a backreference", hintSame}
	case kind == regexEscape:
		return findConstruct(rest, regexEscapeConstructs)
	}
	return nil
}

// findConstruct returns the first construct of the list that the text begins with, or nil.
func findConstruct(text string, list []regexConstruct) *regexConstruct {
	for i := range list {
		if strings.HasPrefix(text, list[i].prefix) {
			return &list[i]
		}
	}
	return nil
}

// isRegexCall reports whether the text begins like (?1), (?+1) or (?-1).
func isRegexCall(text string) bool {
	rest, ok := strings.CutPrefix(text, "(?")
	if !ok {
		return false
	}
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && '0' <= rest[0] && rest[0] <= '9'
}

// hasExtendedFlag reports whether the text begins with a group that sets flags, and x among them.
func hasExtendedFlag(text string) bool {
	rest, ok := strings.CutPrefix(text, "(?")
	end := strings.IndexAny(rest, ":)")
	return ok && end >= 0 && strings.Trim(rest[:end], "-imsUx") == "" && strings.Contains(rest[:end], "x")
}

// isBackreference reports whether the text begins with an escape like \1. Two digits below 8 are the
// number of a character (https://golang.org/s/re2syntax).
func isBackreference(text string) bool {
	if len(text) < 2 || text[1] < '1' || text[1] > '9' {
		return false
	}
	octal := text[1] <= '7' && len(text) > 2 && '0' <= text[2] && text[2] <= '7'
	return !octal
}

// isReversed reports whether a repetition like {2,1} has its numbers in the wrong order.
func isReversed(repetition string) bool {
	least, most, ok := strings.Cut(strings.Trim(repetition, "{}?"), ",")
	if !ok {
		return false
	}
	low, errLow := strconv.Atoi(least)
	high, errHigh := strconv.Atoi(most)
	return errLow == nil && errHigh == nil && low > high
}

// regexFaultAt returns where in the pattern a fault lies, or nil if the parser does not say enough.
func regexFaultAt(pattern string, tokens []regexToken, e *syntax.Error) *int {
	at := -1
	switch e.Code {
	case syntax.ErrMissingParen:
		at = unpairedParen(tokens, regexGroup)
	case syntax.ErrUnexpectedParen:
		at = unpairedParen(tokens, regexClose)
	case syntax.ErrTrailingBackslash:
		at = len(pattern) - 1
	case syntax.ErrMissingBracket: // the parser tells all the rest
		at = len(pattern) - len(e.Expr)
	default:
		for _, t := range tokens {
			if at < 0 && strings.HasPrefix(pattern[t.at:], e.Expr) && e.Expr != "" {
				at = t.at
			}
		}
		if at < 0 && e.Expr != "" {
			at = strings.Index(pattern, e.Expr)
		}
	}
	if at < 0 {
		return nil
	}
	return &at
}

// unpairedParen returns the offset of the innermost group that is not closed, or of the first closing parenthesis
// that opens no group; -1 if all are paired.
func unpairedParen(tokens []regexToken, kind regexTokenKind) int {
	open := []int{}
	for _, t := range tokens {
		switch {
		case t.kind == regexGroup:
			open = append(open, t.at)
		case t.kind == regexClose && len(open) > 0:
			open = open[:len(open)-1]
		case t.kind == regexClose && kind == regexClose:
			return t.at
		}
	}
	if kind == regexClose || len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

// A RegexFaultCode names a construct that RE2 does not support, such as "lookahead", or a fault in a pattern.
type RegexFaultCode string

// A regexConstruct is a construct of other engines, known by how it begins.
type regexConstruct struct {
	prefix string
	code   RegexFaultCode
	name   string
	hint   string
}

const (
	hintAhead   = "Match what follows too, and take from a group what you need"
	hintBehind  = "Also match what precedes it, and capture the part that you need in a group"
	hintNot     = "Match the longer text and exclude it afterwards, or list the allowed characters in a class"
	hintSame    = "Match both places by groups and compare the groups outside of the expression"
	hintPlain   = "Use a plain group or repetition: RE2 never backtracks, so there is nothing to prevent"
	hintRecurse = "They cannot count brackets: repeat the inner pattern to the depth you need, or use a parser"
	hintSplit   = "Write two expressions, or both branches as alternatives: (?:ab|cd)"
	hintVerb    = "Leave it out: it steers an engine that goes back"
	hintComment = "Leave it out"
	hintNumber  = "Give the groups of each branch their own numbers"
)

// regexGroupConstructs are groups of other engines. A longer prefix precedes its own beginning.
var regexGroupConstructs = []regexConstruct{
	{"(?=", "lookahead", "a lookahead", hintAhead},
	{"(?!", "negative_lookahead", "a negative lookahead", hintNot},
	{"(?<=", "lookbehind", "a lookbehind", hintBehind},
	{"(?<!", "negative_lookbehind", "a negative lookbehind", hintNot},
	{"(?>", "atomic_group", "an atomic group", hintPlain},
	{"(?(", "conditional", "a conditional", hintSplit},
	{"(?|", "branch_reset", "a branch reset", hintNumber},
	{"(?#", "comment", "a comment", hintComment},
	{"(?C", "callout", "a callout", hintVerb},
	{"(?'", "quoted_group_name", "a group name in quotes", "Write (?P<name>…)"},
	{"(?R", "recursion", "a recursion", hintRecurse},
	{"(?&", "recursion", "a call of a group", hintRecurse},
	{"(?P>", "recursion", "a call of a group", hintRecurse},
	{"(?P=", "backreference", "a backreference", hintSame},
	{"(*ACCEPT", "control_verb", "a control verb", hintVerb},
	{"(*COMMIT", "control_verb", "a control verb", hintVerb},
	{"(*FAIL", "control_verb", "a control verb", hintVerb},
	{"(*F)", "control_verb", "a control verb", hintVerb},
	{"(*PRUNE", "control_verb", "a control verb", hintVerb},
	{"(*SKIP", "control_verb", "a control verb", hintVerb},
	{"(*THEN", "control_verb", "a control verb", hintVerb},
	{"(*UTF", "control_verb", "a control verb", hintVerb},
}

// regexEscapeConstructs are escapes of other engines.
var regexEscapeConstructs = []regexConstruct{
	{`\k`, "backreference", "a backreference by name", hintSame},
	{`\g`, "backreference", "a backreference or a call of a group", hintSame},
	{`\G`, "last_match_anchor", `the anchor \G`, "Matches are listed with their offsets: compare these"},
	{`\K`, "match_reset", `the match reset \K`, hintBehind},
	{`\R`, "line_break_escape", `the line break \R`, `Write (?:\r\n|[\n\v\f\r\x{85}\x{2028}\x{2029}])`},
	{`\X`, "grapheme_escape", `the grapheme \X`, `Write (?:\PM\pM*), which is near to it`},
	{`\Z`, "final_newline_anchor", `the anchor \Z`, `Write \n?\z`},
	{`\h`, "horizontal_space_escape", `the space \h`, `Write [\t\p{Zs}]`},
	{`\H`, "horizontal_space_escape", `the class \H`, `Write [^\t\p{Zs}]`},
	{`\V`, "line_break_escape", `the class \V`, `Write [^\n\v\f\r\x{85}\x{2028}\x{2029}]`},
	{`\N`, "line_break_escape", `the class \N`, `Write [^\n]`},
	{`\u`, "unicode_escape", `the escape \u`, `Write \x{00e9} for \u00e9`},
	{`\U`, "unicode_escape", `the escape \U`, `Write \x{1f600} for \U0001f600`},
	{`\c`, "control_escape", `the control character \c`, `Write its code: \x0a for \cJ`},
	{`\e`, "control_escape", `the escape character \e`, `Write \x1b`},
}

var regexFaultKinds = []struct {
	code    syntax.ErrorCode
	fault   RegexFaultCode
	message string
	hint    string
}{
	{syntax.ErrMissingParen, "missing_closing_parenthesis", "a parenthesis is opened and not closed",
		`Close it, or write \( for the character`},
	{syntax.ErrUnexpectedParen, "unexpected_closing_parenthesis", "a parenthesis is closed that was not opened",
		`Open it, or write \) for the character`},
	{syntax.ErrMissingBracket, "missing_closing_bracket", "a class is opened and not closed",
		`Close it, or write \[ for the character`},
	{syntax.ErrTrailingBackslash, "trailing_backslash", "the pattern ends in a backslash", `Write \\ for the character`},
	{syntax.ErrInvalidEscape, "invalid_escape", "the escape has no meaning", `Write \\ for a backslash`},
	{syntax.ErrInvalidCharClass, "invalid_class", "the class is not well-formed", ""},
	{syntax.ErrInvalidCharRange, "invalid_range", "the range or the name of the class is not known",
		"The lower end of a range comes first; classes have names like [:alpha:] and \\p{Greek}"},
	{syntax.ErrInvalidNamedCapture, "invalid_group_name", "the name of the group is not well-formed or is used twice",
		"A name has letters, digits and underscores"},
	{syntax.ErrInvalidPerlOp, "invalid_group", "the group or flag behind (? is not known",
		"The flags are i, m, s and U"},
	{syntax.ErrInvalidRepeatOp, "nested_repetition", "a repetition is repeated", "Write (?:a*)* if that is meant"},
	{syntax.ErrInvalidRepeatSize, "repeat_too_large", "it repeats more than 1000 times, alone or with those around it",
		"Repeat at most 1000 times, or without a limit"},
	{syntax.ErrMissingRepeatArgument, "nothing_to_repeat", "there is nothing before the repetition",
		`Write a backslash before it for the character: \*`},
	{syntax.ErrNestingDepth, "nested_too_deeply", "groups are nested too deeply", ""},
	{syntax.ErrLarge, "too_large", "the expression grows too large", "Repeat less"},
	{syntax.ErrInvalidUTF8, "invalid_escape", "the pattern is not UTF-8", ""},
}
