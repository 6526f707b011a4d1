package yaml

import (
	"regexp"
	"strings"
	"sync"
)

// Legacy is what a reader of YAML 1.1 takes a plain scalar for, where one of YAML 1.2 takes it for something
// else. Many readers follow 1.1 to this day.
type Legacy uint8

// What readers of YAML 1.1 take for something else.
const (
	SameInBoth     Legacy = 0
	LegacyBool     Legacy = 1 // yes, no, on, off
	LegacyOctal    Legacy = 2 // 012 is 12 in YAML 1.2 and 10 in 1.1; 0o12 is 10 and a string
	LegacyBase60   Legacy = 3 // 1:30 is a string in YAML 1.2 and 90 in 1.1
	LegacyNumber   Legacy = 4 // 1_000 and 0b1 are strings in YAML 1.2 and numbers in 1.1
	LegacyNoNumber Legacy = 5 // 1e3 is a number in YAML 1.2 and a string in 1.1
	LegacyMerge    Legacy = 6 // << merges in YAML 1.1
	legacyTime     Legacy = 7 // a string in YAML 1.2
	legacyUnlikely Legacy = 8 // y, n, = and a point alone, which most readers of YAML 1.1 leave alone
)

// The types of YAML 1.1: https://yaml.org/type/int.html, float.html, timestamp.html, bool.html and merge.html.
var (
	base60   = lazily(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	number11 = lazily(`^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*` +
		`|([0-9][0-9_]*)?\.[0-9_]*([eE][-+]?[0-9]+)?)$`)
	time11 = lazily(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}` +
		`(([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:?[0-9]{2})?))?)?$`)
)

// lazily compiles an expression when it is first needed.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// LegacyOf compares what readers of YAML 1.2 and 1.1 take a plain scalar for.
func LegacyOf(value string) Legacy {
	if value == "" {
		return SameInBoth
	}
	switch c := value[0]; {
	case '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.':
		return legacyNumber(value)
	case value == "<<":
		return LegacyMerge
	case value == "=":
		return legacyUnlikely
	case len(value) > 3:
		return SameInBoth
	}
	lower := strings.ToLower(value)
	if value != lower && value != strings.ToUpper(value) && value[1:] != lower[1:] {
		return SameInBoth
	}
	switch lower {
	case "yes", "no", "on", "off":
		return LegacyBool
	case "y", "n":
		return legacyUnlikely
	}
	return SameInBoth
}

// legacyNumber compares what begins as a number.
func legacyNumber(value string) Legacy {
	unsigned := strings.TrimLeft(value[:1], "+-") + value[1:]
	if t, _ := resolvePlain(value); t == Int || t == Float {
		whole, fraction, exponent := NumberParts(unsigned)
		switch {
		case strings.HasPrefix(unsigned, "0o"), fraction == "" && exponent == "" && len(whole) > 1 && whole[0] == '0':
			return LegacyOctal
		case exponent != "" && (fraction == "" || exponent[1] != '+' && exponent[1] != '-'):
			return LegacyNoNumber
		}
		return SameInBoth
	}
	switch {
	case unsigned == ".":
		return legacyUnlikely
	case strings.Trim(unsigned, "0123456789_") == "" && strings.HasPrefix(unsigned, "0"):
		return LegacyOctal
	case strings.Contains(value, ":") && base60().MatchString(value):
		return LegacyBase60
	case strings.ContainsAny(value, "_bx.") && number11().MatchString(value):
		return LegacyNumber
	case strings.Contains(value, "-") && time11().MatchString(value):
		return legacyTime
	}
	return SameInBoth
}
