package yaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// IsLiteral reports whether a string can be a literal block: it has several lines, and each character
// may stand as it is. Where blanks begin the text, the block would need an indentation indicator, which
// readers of YAML do not all understand in the same way.
func IsLiteral(value string) bool {
	if !strings.Contains(strings.TrimRight(value, "\n"), "\n") && !strings.HasSuffix(value, "\n") {
		return false
	}
	return !strings.ContainsAny(value[:1], " \t\n") && isPrintable(value, true)
}

// isPrintable reports whether each character may stand outside of double quotes (YAML 1.2.2 section
// 5.1), also for readers of YAML 1.1, to which U+0085, U+2028 and U+2029 are line breaks.
func isPrintable(value string, lines bool) bool {
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

// AppendString appends a string on one line: plain if every reader takes it for the same string, and
// in quotes otherwise.
func AppendString(out []byte, value string) []byte {
	switch {
	case !isPrintable(value, false):
		return appendDoubleQuoted(out, value)
	case isPlain(value):
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
			// Half of a surrogate pair, as [Stream.Value] returns it: there are no other such bytes.
			r = 0xD000 | rune(value[i+1]&0x3F)<<6 | rune(value[i+2]&0x3F)
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

// isPlain reports whether a printable string of one line can be a plain scalar outside of flow
// collections, and is a string then by the core schema of YAML 1.2 and by the types of YAML 1.1.
func isPlain(value string) bool {
	if value == "" || isBlank(value[0]) || isBlank(value[len(value)-1]) {
		return false
	}
	second := byte(' ')
	if len(value) > 1 {
		second = value[1]
	}
	switch c := value[0]; {
	case strings.IndexByte(",[]{}#&*!|>'\"%@`", c) >= 0:
		return false
	case strings.IndexByte("-?:", c) >= 0 && isBlank(second):
		return false
	}
	for i := range len(value) {
		switch value[i] {
		case ':':
			if i+1 == len(value) || isBlank(value[i+1]) {
				return false
			}
		case '#':
			if i > 0 && isBlank(value[i-1]) {
				return false
			}
		}
	}
	if t, _ := resolvePlain(value); t != String {
		return false
	}
	return !isMarker(value) && LegacyOf(value) == SameInBoth
}

const manySpaces = "                                                                "

// AppendNewline begins a line with so many spaces.
func AppendNewline(out []byte, spaces int) []byte {
	out = append(out, '\n')
	for ; spaces > len(manySpaces); spaces -= len(manySpaces) {
		out = append(out, manySpaces...)
	}
	return append(out, manySpaces[:spaces]...)
}
