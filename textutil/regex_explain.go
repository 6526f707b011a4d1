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
		return RegexFault{Code: regexTooLarge, Message: err.Error()}
	}
	at := regexFaultAt(pattern, tokens, e)
	switch c := findConstruct(e.Expr, regexEscapeConstructs); {
	case e.Code == syntax.ErrInvalidEscape && c != nil: // in a class
		return c.fault(at)
	case e.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(e.Expr, "+"):
		return (&regexConstruct{"", RegexPossessive, "a possessive quantifier", hintPlain}).fault(at)
	}
	if e.Code == syntax.ErrInvalidRepeatSize && isReversed(e.Expr) {
		return RegexFault{Code: RegexRepeatReversed, Message: "the least number of repetitions is more than the most",
			Position: at, Hint: "Write the lower number first"}
	}
	for _, k := range regexFaultKinds {
		if k.code == e.Code {
			return RegexFault{Code: k.fault, Message: k.message, Position: at, Hint: k.hint}
		}
	}
	return RegexFault{Code: RegexInvalidGroup, Message: string(e.Code), Position: at}
}

func (c *regexConstruct) fault(at *int) RegexFault {
	return RegexFault{Code: c.code, Message: "RE2 does not have " + c.name, Position: at, Hint: c.hint}
}

// foreignConstruct returns the construct of other engines that the rest of a pattern begins with, which
// is a token of the given kind, or nil.
func foreignConstruct(kind regexTokenKind, rest string) *regexConstruct {
	switch {
	case kind == regexGroup && isRegexCall(rest):
		return &regexConstruct{"", RegexRecursion, "a call of a group", hintRecurse}
	case kind == regexGroup && hasExtendedFlag(rest):
		return &regexConstruct{"", RegexExtendedMode, "the flag x", "Take white space and comments out of the pattern"}
	case kind == regexGroup:
		return findConstruct(rest, regexGroupConstructs)
	case kind == regexEscape && isBackreference(rest):
		return &regexConstruct{"", RegexBackreference, "a backreference", hintSame}
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

// unpairedParen returns where the innermost group begins that has no end, or where the first end is
// that has no beginning; -1 if there is none.
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

// A RegexFaultCode names a construct that RE2 does not have, or a fault in a pattern.
type RegexFaultCode string

// The constructs of other engines. RE2 has none whose time could grow faster than the text.
const (
	RegexLookahead          RegexFaultCode = "lookahead"
	RegexNegativeLookahead  RegexFaultCode = "negative_lookahead"
	RegexLookbehind         RegexFaultCode = "lookbehind"
	RegexNegativeLookbehind RegexFaultCode = "negative_lookbehind"
	RegexBackreference      RegexFaultCode = "backreference"
	RegexAtomicGroup        RegexFaultCode = "atomic_group"
	RegexPossessive         RegexFaultCode = "possessive_quantifier"
	RegexConditional        RegexFaultCode = "conditional"
	RegexRecursion          RegexFaultCode = "recursion"
	RegexBranchReset        RegexFaultCode = "branch_reset"
	RegexComment            RegexFaultCode = "comment"
	RegexControlVerb        RegexFaultCode = "control_verb"
	RegexCallout            RegexFaultCode = "callout"
	RegexQuotedName         RegexFaultCode = "quoted_group_name"
	RegexExtendedMode       RegexFaultCode = "extended_mode"
	RegexMatchReset         RegexFaultCode = "match_reset"
	RegexLastMatchAnchor    RegexFaultCode = "last_match_anchor"
	RegexLineBreakEscape    RegexFaultCode = "line_break_escape"
	RegexGraphemeEscape     RegexFaultCode = "grapheme_escape"
	RegexFinalAnchor        RegexFaultCode = "final_newline_anchor"
	RegexSpaceEscape        RegexFaultCode = "horizontal_space_escape"
	RegexUnicodeEscape      RegexFaultCode = "unicode_escape"
	RegexControlEscape      RegexFaultCode = "control_escape"
)

// The faults that are faults in every engine.
const (
	RegexMissingParen     RegexFaultCode = "missing_closing_parenthesis"
	RegexUnexpectedParen  RegexFaultCode = "unexpected_closing_parenthesis"
	RegexMissingBracket   RegexFaultCode = "missing_closing_bracket"
	RegexTrailingSlash    RegexFaultCode = "trailing_backslash"
	RegexInvalidEscape    RegexFaultCode = "invalid_escape"
	regexInvalidClass     RegexFaultCode = "invalid_class"
	RegexInvalidRange     RegexFaultCode = "invalid_range"
	RegexInvalidName      RegexFaultCode = "invalid_group_name"
	RegexInvalidGroup     RegexFaultCode = "invalid_group"
	RegexNothingToRepeat  RegexFaultCode = "nothing_to_repeat"
	RegexNestedRepetition RegexFaultCode = "nested_repetition"
	RegexRepeatTooLarge   RegexFaultCode = "repeat_too_large"
	RegexRepeatReversed   RegexFaultCode = "repeat_reversed"
	regexTooDeep          RegexFaultCode = "nested_too_deeply"
	regexTooLarge         RegexFaultCode = "too_large"
)

// A regexConstruct is a construct of other engines, known by how it begins.
type regexConstruct struct {
	prefix string
	code   RegexFaultCode
	name   string
	hint   string
}

const (
	hintAhead   = "Match what follows too, and take from a group what you need"
	hintBehind  = "Match what stands before too, and take from a group what you need"
	hintNot     = "Match the longer text and leave it out afterwards, or list in a class what may stand there"
	hintSame    = "Match both places by groups and compare the groups outside of the expression"
	hintPlain   = "Use a plain group or repetition: RE2 never goes back, so that nothing is won by forbidding it"
	hintRecurse = "They cannot count brackets: repeat the inner pattern to the depth you need, or use a parser"
	hintSplit   = "Write two expressions, or both branches as alternatives: (?:ab|cd)"
	hintVerb    = "Leave it out: it steers an engine that goes back"
	hintComment = "Leave it out"
	hintNumber  = "Give the groups of each branch their own numbers"
)

// regexGroupConstructs are groups of other engines. A longer prefix stands before its own beginning.
var regexGroupConstructs = []regexConstruct{
	{"(?=", RegexLookahead, "a lookahead", hintAhead},
	{"(?!", RegexNegativeLookahead, "a negative lookahead", hintNot},
	{"(?<=", RegexLookbehind, "a lookbehind", hintBehind},
	{"(?<!", RegexNegativeLookbehind, "a negative lookbehind", hintNot},
	{"(?>", RegexAtomicGroup, "an atomic group", hintPlain},
	{"(?(", RegexConditional, "a conditional", hintSplit},
	{"(?|", RegexBranchReset, "a branch reset", hintNumber},
	{"(?#", RegexComment, "a comment", hintComment},
	{"(?C", RegexCallout, "a callout", hintVerb},
	{"(?'", RegexQuotedName, "a group name in quotes", "Write (?P<name>…)"},
	{"(?R", RegexRecursion, "a recursion", hintRecurse},
	{"(?&", RegexRecursion, "a call of a group", hintRecurse},
	{"(?P>", RegexRecursion, "a call of a group", hintRecurse},
	{"(?P=", RegexBackreference, "a backreference", hintSame},
	{"(*ACCEPT", RegexControlVerb, "a control verb", hintVerb},
	{"(*COMMIT", RegexControlVerb, "a control verb", hintVerb},
	{"(*FAIL", RegexControlVerb, "a control verb", hintVerb},
	{"(*F)", RegexControlVerb, "a control verb", hintVerb},
	{"(*PRUNE", RegexControlVerb, "a control verb", hintVerb},
	{"(*SKIP", RegexControlVerb, "a control verb", hintVerb},
	{"(*THEN", RegexControlVerb, "a control verb", hintVerb},
	{"(*UTF", RegexControlVerb, "a control verb", hintVerb},
}

// regexEscapeConstructs are escapes of other engines.
var regexEscapeConstructs = []regexConstruct{
	{`\k`, RegexBackreference, "a backreference by name", hintSame},
	{`\g`, RegexBackreference, "a backreference or a call of a group", hintSame},
	{`\G`, RegexLastMatchAnchor, `the anchor \G`, "Matches are listed with their offsets: compare these"},
	{`\K`, RegexMatchReset, `the match reset \K`, hintBehind},
	{`\R`, RegexLineBreakEscape, `the line break \R`, `Write (?:\r\n|[\n\v\f\r\x{85}\x{2028}\x{2029}])`},
	{`\X`, RegexGraphemeEscape, `the grapheme \X`, `Write (?:\PM\pM*), which is near to it`},
	{`\Z`, RegexFinalAnchor, `the anchor \Z`, `Write \n?\z`},
	{`\h`, RegexSpaceEscape, `the space \h`, `Write [\t\p{Zs}]`},
	{`\H`, RegexSpaceEscape, `the class \H`, `Write [^\t\p{Zs}]`},
	{`\V`, RegexLineBreakEscape, `the class \V`, `Write [^\n\v\f\r\x{85}\x{2028}\x{2029}]`},
	{`\N`, RegexLineBreakEscape, `the class \N`, `Write [^\n]`},
	{`\u`, RegexUnicodeEscape, `the escape \u`, `Write \x{00e9} for \u00e9`},
	{`\U`, RegexUnicodeEscape, `the escape \U`, `Write \x{1f600} for \U0001f600`},
	{`\c`, RegexControlEscape, `the control character \c`, `Write its code: \x0a for \cJ`},
	{`\e`, RegexControlEscape, `the escape character \e`, `Write \x1b`},
}

var regexFaultKinds = []struct {
	code    syntax.ErrorCode
	fault   RegexFaultCode
	message string
	hint    string
}{
	{syntax.ErrMissingParen, RegexMissingParen, "a parenthesis is opened and not closed",
		`Close it, or write \( for the character`},
	{syntax.ErrUnexpectedParen, RegexUnexpectedParen, "a parenthesis is closed that was not opened",
		`Open it, or write \) for the character`},
	{syntax.ErrMissingBracket, RegexMissingBracket, "a class is opened and not closed",
		`Close it, or write \[ for the character`},
	{syntax.ErrTrailingBackslash, RegexTrailingSlash, "the pattern ends in a backslash", `Write \\ for the character`},
	{syntax.ErrInvalidEscape, RegexInvalidEscape, "the escape has no meaning", `Write \\ for a backslash`},
	{syntax.ErrInvalidCharClass, regexInvalidClass, "the class is not well-formed", ""},
	{syntax.ErrInvalidCharRange, RegexInvalidRange, "the range or the name of the class is not known",
		"The lower end of a range stands first; classes have names like [:alpha:] and \\p{Greek}"},
	{syntax.ErrInvalidNamedCapture, RegexInvalidName, "the name of the group is not well-formed or is used twice",
		"A name has letters, digits and underscores"},
	{syntax.ErrInvalidPerlOp, RegexInvalidGroup, "the group or flag behind (? is not known",
		"The flags are i, m, s and U"},
	{syntax.ErrInvalidRepeatOp, RegexNestedRepetition, "a repetition is repeated", "Write (?:a*)* if that is meant"},
	{syntax.ErrInvalidRepeatSize, RegexRepeatTooLarge, "it repeats more than 1000 times, alone or with those around it",
		"Repeat at most 1000 times, or without a limit"},
	{syntax.ErrMissingRepeatArgument, RegexNothingToRepeat, "there is nothing before the repetition",
		`Write a backslash before it for the character: \*`},
	{syntax.ErrNestingDepth, regexTooDeep, "groups are nested too deeply", ""},
	{syntax.ErrLarge, regexTooLarge, "the expression grows too large", "Repeat less"},
	{syntax.ErrInvalidUTF8, RegexInvalidEscape, "the pattern is not UTF-8", ""},
}
