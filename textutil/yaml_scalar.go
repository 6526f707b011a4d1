package textutil

import (
	"strings"
	"unicode/utf8"
)

// plain reads a plain scalar (YAML 1.2.2 section 7.3.3). A key has one line only.
func (p *yamlParser) plain(n int, flow, key bool) *yamlNode {
	node := p.node(yamlScalar, yamlPlain, p.pos, p.pos)
	for {
		node.end = int32(p.plainLine(flow))
		if key || !p.plainGoesOn(n, flow) {
			p.pos = int(node.end)
			return node
		}
	}
}

// plainLine skips the rest of a line of a plain scalar, and returns where it ends, without white space.
func (p *yamlParser) plainLine(flow bool) int {
	end := p.pos
	for i := p.pos; ; i++ {
		c := byte(0)
		if i < len(p.text) {
			c = p.text[i]
		}
		switch {
		case c == ' ' || c == '\t':
			continue
		case yamlBreak(c):
			p.pos = i
			return end
		case c == ':':
			next := byte(0)
			if i+1 < len(p.text) {
				next = p.text[i+1]
			}
			if yamlSpace(next) || flow && yamlFlowMark(next) {
				p.pos = i
				return end
			}
		case c == '#' && i > end || flow && yamlFlowMark(c):
			p.pos = i
			return end
		}
		end = i + 1
	}
}

// plainGoesOn goes to the next line with content, if it belongs to the scalar.
func (p *yamlParser) plainGoesOn(n int, flow bool) bool {
	if p.at(0) != '\n' {
		return false
	}
	line := 0
	i := p.pos
	for ; i < len(p.text) && (yamlBlank(p.text[i]) || p.text[i] == '\n'); i++ {
		if p.text[i] == '\n' {
			line = i + 1
		}
	}
	if i == len(p.text) || p.text[i] == '#' || i == line && yamlMarker(p.text[i:]) {
		return false
	}
	spaces := line
	for p.text[spaces] == ' ' {
		spaces++
	}
	if spaces-line <= n {
		return false
	}
	if c := p.text[i]; c == ':' && (i+1 == len(p.text) || yamlSpace(p.text[i+1])) || flow && yamlFlowMark(c) {
		return false
	}
	if flow && p.text[i] == ':' && yamlFlowMark(p.text[i+1]) {
		return false
	}
	p.line, p.pos = line, i
	return true
}

// quotedLine goes from the end of a line of a quoted scalar to the content of the next, which must be
// indented by more than n (YAML 1.2.2 section 7.3.1).
func (p *yamlParser) quotedLine(n, open int) error {
	for p.at(0) == '\n' {
		p.pos++
		p.line = p.pos
		if p.marker() {
			return p.fail(open, "the quote is not closed before the document ends")
		}
		p.skipBlanks()
	}
	if spaces, tab := p.indentation(); spaces <= n && p.pos < len(p.text) {
		if tab {
			return p.fail(p.line+spaces, "a tab cannot indent; use spaces")
		}
		return p.fail(p.pos, "a line of a quoted scalar must be indented by more than %d", n)
	}
	return nil
}

// quoted begins a scalar in quotes: it may hold characters that may not stand elsewhere.
func (p *yamlParser) quoted(style yamlStyle) (*yamlNode, error) {
	if len(p.odd) > 0 && p.odd[0] < p.pos {
		return nil, p.oddCharacter(p.odd[0])
	}
	node := p.node(yamlScalar, style, p.pos, p.pos)
	p.pos++
	return node, nil
}

func (p *yamlParser) quoteEnds(node *yamlNode) *yamlNode {
	p.pos++
	node.end = int32(p.pos)
	for len(p.odd) > 0 && p.odd[0] < p.pos {
		p.odd = p.odd[1:]
	}
	return node
}

// singleQuoted reads a scalar in single quotes (YAML 1.2.2 section 7.3.2).
func (p *yamlParser) singleQuoted(n int) (*yamlNode, error) {
	node, err := p.quoted(yamlSingle)
	if err != nil {
		return nil, err
	}
	for {
		i := strings.IndexAny(p.text[p.pos:], "'\n")
		if i < 0 {
			return nil, p.fail(int(node.start), "the single quote is not closed")
		}
		p.pos += i
		switch {
		case p.at(0) == '\n':
			if err := p.quotedLine(n, int(node.start)); err != nil {
				return nil, err
			}
		case p.at(1) == '\'':
			p.pos += 2
		default:
			return p.quoteEnds(node), nil
		}
	}
}

// doubleQuoted reads a scalar in double quotes (YAML 1.2.2 section 7.3.1).
func (p *yamlParser) doubleQuoted(n int) (*yamlNode, error) {
	node, err := p.quoted(yamlDouble)
	if err != nil {
		return nil, err
	}
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case '"':
			return p.quoteEnds(node), nil
		case '\n':
			if err := p.quotedLine(n, int(node.start)); err != nil {
				return nil, err
			}
		case '\\':
			if err := p.escape(); err != nil {
				return nil, err
			}
		default:
			p.pos++
		}
	}
	return nil, p.fail(int(node.start), "the double quote is not closed")
}

// escape checks an escape (YAML 1.2.2 section 5.7).
func (p *yamlParser) escape() error {
	c := p.at(1)
	if c == '\n' {
		p.pos++
		return nil
	}
	digits := escapeDigits(c)
	switch {
	case digits == 0 && (c == 0 || c >= utf8.RuneSelf || yamlEscapes[c] == ""):
		return p.fail(p.pos, "a backslash begins an escape, and there is none with this character; write \\\\")
	case digits > 0:
		value, ok := hexValue(p.text[p.pos+2:], digits)
		if !ok {
			return p.fail(p.pos, "\\%c needs %d hexadecimal digits", c, digits)
		}
		if value > 0x10FFFF {
			return p.fail(p.pos, "there is no character %X", value)
		}
	}
	p.pos += 2 + digits
	return nil
}

// yamlEscapes are the escapes of one character (YAML 1.2.2 section 5.7).
var yamlEscapes = [128]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r",
	'e': "\x1b", ' ': " ", '"': "\"", '/': "/", '\\': "\\", 'N': "\u0085", '_': "\u00a0", 'L': "\u2028",
	'P': "\u2029",
}

// hexValue returns the value of exactly n hexadecimal digits at the beginning of s.
func hexValue(s string, n int) (uint32, bool) {
	if len(s) < n {
		return 0, false
	}
	var v uint32
	for _, c := range []byte(s[:n]) {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint32(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | uint32(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
