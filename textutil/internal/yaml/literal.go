package yaml

import "strings"

// blockScalar reads a literal or folded scalar (YAML 1.2.2 section 8.1) in a collection at column n.
func (p *parser) blockScalar(n int, props *properties) *Node {
	begin, style := p.pos, literal
	if p.at(0) == '>' {
		style = folded
	}
	indicator := p.blockHeader()
	indent := max(n, 0) + indicator
	if indicator == 0 {
		indent = p.detectIndent(n)
	}
	p.blockLines(n, indent)
	scalar := p.scalar(style, begin, props)
	scalar.indent = int32(indent)
	return scalar
}

// blockHeader reads the first line with its line break (YAML 1.2.2 section 8.1.1), and returns the
// indentation indicator, or 0.
func (p *parser) blockHeader() (indent int) {
	chomped, mark := false, p.pos
	for p.pos++; ; p.pos++ {
		switch c := p.at(0); {
		case (c == '-' || c == '+') && !chomped:
			chomped = true
		case '1' <= c && c <= '9' && indent == 0:
			indent = int(c - '0')
		default:
			begin := p.pos
			p.skipBlanks()
			if c := p.at(0); c != '\n' && c != 0 && (c != '#' || p.pos == begin) {
				p.fail(p.pos, "text follows the mark of a block scalar; begin it on the next line, or put the value in quotes%s",
					p.quotedRest(mark))
			}
			if p.at(0) == '#' && p.pos > begin {
				p.comment()
			}
			if p.at(0) == '\n' {
				p.pos++
				p.line = p.pos
			}
			return indent
		}
	}
}

// detectIndent returns the indentation of the first line that is not empty (YAML 1.2.2 section
// 8.1.1.1), without moving. Empty lines before it cannot have more spaces.
func (p *parser) detectIndent(n int) int {
	most, line := 0, 0
	for i := p.pos; ; {
		begin := i
		for i < len(p.Text) && p.Text[i] == ' ' {
			i++
		}
		spaces := i - begin
		if i == len(p.Text) {
			return max(most, spaces, n+1)
		}
		if p.Text[i] != '\n' {
			switch {
			case p.Text[i] == '\t' && spaces <= n:
				p.fail(i, "a tab cannot indent; use spaces")
			case spaces <= n || isMarker(p.Text[i:]) && spaces == 0:
				return max(most, n+1)
			case most > spaces:
				p.fail(line, "an empty line before the first of a block scalar has more spaces than it; remove its spaces")
			}
			return spaces
		}
		if spaces > most {
			most, line = spaces, begin
		}
		i++
	}
}

func (p *parser) blockLines(n, indent int) {
	for p.pos < len(p.Text) && !isMarker(p.Text[p.pos:]) {
		i := p.pos
		for i < len(p.Text) && i < p.pos+indent && p.Text[i] == ' ' {
			i++
		}
		spaces := i - p.pos
		if i < len(p.Text) && p.Text[i] != '\n' && spaces < indent {
			if p.Text[i] == '\t' {
				p.fail(i, "a tab cannot indent; use spaces")
			}
			if spaces > n && p.Text[i] != '#' {
				p.fail(i, "a line of the block scalar has fewer spaces than the first; indent it by %d", indent)
			}
			return
		}
		end := strings.IndexByte(p.Text[i:], '\n')
		if end < 0 {
			p.pos = len(p.Text)
			return
		}
		p.pos = i + end + 1
		p.line = p.pos
	}
}

// blockValue returns what a literal or folded scalar says.
func (s *Stream) blockValue(n *Node) string {
	header, body, _ := strings.Cut(s.raw(n), "\n")
	header, _, _ = strings.Cut(header, "#")
	out := make([]byte, 0, len(body))
	empty, spaced, begun, broken := 0, true, false, false // about the lines so far; broken is the last but the empty
	for line := range strings.Lines(body) {
		content, ended := strings.CutSuffix(line, "\n")
		content = cutIndent(content, int(n.indent))
		ended = ended || strings.Trim(content, " \t") == "" // the end of the text ends such a line as a break would
		if content == "" {
			if ended {
				empty++
			}
			continue
		}
		blank := isBlank(content[0])
		breaks := empty
		if begun && (n.style == literal || spaced || blank) {
			breaks++
		}
		if begun && breaks == 0 {
			out = append(out, ' ') // folding (YAML 1.2.2 section 8.1.3)
		}
		for range breaks {
			out = append(out, '\n')
		}
		out = append(out, content...)
		empty, spaced, begun, broken = 0, blank, true, ended
	}
	// Chomping (YAML 1.2.2 section 8.1.1.2).
	switch {
	case strings.Contains(header, "-"):
		empty, broken = 0, false
	case !strings.Contains(header, "+"):
		empty = 0
	}
	if broken {
		empty++
	}
	for range empty {
		out = append(out, '\n')
	}
	return string(out)
}

// cutIndent removes the indentation from a line, which may be empty and shorter.
func cutIndent(line string, indent int) string {
	if len(line) <= indent {
		return strings.TrimLeft(line, " ")
	}
	return line[indent:]
}
