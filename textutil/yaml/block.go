package yaml

import (
	"strings"
	"unicode/utf8"
)

// A place is where a node of a block stands.
type place uint8

const (
	root    place = 0 // a document
	item    place = 1 // behind "-": a collection may begin on the line
	value   place = 2 // behind a key and its colon: a sequence may stand at the column of the mapping
	complex place = 3 // behind "?", or ":" that belongs to it: both
)

// block reads the node that belongs to what is before, in a collection at column n or, if that is -1, in a
// document (YAML 1.2.2 section 8.2).
func (p *parser) block(n int, where place) (*Node, error) {
	begin := p.pos
	p.separate()
	var outer *properties // on lines above the content
	for {
		column := noColumn
		if p.ended() {
			return p.missing(outer, begin)
		}
		if p.fresh() {
			spaces, tab := p.indentation()
			beside := spaces == n && where >= value && p.indicates('-')
			switch {
			case tab && spaces <= n:
				return nil, p.stray()
			case spaces <= n && !beside:
				return p.missing(outer, begin)
			case !tab:
				column = spaces
			}
		} else if (where == item || where == complex) && !strings.Contains(p.Text[begin:p.pos], "\t") {
			column = p.pos - p.line
		}
		start := p.pos
		inner, crossed, err := p.properties()
		if err != nil {
			return nil, err
		}
		if !crossed && !p.ended() {
			return p.blockContent(blockPlace{n, column, start}, outer, inner)
		}
		if outer, err = p.merged(outer, inner); err != nil {
			return nil, err
		}
	}
}

// noColumn is where no block collection can begin: a key with its colon, "---", or a tab is before.
const noColumn = -1

// A blockPlace is where the content of a node begins.
type blockPlace struct {
	n      int // column of the collection around
	column int // where a collection may begin, or noColumn
	start  int // offset, with the properties on the line
}

// blockContent reads a node, or a mapping that begins with it. Of the properties, the inner ones stand on
// the same line: they belong to the first key of a mapping, and the outer ones to the mapping.
func (p *parser) blockContent(b blockPlace, outer, inner *properties) (*Node, error) {
	switch c := p.at(0); {
	case (c == '-' || c == '?' || c == ':') && isSpace(p.at(1)):
		return p.indicator(b, outer, inner, c)
	case c == '|' || c == '>':
		props, err := p.merged(outer, inner)
		if err != nil {
			return nil, err
		}
		return p.blockScalar(b.n, props)
	}
	if outer != nil {
		p.pending = append(p.pending, outer)
	}
	begin, line := p.pos, p.line
	node, err := p.content(b.n, inner)
	if outer != nil {
		p.pending = p.pending[:len(p.pending)-1]
	}
	if err != nil {
		return nil, err
	}
	if !p.keyEnds() {
		return node, p.adopt(node, outer)
	}
	if b.column == noColumn {
		return nil, p.misplaced("a key with its colon")
	}
	if err := p.checkKey(begin, line); err != nil {
		return nil, err
	}
	return p.mapping(b, outer, node)
}

// indicator reads a collection that begins with "-", "?" or ":".
func (p *parser) indicator(b blockPlace, outer, inner *properties, c byte) (*Node, error) {
	if c == '-' && b.column == noColumn && p.aloneOnLine() {
		return nil, p.fail(p.pos, "a dash alone is no value; put it in quotes, or write null") // rule 126, ns-plain-first
	}
	if c != ':' && inner != nil || b.column == noColumn {
		return nil, p.misplaced(map[byte]string{'-': "a sequence", '?': "a mapping", ':': "a key with its colon"}[c])
	}
	if c == '-' {
		return p.sequence(b, outer)
	}
	var key *Node
	var err error
	if c == ':' {
		if key, err = p.missing(inner, p.pos); err != nil {
			return nil, err
		}
	}
	return p.mapping(b, outer, key)
}

// aloneOnLine reports whether nothing but a comment follows the byte that is next.
func (p *parser) aloneOnLine() bool {
	line, _, _ := strings.Cut(p.Text[p.pos+1:], "\n")
	line = strings.TrimLeft(line, " \t")
	return line == "" || line[0] == '#'
}

// misplaced refuses the beginning of a block collection where none can begin.
func (p *parser) misplaced(what string) error {
	before := strings.TrimRight(p.Text[p.line:p.pos], " \t")
	tab := strings.IndexByte(p.Text[p.line+len(before):p.pos], '\t')
	indented := before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "?")
	if indented && tab >= 0 {
		return p.fail(p.line+len(before)+tab, "a tab cannot indent; use spaces")
	}
	return p.fail(p.pos, "%s cannot stand here; begin it on a line of its own", what)
}

// sequence reads a block sequence (YAML 1.2.2 section 8.2.1).
func (p *parser) sequence(b blockPlace, props *properties) (*Node, error) {
	n, err := p.collection(Sequence, Block, p.pos, props)
	if err != nil {
		return nil, err
	}
	n.indent = int32(b.column)
	list := tail{next: &n.first}
	for {
		p.pos++
		child, err := p.block(b.column, item)
		if err != nil {
			return nil, err
		}
		list.add(child)
		more, err := p.goesOn(b.column)
		switch {
		case err != nil:
			return nil, err
		case more && p.indicates('-'):
		case more && b.column != b.n:
			return nil, p.fail(p.pos, "a dash was expected here, as before the other items")
		default: // the end, or the next key of the mapping at the same column
			return p.close(n, int(child.end)), nil
		}
	}
}

