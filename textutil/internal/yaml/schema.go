package yaml

import (
	"math/big"
	"regexp"
	"strings"
	"sync"
)

// maxRadixDigits bounds integers in hexadecimal and octal: their decimal digits cost more than linear
// time. A longer one is a string.
const maxRadixDigits = 4096

// Type is the type of a scalar in the core schema (YAML 1.2.2 section 10.3).
type Type uint8

const (
	String    Type = 0
	Null      Type = 1
	Bool      Type = 2
	Int       Type = 3
	Float     Type = 4
	NotFinite Type = 5 // an infinity or not a number
)

// Resolve returns the type of a scalar, and its text in JSON or, of a string, its value. It reports
// false if the tag does not fit the text; the scalar is a string then.
func (s *Stream) Resolve(n *Node) (t Type, text string, ok bool) {
	value, tag := s.Value(n), n.Tag()
	core, isCore := strings.CutPrefix(tag, coreTag)
	switch {
	case tag == "" && n.style == Plain:
		t, text = resolvePlain(value)
		return t, text, true
	case !isCore:
		return String, value, true
	}
	switch t, text = resolvePlain(value); core {
	case "null":
		ok = t == Null
	case "bool":
		ok = t == Bool
	case "int":
		ok = t == Int
	case "float":
		ok = t >= Int
		t = max(t, Float)
	default:
		return String, value, true
	}
	if !ok {
		return String, value, false
	}
	return t, text, true
}

// resolvePlain returns the type of a plain scalar, and its text in JSON (YAML 1.2.2 section 10.3.2).
// Digits of numbers survive.
func resolvePlain(value string) (Type, string) {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return Null, "null"
	case "true", "True", "TRUE":
		return Bool, "true"
	case "false", "False", "FALSE":
		return Bool, "false"
	}
	switch c := value[0]; {
	case c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9':
		return resolveNumber(value)
	}
	return String, value
}

func resolveNumber(value string) (Type, string) {
	if len(value) > 2 && value[0] == '0' && (value[1] == 'x' || value[1] == 'o') {
		return resolveRadix(value)
	}
	sign, rest := "", value
	switch value[0] {
	case '-':
		sign, rest = "-", value[1:]
	case '+':
		rest = value[1:]
	}
	switch rest {
	case ".inf", ".Inf", ".INF":
		return NotFinite, sign + ".inf"
	case ".nan", ".NaN", ".NAN":
		if rest == value {
			return NotFinite, ".nan"
		}
	}
	whole, fraction, exponent := NumberParts(rest)
	if len(whole)+len(fraction)+len(exponent) < len(rest) || whole == "" && len(fraction) < 2 {
		return String, value
	}
	t := Int
	if fraction != "" || exponent != "" {
		t = Float
	}
	if (whole == "0" || whole != "" && whole[0] != '0') && len(rest)+len(sign) == len(value) && fraction != "." {
		return t, value // it is written as in JSON
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ".0"
	}
	return t, sign + whole + fraction + exponent
}

// NumberParts returns the digits before a point, the point with the digits behind it, and the exponent,
// as far as they are there.
func NumberParts(s string) (whole, fraction, exponent string) {
	i := digitsEnd(s, 0)
	whole = s[:i]
	if i < len(s) && s[i] == '.' {
		end := digitsEnd(s, i+1)
		fraction = s[i:end]
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' && len(whole)+len(fraction) > 0 {
		digits := i + 1
		if digits < len(s) && (s[digits] == '+' || s[digits] == '-') {
			digits++
		}
		if end := digitsEnd(s, digits); end > digits {
			exponent = s[i:end]
		}
	}
	return whole, fraction, exponent
}

