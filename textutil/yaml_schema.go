package textutil

import (
	"math/big"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlTagPrefix is what "!!" stands for (YAML 1.2.2 section 6.8.2.1).
const yamlTagPrefix = "tag:yaml.org,2002:"

// maxRadixDigits bounds integers in hexadecimal and octal: their decimal digits cost more than linear
// time. A longer one is a string.
const maxRadixDigits = 4096

// yamlType is the type of a scalar in the core schema (YAML 1.2.2 section 10.3).
type yamlType uint8

const (
	yamlString    yamlType = 0
	yamlNull      yamlType = 1
	yamlBool      yamlType = 2
	yamlInt       yamlType = 3
	yamlFloat     yamlType = 4
	yamlNotFinite yamlType = 5 // an infinity or not a number
)

// yamlQuoted are the styles of scalars that are not plain.
const yamlQuoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// emptyYAML reports whether nothing is written for the content of a node.
func emptyYAML(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&yamlQuoted == 0
}

// yamlTag returns the tag that is written for a node: "!" is the non-specific tag, and nothing stands for
// none. The library gives other nodes a tag too, but by the rules of YAML 1.1.
func yamlTag(n *yaml.Node) string {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return n.LongTag()
	case n.Tag == "!":
		return "!"
	}
	return ""
}

// value returns what a scalar says.
func (s *yamlStream) value(n *yaml.Node) string {
	if s.masked {
		return unmask(n.Value)
	}
	return n.Value
}

// resolve returns the type of a scalar, and its text in JSON or, of a string, its value. It reports
// false if the tag does not fit the text; the scalar is a string then.
func (s *yamlStream) resolve(n *yaml.Node) (t yamlType, text string, ok bool) {
	value := s.value(n)
	tag := yamlTag(n)
	switch core, isCore := strings.CutPrefix(tag, yamlTagPrefix); {
	case tag == "" && n.Style&yamlQuoted == 0:
		t, text = resolvePlain(value)
		return t, text, true
	case !isCore:
		return yamlString, value, true
	default:
		return resolveTagged(core, value)
	}
}

// resolveTagged returns the type of a scalar with a tag of YAML's own.
func resolveTagged(tag, value string) (yamlType, string, bool) {
	t, text := resolvePlain(value)
	switch tag {
	case "null":
		if t == yamlNull {
			return t, text, true
		}
	case "bool":
		if t == yamlBool {
			return t, text, true
		}
	case "int":
		if t == yamlInt {
			return t, text, true
		}
	case "float":
		if t == yamlInt || t == yamlFloat || t == yamlNotFinite {
			return t, text, true
		}
	default:
		return yamlString, value, true
	}
	return yamlString, value, false
}

// resolvePlain returns the type of a plain scalar, and its text in JSON (YAML 1.2.2 section 10.3.2).
// Digits of numbers survive.
func resolvePlain(value string) (yamlType, string) {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return yamlNull, "null"
	case "true", "True", "TRUE":
		return yamlBool, "true"
	case "false", "False", "FALSE":
		return yamlBool, "false"
	}
	switch c := value[0]; {
	case c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9':
		return resolveNumber(value)
	}
	return yamlString, value
}

func resolveNumber(value string) (yamlType, string) {
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
		return yamlNotFinite, sign + ".inf"
	case ".nan", ".NaN", ".NAN":
		if rest == value {
			return yamlNotFinite, ".nan"
		}
	}
	whole, fraction, exponent := numberParts(rest)
	behind := rest[len(whole)+len(fraction)+len(exponent):]
	if behind != "" || whole == "" && len(fraction) < 2 {
		return yamlString, value
	}
	kind := yamlInt
	if fraction != "" || exponent != "" {
		kind = yamlFloat
	}
	if jsonNumber := sign == value[:len(sign)] && (whole == "0" || whole != "" && whole[0] != '0'); jsonNumber &&
		len(rest)+len(sign) == len(value) && fraction != "." {
		return kind, value
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ".0"
	}
	return kind, sign + whole + fraction + exponent
}

// numberParts returns the digits before a point, the point with the digits behind it, and the exponent,
// as far as they are there.
func numberParts(s string) (whole, fraction, exponent string) {
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
func resolveRadix(value string) (yamlType, string) {
	base, digits := 16, "0123456789abcdefABCDEF"
	if value[1] == 'o' {
		base, digits = 8, "01234567"
	}
	if len(value)-2 > maxRadixDigits || strings.Trim(value[2:], digits) != "" {
		return yamlString, value
	}
	i, ok := new(big.Int).SetString(value[2:], base)
	if !ok {
		return yamlString, value
	}
	return yamlInt, i.String()
}
