package textutil

import "strings"

// A blockHeader is the first line of a block scalar (YAML 1.2.2 section 8.1.1).
type blockHeader struct {
	indent int  // indentation indicator, or 0
	chomp  byte // '-' or '+', or 0
}

// blockScalar reads a block scalar inside a collection that is indented by n (YAML 1.2.2 section 8.1).
func (p *yamlParser) blockScalar(n int) (*yamlNode, error) {
	style := yamlLiteral
	if p.at(0) == '>' {
		style = yamlFolded
	}
	node := p.node(yamlScalar, style, p.pos, p.pos)
	header, err := p.blockHeader()
	if err != nil {
		return nil, err
	}
	indent := 0
	if header.indent > 0 {
		indent = max(n, 0) + header.indent
	} else if indent, err = p.detectIndent(n); err != nil {
		return nil, err
	}
	node.indent = int32(indent)
	if err := p.blockLines(n, indent); err != nil {
		return nil, err
	}
	node.end = int32(p.pos)
	return node, nil
}

// blockHeader reads the first line with its line break.
func (p *yamlParser) blockHeader() (blockHeader, error) {
	var h blockHeader
	for p.pos++; ; p.pos++ {
		switch c := p.at(0); {
		case (c == '-' || c == '+') && h.chomp == 0:
			h.chomp = c
		case '1' <= c && c <= '9' && h.indent == 0:
			h.indent = int(c - '0')
		default:
			begin := p.pos
			if err := p.lineEnd("the mark of a block scalar"); err != nil {
				return h, err
			}
			if p.skipBlanks(); p.at(0) == '#' && p.pos > begin {
				p.comment()
			}
			if p.at(0) == '\n' {
				p.pos++
				p.line = p.pos
			}
			return h, nil
		}
	}
}

// detectIndent returns the indentation of the first line that is not empty (YAML 1.2.2 section
// 8.1.1.1), without moving. Empty lines before it cannot have more spaces.
func (p *yamlParser) detectIndent(n int) (int, error) {
	most, line := 0, 0
	for i := p.pos; ; {
		begin := i
		for i < len(p.text) && p.text[i] == ' ' {
			i++
		}
		spaces := i - begin
		if i == len(p.text) {
			return max(most, spaces, n+1), nil
		}
		if p.text[i] != '\n' {
			switch {
			case p.text[i] == '\t' && spaces <= n:
				return 0, p.fail(i, "a tab cannot indent; use spaces")
			case spaces <= n || yamlMarker(p.text[i:]) && spaces == 0:
				return max(most, n+1), nil
			case most > spaces:
				return 0, p.fail(line, "an empty line before the first of a block scalar has more spaces than it")
			}
			return spaces, nil
		}
		if spaces > most {
			most, line = spaces, begin
		}
		i++
	}
}

// blockLines skips the lines of a block scalar.
func (p *yamlParser) blockLines(n, indent int) error {
	for p.pos < len(p.text) {
		if yamlMarker(p.text[p.pos:]) {
			return nil
		}
		i := p.pos
		for i < len(p.text) && i < p.pos+indent && p.text[i] == ' ' {
			i++
		}
		spaces := i - p.pos
		if i < len(p.text) && p.text[i] != '\n' && spaces < indent {
			if p.text[i] == '\t' {
				return p.fail(i, "a tab cannot indent; use spaces")
			}
			if spaces > n && p.text[i] != '#' {
				return p.fail(i, "a line of the block scalar has fewer spaces than the first")
			}
			return nil
		}
		end := strings.IndexByte(p.text[i:], '\n')
		if end < 0 {
			p.pos = len(p.text)
			return nil
		}
		p.pos = i + end + 1
		p.line = p.pos
	}
	return nil
}
