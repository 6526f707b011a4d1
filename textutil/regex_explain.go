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
