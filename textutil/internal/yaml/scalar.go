package yaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// scalar returns a scalar that has been read, from the offset to here.
func (p *parser) scalar(style Style, begin int, props *properties) *Node {
	n := p.node(Scalar, style, begin, props)
	n.end = int32(p.pos)
	return n
}

// plain reads a plain scalar (YAML 1.2.2 section 7.3.3), whose further lines are indented by more than n.
func (p *parser) plain(n int, flow bool, props *properties) *Node {
	begin, end := p.pos, p.pos
	for more := true; more; more = p.continuePlain(n, flow) {
		end = p.plainLine(flow)
	}
	p.pos = end
	return p.scalar(Plain, begin, props)
}

// isPlainEnd reports whether a plain scalar ends before the byte at i: at the colon behind a key, or at a mark
// of a flow collection.
func (p *parser) isPlainEnd(i int, flow bool) bool {
	switch c := p.Text[i]; {
	case c == ':':
		return i+1 == len(p.Text) || isSpace(p.Text[i+1]) || flow && isMark(p.Text[i+1])
	default:
		return flow && isMark(c)
	}
}

// plainLine skips the rest of a line of a plain scalar, and returns where it ends, without white space.
func (p *parser) plainLine(flow bool) int {
	end := p.pos
	for ; p.pos < len(p.Text); p.pos++ {
		switch c := p.Text[p.pos]; {
		case c == ' ' || c == '\t':
			continue
		case c == '\n' || c == '#' && p.pos > end || p.isPlainEnd(p.pos, flow):
			return end
		}
		end = p.pos + 1
	}
	return end
}

// continuePlain goes to the next line with content, if it belongs to the scalar.
func (p *parser) continuePlain(n int, flow bool) bool {
	if p.at(0) != '\n' {
		return false
	}
	line := 0
	i := p.pos
	for ; i < len(p.Text) && isSpace(p.Text[i]); i++ {
		if p.Text[i] == '\n' {
			line = i + 1
		}
	}
	if i == len(p.Text) || p.Text[i] == '#' || i == line && isMarker(p.Text[i:]) || p.isPlainEnd(i, flow) {
		return false
	}
	spaces := line
	for p.Text[spaces] == ' ' {
		spaces++
	}
	if spaces-line <= n {
		return false
	}
	p.line, p.pos = line, i
	return true
}

// quotedLine goes from the end of a line of a quoted scalar to the content of the next, which must be
// indented by more than n (YAML 1.2.2 section 7.3.1).
func (p *parser) quotedLine(n, open int) {
	for p.at(0) == '\n' {
		p.pos++
		p.line = p.pos
		if p.pos < len(p.Text) && p.ended() {
			p.refuseOpenQuote(open)
		}
		p.skipBlanks()
	}
	if spaces, tab := p.indentation(); spaces <= n && p.pos < len(p.Text) {
		if tab {
			p.fail(p.line+spaces, "a tab cannot indent; use spaces")
		}
		p.fail(open, "the %s quote that opens here is not closed before line %d, which is not indented by more than %d; "+
			"close it, or indent that line", quoteName(p.Text[open]), p.lineOf(p.pos), n)
	}
}

func quoteName(c byte) string {
	if c == '"' {
		return "double"
	}
	return "single"
}

// refuseOpenQuote refuses a quote that nothing closes.
func (p *parser) refuseOpenQuote(open int) {
	p.fail(open, "the %s quote that opens here is not closed; write %c where the value ends", quoteName(p.Text[open]),
		p.Text[open])
}

// quoted reads a scalar in quotes (YAML 1.2.2 sections 7.3.1 and 7.3.2).
func (p *parser) quoted(n int, style Style, props *properties) *Node {
	begin, quote := p.pos, p.Text[p.pos]
	p.quoting = true
	for p.pos++; ; {
		switch c := p.at(0); {
		case c == 0:
			p.refuseOpenQuote(begin)
		case c == '\n':
			p.quotedLine(n, begin)
		case c == '\\' && style == double:
			p.escape()
		case c != quote:
			p.pos++
		case style == single && p.at(1) == quote:
			p.pos += 2
		default:
			return p.quotedScalar(style, begin, props)
		}
	}
}

// quotedScalar returns a scalar in quotes, which may hold characters that are not allowed elsewhere.
func (p *parser) quotedScalar(style Style, begin int, props *properties) *Node {
	p.pos++
	p.quoting = false
	switch {
	case p.odd < 0:
	case p.odd < begin:
		p.refuseOddCharacter()
	case p.odd < p.pos:
		p.findOdd(p.pos)
	}
	return p.scalar(style, begin, props)
}

var (
	// simpleEscapes maps the escapes of one character to their values (YAML 1.2.2 section 5.7).
	simpleEscapes = map[byte]string{'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v",
		'f': "\f", 'r': "\r", 'e': "\x1b", ' ': " ", '"': "\"", '/': "/", '\\': "\\", 'N': "\u0085", '_': "\u00a0",
		'L': "\u2028", 'P': "\u2029"}
	// escapeDigits are how many hexadecimal digits other escapes have.
	escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}
)

// escape skips an escape (YAML 1.2.2 section 5.7).
func (p *parser) escape() {
	c := p.at(1)
	digits := escapeDigits[c]
	switch {
	case c == '\n':
		p.pos++ // the line break is for quotedLine
		return
	case digits > 0:
		switch r, ok := Hex(p.Text[p.pos+2:], digits); {
		case !ok:
			p.fail(p.pos, "\\%c needs %d hexadecimal digits; write \\\\ for a backslash", c, digits)
		case r > utf8.MaxRune:
			p.fail(p.pos, "%X is not a character", r)
		}
	case simpleEscapes[c] == "":
		p.fail(p.pos, "in double quotes a backslash begins an escape, and this one does not exist; write \\\\ for "+
			"a backslash, or put the value in single quotes")
	}
	p.pos += 2 + digits
}

// IsLiteral reports whether a string can be a literal block: it has several lines, and each character is allowed
// unescaped. Where blanks begin the text, the block would need an indentation indicator, which YAML parsers
// interpret differently.
func IsLiteral(value string) bool {
	if !strings.Contains(strings.TrimRight(value, "\n"), "\n") && !strings.HasSuffix(value, "\n") {
		return false
	}
	return !strings.ContainsAny(value[:1], " \t\n") && isPrintable(value, true)
}

// isPrintable reports whether each character is allowed outside of double quotes (YAML 1.2.2 section
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

// AppendString appends a string on one line: plain if every parser reads it as the same string, and
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
		short := strings.IndexRune("\"\\\n\t\r", r)
		switch {
		case short >= 0:
			out = append(out, '\\', "\"\\ntr"[short])
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
	if strings.HasPrefix(value, "“") || strings.HasPrefix(value, "‘") || FindInvisible(value, true) >= 0 {
		return false // it would look like a mistake
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