// goesOn reports whether there is another entry of a collection at the column.
func (p *parser) goesOn(column int) (bool, error) {
	p.separate()
	if p.ended() {
		return false, nil
	}
	if !p.fresh() {
		return false, p.unexpected("the value")
	}
	spaces, tab := p.indentation()
	if spaces > column || spaces == column && tab {
		return false, p.stray()
	}
	return spaces == column, nil
}

// mapping reads a block mapping (YAML 1.2.2 section 8.2.2) whose first key has been read, unless it begins with "?".
func (p *parser) mapping(b blockPlace, props *properties, key *Node) (*Node, error) {
	n, err := p.collection(Mapping, Block, b.start, props)
	if err != nil {
		return nil, err
	}
	n.indent = int32(b.column)
	list := tail{next: &n.first}
	for {
		var value *Node
		if key == nil && p.indicates('?') {
			key, value, err = p.explicitPair(b.column)
		} else {
			key, value, err = p.implicitPair(b.column, key)
		}
		if err != nil {
			return nil, err
		}
		list.add(key, value)
		key = nil
		more, err := p.goesOn(b.column)
		if err != nil {
			return nil, err
		}
		if !more {
			return p.close(n, int(max(value.end, value.begin()))), nil
		}
	}
}

// explicitPair reads "?" and a key, and ":" and a value if they are there.
func (p *parser) explicitPair(column int) (key, value *Node, err error) {
	p.pos++
	if key, err = p.block(column, complex); err != nil {
		return nil, nil, err
	}
	more, err := p.goesOn(column)
	if err != nil {
		return nil, nil, err
	}
	if more && p.indicates(':') {
		p.pos++
		value, err = p.block(column, complex)
		return key, value, err
	}
	value, err = p.missing(nil, int(key.end))
	if err == nil {
		value.absent = true
	}
	return key, value, err
}

// implicitPair reads a key, unless it has been read, and its value.
func (p *parser) implicitPair(column int, key *Node) (*Node, *Node, error) {
	if key == nil {
		var err error
		if key, err = p.implicitKey(column); err != nil {
			return nil, nil, err
		}
	}
	p.pos++
	child, err := p.block(column, value)
	return key, child, err
}

func (p *parser) implicitKey(column int) (*Node, error) {
	start, line := p.pos, p.line
	props, crossed, err := p.properties()
	if err != nil {
		return nil, err
	}
	switch c := p.at(0); {
	case crossed || p.ended():
		return nil, p.fail(start, "a key was expected, but no colon follows it")
	case p.indicates('-') && props == nil:
		return nil, p.fail(p.pos, "a sequence cannot stand between the keys of a mapping")
	case p.indicates('-'):
		return nil, p.misplaced("a sequence")
	case p.indicates('?'):
		return nil, p.misplaced("a mapping")
	case p.indicates(':'):
		return p.missing(props, p.pos)
	case c == '|' || c == '>':
		return nil, p.fail(p.pos, "a block scalar cannot stand in a flow collection or a key")
	}
	begin := p.pos
	key, err := p.content(column, props)
	if err != nil {
		return nil, err
	}
	if !p.keyEnds() {
		return nil, p.fail(start, "a key was expected, but no colon follows it")
	}
	return key, p.checkKey(begin, line)
}

// keyEnds reports whether a colon is next that makes a key of what was before. If it is, it skips to it.
func (p *parser) keyEnds() bool {
	end := p.pos
	p.skipBlanks()
	if p.indicates(':') {
		return true
	}
	p.pos = end
	return false
}

// checkKey refuses a key without "?" that has several lines or is too long.
func (p *parser) checkKey(begin, line int) error {
	if p.line != line {
		return p.fail(begin, "a key cannot have several lines, unless ? stands before it")
	}
	if !isShort(strings.TrimRight(p.Text[begin:p.pos], " \t")) {
		return p.fail(begin, "a key of more than %d characters needs a ? before it", MaxKey)
	}
	return nil
}

// isShort reports whether a key without "?" is short enough.
func isShort(text string) bool { return len(text) <= MaxKey || utf8.RuneCountInString(text) <= MaxKey }

// content reads a node that is no block collection or block scalar, in a collection at column n.
func (p *parser) content(n int, props *properties) (*Node, error) {
	switch c := p.at(0); c {
	case '*':
		return p.alias(props)
	case '"':
		return p.doubleQuoted(n, props)
	case '\'':
		return p.singleQuoted(n, props)
	case '[', '{':
		return p.flow(n, props)
	case '#':
		return nil, p.fail(p.pos, "a comment must have a space before its #")
	case ']', '}':
		return nil, p.fail(p.pos, "nothing is open that %q could close", c)
	case '%', '@', '`', ',':
		return nil, p.fail(p.pos, "a plain scalar cannot begin with %q; put it in quotes", c)
	}
	return p.plain(n, false, props)
}
