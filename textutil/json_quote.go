package textutil

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// literalYAML reports whether a string can be a literal block: it has several lines, and each character
// may stand as it is. Where blanks begin the text, the block would need an indentation indicator, which
// readers of YAML do not all understand in the same way.
func literalYAML(value string) bool {
	if !strings.Contains(strings.TrimRight(value, "\n"), "\n") && !strings.HasSuffix(value, "\n") {
		return false
	}
	return !strings.ContainsAny(value[:1], " \t\n") && printableYAML(value, true)
}

// printableYAML reports whether each character may stand outside of double quotes (YAML 1.2.2 section
// 5.1), also for readers of YAML 1.1, to which U+0085, U+2028 and U+2029 are line breaks.
func printableYAML(value string, lines bool) bool {
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c >= ' ' && c < 0x7F || c == '\t' || lines && c == '\n' {
			continue
		}
		if c < utf8.RuneSelf {
			return false
		}
		r, size := utf8.DecodeRuneInString(value[i:])
		if r == utf8.RuneError && size == 1 || !printableRune(r) {
			return false
		}
		i += size - 1
	}
	return true
}

func printableRune(r rune) bool {
	return r >= 0xA0 && r != 0x2028 && r != 0x2029 && r != 0xFEFF && r != 0xFFFE && r != 0xFFFF
}

// appendYAMLString appends a string on one line: plain if every reader takes it for the same string, and
// in quotes otherwise.
func appendYAMLString(out []byte, value string) []byte {
	switch {
	case !printableYAML(value, false):
		return appendDoubleQuoted(out, value)
	case plainYAML(value):
		return append(out, value...)
	case strings.ContainsAny(value, "\"\\"):
		out = append(out, '\'')
		out = append(out, strings.ReplaceAll(value, "'", "''")...)
		return append(out, '\'')
	}
	return appendDoubleQuoted(out, value)
}

// appendDoubleQuoted appends a string in double quotes (YAML 1.2.2 section 7.3.1).
func appendDoubleQuoted(out []byte, value string) []byte {
	out = append(out, '"')
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		if r == utf8.RuneError && size == 1 {
			// The value of a JSON string has no other bytes that are not UTF-8.
			r, _ = loneSurrogate(value[i:])
			size = 3
		}
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\t':
			out = append(out, '\\', 't')
		case r == '\r':
			out = append(out, '\\', 'r')
		case r < ' ' || r >= 0x7F && !printableRune(r) || r>>11 == 0xD800>>11:
			out = fmt.Appendf(out, `\u%04X`, r)
		default:
			out = append(out, value[i:i+size]...)
		}
		i += size
	}
	return append(out, '"')
}

// plainYAML reports whether a printable string of one line can be a plain scalar outside of flow
// collections, and is a string then by the core schema of YAML 1.2 and by the types of YAML 1.1.
func plainYAML(value string) bool {
	if value == "" || yamlBlank(value[0]) || yamlBlank(value[len(value)-1]) {
		return false
	}
	second := byte(' ')
	if len(value) > 1 {
		second = value[1]
	}
	switch c := value[0]; {
	case strings.IndexByte(",[]{}#&*!|>'\"%@`", c) >= 0:
		return false
	case strings.IndexByte("-?:", c) >= 0 && yamlBlank(second):
		return false
	}
	for i := range len(value) {
		switch value[i] {
		case ':':
			if i+1 == len(value) || yamlBlank(value[i+1]) {
				return false
			}
		case '#':
			if i > 0 && yamlBlank(value[i-1]) {
				return false
			}
		}
	}
	return !yamlMarker(value) && !typedYAML(value)
}

// typedYAML reports whether a plain scalar is something else than a string to a reader of YAML 1.2 or 1.1.
func typedYAML(value string) bool {
	if t, _ := resolvePlain(value); t != yamlString {
		return true
	}
	switch c := value[0]; {
	case c == '=' || c == '<':
		return value == "=" || value == "<<" // https://yaml.org/type/value.html and merge.html
	case '0' <= c && c <= '9' || strings.IndexByte("+-.", c) >= 0:
		return yaml11Number.MatchString(value) || yaml11Time.MatchString(value)
	case len(value) > 5:
		return false
	}
	lower := strings.ToLower(value)
	switch lower {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return value == lower || value == strings.ToUpper(value) || value[1:] == lower[1:]
	}
	return false
}

// The numbers and times of YAML 1.1: https://yaml.org/type/int.html, float.html and timestamp.html.
// Underscores may stand among digits, a leading zero means octal, and colons separate digits of base 60.
var (
	yaml11Number = regexp.MustCompile(`^[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*` +
		`|([0-9][0-9_]*)?\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?` +
		`|[0-9][0-9_]*[eE][-+]?[0-9]+|\.(inf|Inf|INF|nan|NaN|NAN))$`)
	yaml11Time = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}` +
		`(([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:?[0-9]{2})?))?)?$`)
)
