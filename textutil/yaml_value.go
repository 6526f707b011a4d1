package textutil

import (
	"strings"
	"unicode/utf8"
)

// value returns what a scalar says, without its quotes, folding and escapes. Surrogates that have no
// partner come as the three bytes that UTF-8 forbids.
func (s *yamlStream) value(n *yamlNode) string {
	raw := s.raw(n)
	switch n.style {
	case yamlSingle:
		raw = raw[1 : len(raw)-1]
		if strings.Contains(raw, "\n") {
			raw = foldLines(raw)
		}
		return strings.ReplaceAll(raw, "''", "'")
	case yamlDouble:
		raw = raw[1 : len(raw)-1]
		if strings.IndexByte(raw, '\\') < 0 && strings.IndexByte(raw, '\n') < 0 {
			return raw
		}
		return unescapeYAML(raw)
	case yamlLiteral, yamlFolded:
		return blockValue(raw, int(n.indent), n.style == yamlFolded)
	}
	if strings.Contains(raw, "\n") {
		return foldLines(raw)
	}
	return raw
}

// foldLines joins the lines of a flow scalar (YAML 1.2.2 section 6.5): a line break is a space, and of
// more than one the first is lost. White space around line breaks is lost.
func foldLines(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	breaks := 0
	for first := true; ; first = false {
		line, rest, more := strings.Cut(raw, "\n")
		if !first {
			line = strings.TrimLeft(line, " \t")
		}
		if more {
			line = strings.TrimRight(line, " \t")
		}
		if line != "" || first || !more {
			writeBreaks(&b, breaks)
			breaks = 0
		}
		b.WriteString(line)
		if !more {
			return b.String()
		}
		breaks++
		raw = rest
	}
}

// writeBreaks writes folded line breaks.
func writeBreaks(b *strings.Builder, breaks int) {
	if breaks == 1 {
		b.WriteByte(' ')
	}
	for range breaks - 1 {
		b.WriteByte('\n')
	}
}

// unescapeYAML returns the value of what is between double quotes (YAML 1.2.2 section 7.3.1). The
// parser has checked the escapes.
func unescapeYAML(raw string) string {
	b := make([]byte, 0, len(raw))
	kept := 0 // bytes that an escape made, which are no white space to be lost
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\n':
			b = trimBlanks(b, kept)
			breaks, next := countBreaks(raw, i)
			if breaks == 1 {
				b = append(b, ' ')
			}
			for range breaks - 1 {
				b = append(b, '\n')
			}
			i, kept = next, len(b)
		case c != '\\':
			b = append(b, c)
			i++
		case raw[i+1] == '\n':
			breaks, next := countBreaks(raw, i+1)
			for range breaks - 1 {
				b = append(b, '\n')
			}
			i, kept = next, len(b)
		default:
			b, i = appendEscape(b, raw, i)
			kept = len(b)
		}
	}
	return string(b)
}

// trimBlanks removes white space from the end, but not from the first bytes.
func trimBlanks(b []byte, kept int) []byte {
	for len(b) > kept && yamlBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// countBreaks returns how many line breaks follow, and where the text goes on behind the white space.
func countBreaks(raw string, i int) (breaks, next int) {
	for i < len(raw) && (raw[i] == '\n' || yamlBlank(raw[i])) {
		if raw[i] == '\n' {
			breaks++
		}
		i++
	}
	return breaks, i
}

// appendEscape appends what the escape at i means, and returns where it ends.
func appendEscape(b []byte, raw string, i int) ([]byte, int) {
	digits := escapeDigits(raw[i+1])
	if digits == 0 {
		return append(b, yamlEscapes[raw[i+1]]...), i + 2
	}
	value, _ := hexValue(raw[i+2:], digits)
	i += 2 + digits
	if value>>10 == 0xD800>>10 && strings.HasPrefix(raw[i:], `\u`) {
		if low, ok := hexValue(raw[i+2:], 4); ok && low>>10 == 0xDC00>>10 {
			return utf8.AppendRune(b, rune(0x10000+(value&0x3FF)<<10+low&0x3FF)), i + 6
		}
	}
	if value>>11 == 0xD800>>11 {
		return append(b, 0xE0|byte(value>>12), 0x80|byte(value>>6&0x3F), 0x80|byte(value&0x3F)), i
	}
	return utf8.AppendRune(b, rune(value)), i
}

// escapeDigits returns how many hexadecimal digits follow an escape.
func escapeDigits(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// blockValue returns the value of a block scalar (YAML 1.2.2 sections 8.1.2 and 8.1.3).
func blockValue(raw string, indent int, folded bool) string {
	header, rest, _ := strings.Cut(raw, "\n")
	header, _, _ = strings.Cut(header, "#")
	var b strings.Builder
	b.Grow(len(rest))
	breaks, begun, more := 0, false, false // line breaks that wait; whether the line before begins with white space
	for rest != "" {
		line, tail, broken := strings.Cut(rest, "\n")
		rest = tail
		if line = cutIndent(line, indent); line == "" {
			breaks++
			continue
		}
		deeper := yamlBlank(line[0])
		switch {
		case !begun || !folded || more || deeper:
			for range breaks {
				b.WriteByte('\n')
			}
		default:
			writeBreaks(&b, breaks)
		}
		b.WriteString(line)
		breaks, begun, more = 0, true, deeper
		if broken || strings.Trim(line, " \t") == "" {
			breaks = 1
		}
	}
	switch {
	case strings.Contains(header, "-"):
	case strings.Contains(header, "+"):
		for range breaks {
			b.WriteByte('\n')
		}
	case begun && breaks > 0: // the end of the text is no line break
		b.WriteByte('\n')
	}
	return b.String()
}

// cutIndent removes the indentation from a line, which may be empty and shorter.
func cutIndent(line string, indent int) string {
	if len(line) <= indent {
		return strings.TrimLeft(line, " ")
	}
	return line[indent:]
}
