package yaml

import (
	"math/big"
	"strings"
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
