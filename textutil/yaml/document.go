package yaml

import (
	"strings"
	"unicode/utf8"
)

// maxDirectives bounds the directives of a document: nobody needs more, and a printer has to keep them.
const maxDirectives = 100

// stream reads all documents (YAML 1.2.2 section 9.2).
func (p *parser) stream() error {
	for {
		p.separate()
		switch {
		case p.pos == p.line && strings.HasPrefix(p.Text[p.pos:], byteOrderMark):
			p.mark()
			continue
		case p.pos == len(p.Text):
			return nil
		case p.ended() && p.at(0) == '.':
			if err := p.documentEnd(); err != nil {
				return err
			}
			continue
		}
		if err := p.document(); err != nil {
			return err
		}
	}
}

// mark skips a byte-order mark between documents (YAML 1.2.2 section 5.2).
func (p *parser) mark() {
	if p.odd == p.pos {
		p.findOdd(p.pos + len(byteOrderMark))
	}
	p.pos += len(byteOrderMark)
	p.line = p.pos
}

// documentEnd reads the marker "...", which nothing but a comment may follow.
func (p *parser) documentEnd() error {
	p.pos += 3
	return p.lineEnd("the end of the document")
}

// document reads a document with its directives, up to the marker of the next or the end of this one.
func (p *parser) document() error {
	p.doc = &Document{Start: p.pos, marker: p.pos}
	p.Documents = append(p.Documents, p.doc)
	p.anchors, p.tags = nil, nil
	for p.pos == p.line && p.at(0) == '%' {
		if err := p.directive(); err != nil {
			return err
		}
		p.separate()
	}
	switch {
	case p.ended() && p.at(0) == '-':
		p.doc.marker, p.doc.explicit = p.pos, true
		p.pos += 3
	case len(p.doc.directives) > 0:
		return p.fail(p.pos, "a line with --- must follow the directives")
	}
	root, err := p.block(-1, root)
	if err != nil {
		return err
	}
	p.doc.Root = root
	if p.separate(); !p.ended() {
		if !p.fresh() {
			return p.unexpected("the value")
		}
		return p.stray()
	}
	if p.pos < len(p.Text) && p.at(0) == '.' {
		return p.documentEnd()
	}
	return nil
}

// lineEnd refuses anything but a comment in what is left of the line.
func (p *parser) lineEnd(behind string) error {
	begin := p.pos
	p.skipBlanks()
	c := p.at(0)
	if isBreak(c) || c == '#' && p.pos > begin {
		return nil
	}
	return p.unexpected(behind)
}

// unexpected explains text on the line of something that is complete.
func (p *parser) unexpected(behind string) error {
	switch {
	case p.at(0) == '#':
		return p.fail(p.pos, "a comment must have a space before its #")
	case p.indicates(':'):
		return p.misplaced("a key with its colon")
	}
	return p.fail(p.pos, "unexpected text behind %s", behind)
}

// stray explains text at the beginning of a line that belongs to nothing.
func (p *parser) stray() error {
	spaces, tab := p.indentation()
	switch c := p.at(0); {
	case tab:
		return p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	case spaces > 0:
		return p.fail(p.pos, "the indentation of %d fits no line before", spaces)
	case c == '%':
		return p.fail(p.pos, "a line with ... must stand before the directives of the next document")
	case c == ']' || c == '}':
		return p.fail(p.pos, "nothing is open that %q could close", c)
	}
	return p.fail(p.pos, "the document has ended, but there is more text")
}

// directive reads a directive (YAML 1.2.2 section 6.8). Those that have no meaning here are left alone.
func (p *parser) directive() error {
	start := p.pos
	end := strings.IndexByte(p.Text[start:], '\n')
	if end < 0 {
		end = len(p.Text) - start
	}
	line := p.Text[start : start+end]
	p.pos += end
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && isBlank(line[i-1]) {
			p.pos = start + i
			line = line[:i]
		}
	}
	line = strings.TrimRight(line, " \t")
	if p.doc.directives = append(p.doc.directives, line); len(p.doc.directives) > maxDirectives {
		return p.fail(start, "the document has more than %d directives; that is the most", maxDirectives)
	}
	fields := strings.FieldsFunc(line[1:], func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(fields) == 0 || isBlank(line[1]):
		return p.fail(start, "the directive has no name")
	case fields[0] == "TAG":
		return p.tagDirective(start, fields[1:])
	case fields[0] == "YAML":
		return p.version(start, fields[1:])
	}
	return nil
}

// version reads the version of YAML (YAML 1.2.2 section 6.8.1).
func (p *parser) version(start int, params []string) error {
	if p.doc.versioned {
		return p.fail(start, "there is a second %%YAML directive")
	}
	p.doc.versioned = true
	if len(params) != 1 {
		return p.fail(start, "the %%YAML directive needs a version and nothing else, such as %%YAML 1.2")
	}
	major, minor, ok := strings.Cut(params[0], ".")
	if !ok || !isDigits(major) || !isDigits(minor) || len(params[0]) > 9 {
		return p.fail(start, "%.20q is no version of YAML", params[0])
	}
	if major != "1" {
		return p.fail(start, "version %s of YAML is unknown", params[0])
	}
	return nil
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// tagDirective reads the meaning of a tag handle (YAML 1.2.2 section 6.8.2).
func (p *parser) tagDirective(start int, params []string) error {
	if len(params) != 2 {
		return p.fail(start, "the %%TAG directive needs a handle and a prefix")
	}
	handle, prefix := params[0], params[1]
	if !isHandle(handle) {
		return p.fail(start, "%.40q is no tag handle", handle)
	}
	if strings.IndexFunc(prefix, notURI) >= 0 || strings.ContainsAny(prefix[:1], ",[]{}") {
		return p.fail(start, "%.40q is no prefix of tags", prefix)
	}
	decoded, ok := percentDecoded(prefix)
	switch {
	case !ok:
		return p.fail(start, "the prefix %.40s has a %% without two hexadecimal digits", prefix)
	case !utf8.ValidString(decoded):
		return p.fail(start, "the prefix %.40s has an escape that is no character", prefix)
	}
	if _, ok := p.doc.handles[handle]; ok {
		return p.fail(start, "the tag handle %.40s has a meaning already", handle)
	}
	if p.doc.handles == nil {
		p.doc.handles = map[string]string{}
	}
	p.doc.handles[handle] = decoded
	return nil
}