func digitsEnd(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// resolveRadix returns an integer in hexadecimal or octal as a decimal one.
func resolveRadix(value string) (Type, string) {
	base, digits := 16, "0123456789abcdefABCDEF"
	if value[1] == 'o' {
		base, digits = 8, "01234567"
	}
	if len(value)-2 > maxRadixDigits || strings.Trim(value[2:], digits) != "" {
		return String, value
	}
	i, ok := new(big.Int).SetString(value[2:], base)
	if !ok {
		return String, value
	}
	return Int, i.String()
}

// Legacy is the type that a YAML 1.1 parser gives a plain scalar, where a YAML 1.2 parser gives it another one.
// Many parsers follow 1.1 to this day.
type Legacy uint8

// The scalars that YAML 1.1 parsers read as another type.
const (
	SameInBoth     Legacy = 0
	LegacyBool     Legacy = 1 // yes, no, on, off
	LegacyOctal    Legacy = 2 // 0644 is 644 in YAML 1.2 and 420 in 1.1; 0o644 is 420 and a string
	LegacyBase60   Legacy = 3 // 1:30 is a string in YAML 1.2 and 90 in 1.1
	LegacyNumber   Legacy = 4 // 1_000 and 0b1 are strings in YAML 1.2 and numbers in 1.1
	LegacyNoNumber Legacy = 5 // 1e3 is a number in YAML 1.2 and a string in 1.1
	LegacyMerge    Legacy = 6 // << merges in YAML 1.1
	LegacyTime     Legacy = 7 // 2001-12-14 is a string in YAML 1.2 and a timestamp in 1.1
	LegacyZero     Legacy = 8 // 08 is 8 in YAML 1.2, and a string or 8 to readers of 1.1, for 8 is not an octal digit
	LegacySameZero Legacy = 9 // 007 is 7 in both
	// y, n, =, a point alone, 0_8, 09:30 and 2001-1-2, which most YAML 1.1 parsers read as strings
	legacyUnlikely Legacy = 10
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

// LegacyOf compares the types that YAML 1.2 and 1.1 give a plain scalar.
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

func legacyNumber(value string) Legacy {
	unsigned := strings.TrimLeft(value[:1], "+-") + value[1:]
	if t, _ := resolvePlain(value); t == Int || t == Float {
		whole, fraction, exponent := NumberParts(unsigned)
		switch {
		case strings.HasPrefix(unsigned, "0o"):
			return LegacyOctal
		case fraction == "" && exponent == "" && len(whole) > 1 && whole[0] == '0':
			return legacyZero(whole)
		case exponent != "" && (fraction == "" || exponent[1] != '+' && exponent[1] != '-'):
			return LegacyNoNumber
		}
		return SameInBoth
	}
	switch {
	case unsigned == ".":
		return legacyUnlikely
	case strings.Trim(unsigned, "0123456789_") == "" && strings.HasPrefix(unsigned, "0"):
		if strings.ContainsAny(unsigned, "89") {
			return legacyUnlikely
		}
		return LegacyOctal
	case strings.Contains(value, ":") && base60().MatchString(value):
		if unsigned[0] == '0' && !strings.Contains(value, ".") {
			return legacyUnlikely
		}
		return LegacyBase60
	case strings.ContainsAny(value, "_bx.") && number11().MatchString(value):
		return LegacyNumber
	case strings.Contains(value, "-") && time11().MatchString(value):
		if len(value) < len("2001-12-14") { // a date without a time has two digits for the month and the day
			return legacyUnlikely
		}
		return LegacyTime
	}
	return SameInBoth
}

// legacyZero compares what is made of digits that begin with a 0.
func legacyZero(digits string) Legacy {
	switch significant := strings.TrimLeft(digits, "0"); {
	case strings.ContainsAny(digits, "89"):
		return LegacyZero
	case len(significant) <= 1:
		return LegacySameZero
	}
	return LegacyOctal
}

// FromOctal returns the decimal digits of an octal number of YAML 1.1, such as -0644 or 0_7.
func FromOctal(value string) string {
	i, ok := new(big.Int), len(value) <= maxRadixDigits
	if ok {
		i, ok = i.SetString(strings.ReplaceAll(value, "_", ""), 8)
	}
	if !ok {
		return "another number"
	}
	return i.String()
}
