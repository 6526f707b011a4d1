package yaml

import (
	"strings"
	"unicode/utf8"
)

// A place is the position of a node of a block.
type place uint8

const (
	root       place = 0 // a document
	item       place = 1 // behind "-": a collection may begin on the line
	value      place = 2 // behind a key and its colon: a sequence may be at the column of the mapping
	complexKey place = 3 // behind "?", or ":" that belongs to it: both
)

// block reads the node that belongs to what is before, in a collection at column n or, if that is -1, in a
// document (YAML 1.2.2 section 8.2).
func (p *parser) block(n int, where place) *Node {
	begin := p.pos
	p.separate()
	var outer *properties // on lines above the content
	for {
		column := noColumn
		if p.ended() {
			return p.emptyNode(outer, begin)
		}
		if p.isLineStart() {
			spaces, tab := p.indentation()
			onSameLevel := spaces == n && where >= value && p.isIndicator('-')
			switch {
			case tab && spaces <= n:
				p.refuseStray()
			case spaces <= n && !onSameLevel:
				return p.emptyNode(outer, begin)
			case !tab:
				column = spaces
			}
		} else if (where == item || where == complexKey) && !strings.Contains(p.Text[begin:p.pos], "\t") {
			column = p.pos - p.line
		}
		start := p.pos
		inner, crossed := p.properties()
		if !crossed && !p.ended() {
			return p.blockContent(blockPlace{n, column, start}, outer, inner)
		}
		outer = p.mergeProperties(outer, inner)
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

// blockContent reads a node, or a mapping that begins with it. Of the properties, the inner ones are on
// the same line: they belong to the first key of a mapping, and the outer ones to the mapping.
func (p *parser) blockContent(b blockPlace, outer, inner *properties) *Node {
	switch c := p.at(0); {
	case (c == '-' || c == '?' || c == ':') && isSpace(p.at(1)):
		return p.indicator(b, outer, inner, c)
	case c == '|' || c == '>':
		return p.blockScalar(b.n, p.mergeProperties(outer, inner))
	}
	if outer != nil {
		p.pending = append(p.pending, outer)
	}
	begin, line := p.pos, p.line
	p.begun = begin
	node := p.content(b.n, inner)
	if outer != nil {
		p.pending = p.pending[:len(p.pending)-1]
	}
	if !p.skipColon() {
		p.addProperties(node, outer)
		return node
	}
	if b.column == noColumn {
		p.refuseColon(b.n, begin, line)
	}
	p.checkKey(begin, line)
	return p.mapping(b, outer, node)
}

// indicator reads a collection that begins with "-", "?" or ":".
func (p *parser) indicator(b blockPlace, outer, inner *properties, c byte) *Node {
	if c == '-' && b.column == noColumn && p.isAloneOnLine() {
		p.fail(p.pos, "a dash alone is not a value; put it in quotes, or write null") // rule 126, ns-plain-first
	}
	if c != ':' && inner != nil || b.column == noColumn {
		p.refuseCollection(map[byte]string{'-': "a sequence", '?': "a mapping", ':': "a key with its colon"}[c])
	}
	if c == '-' {
		return p.sequence(b, outer)
	}
	var key *Node
	if c == ':' {
		key = p.emptyNode(inner, p.pos)
	}
	return p.mapping(b, outer, key)
}

// isAloneOnLine reports whether nothing but a comment follows the byte that is next.
func (p *parser) isAloneOnLine() bool {
	line, _, _ := strings.Cut(p.Text[p.pos+1:], "\n")
	line = strings.TrimLeft(line, " \t")
	return line == "" || line[0] == '#'
}

// refuseCollection refuses the beginning of a block collection where none can begin.
func (p *parser) refuseCollection(what string) {
	before := strings.TrimRight(p.Text[p.line:p.pos], " \t")
	tab := strings.IndexByte(p.Text[p.line+len(before):p.pos], '\t')
	indented := before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "?")
	if indented && tab >= 0 {
		p.fail(p.line+len(before)+tab, "a tab cannot indent; use spaces")
	}
	quotes := ""
	if strings.HasSuffix(before, ":") {
		quotes = ", or put the value in quotes" + p.quotedRest(p.pos)
	}
	p.fail(p.pos, "%s is not allowed here; begin it on a new line%s", what, quotes)
}

// sequence reads a block sequence (YAML 1.2.2 section 8.2.1).
func (p *parser) sequence(b blockPlace, props *properties) *Node {
	n := p.collection(Sequence, Block, p.pos, props)
	n.indent = int32(b.column)
	list := childList{next: &n.first}
	for {
		p.pos++
		child := p.block(b.column, item)
		list.add(child)
		switch more := p.hasEntryAt(b.column); {
		case more && p.isIndicator('-'):
		case more && b.column != b.n:
			p.refuseNoDash()
		default: // the end, or the next key of the mapping at the same column
			return p.close(n, int(child.end))
		}
	}
}

// hasEntryAt reports whether there is another entry of a collection at the column.
func (p *parser) hasEntryAt(column int) bool {
	p.separate()
	if p.ended() {
		return false
	}
	if !p.isLineStart() {
		p.refuseUnexpected(theValue)
	}
	spaces, tab := p.indentation()
	if spaces > column || spaces == column && tab {
		p.refuseStray()
	}
	return spaces == column
}

// mapping reads a block mapping (YAML 1.2.2 section 8.2.2) whose first key has been read, unless it begins with "?".
func (p *parser) mapping(b blockPlace, props *properties, key *Node) *Node {
	n := p.collection(Mapping, Block, b.start, props)
	n.indent = int32(b.column)
	list := childList{next: &n.first}
	for {
		var value *Node
		if key == nil && p.isIndicator('?') {
			key, value = p.explicitPair(b.column)
		} else {
			key, value = p.implicitPair(b.column, key)
		}
		list.add(key, value)
		key = nil
		if !p.hasEntryAt(b.column) {
			return p.close(n, int(max(value.end, value.begin())))
		}
	}
}

// explicitPair reads "?" and a key, and ":" and a value if they are there.
func (p *parser) explicitPair(column int) (key, value *Node) {
	p.pos++
	key = p.block(column, complexKey)
	if p.hasEntryAt(column) && p.isIndicator(':') {
		p.pos++
		return key, p.block(column, complexKey)
	}
	return key, p.emptyValue(key)
}

// implicitPair reads a key, unless it has been read, and its value.
func (p *parser) implicitPair(column int, key *Node) (*Node, *Node) {
	if key == nil {
		key = p.implicitKey(column)
	}
	p.pos++
	return key, p.block(column, value)
}

func (p *parser) implicitKey(column int) *Node {
	start, line := p.pos, p.line
	props, crossed := p.properties()
	switch c := p.at(0); {
	case crossed || p.ended():
		p.refuseNoColon(start, column)
	case p.isIndicator('-') && props == nil:
		p.fail(p.pos, "a sequence is not allowed between the keys of a mapping; %s", p.dashAdvice())
	case p.isIndicator('-'):
		p.refuseCollection("a sequence")
	case p.isIndicator('?'):
		p.refuseCollection("a mapping")
	case p.isIndicator(':'):
		return p.emptyNode(props, p.pos)
	case c == '|' || c == '>':
		p.fail(p.pos, "a block scalar is not allowed in a flow collection or a key; put text in quotes")
	}
	begin := p.pos
	p.begun = begin
	key := p.content(column, props)
	if !p.skipColon() {
		p.refuseNoColon(start, column)
	}
	p.checkKey(begin, line)
	return key
}

// skipColon reports whether a colon is next that makes the preceding node a key. If it is, it skips to it.
func (p *parser) skipColon() bool {
	end := p.pos
	p.skipBlanks()
	if p.isIndicator(':') {
		return true
	}
	p.pos = end
	return false
}

// checkKey refuses a key without "?" that has several lines or is too long.
func (p *parser) checkKey(begin, line int) {
	if p.line != line {
		p.refuseMultilineKey(begin)
	}
	if !isShort(strings.TrimRight(p.Text[begin:p.pos], " \t")) {
		p.fail(begin, "a key of more than %d characters needs a ? before it", MaxKey)
	}
}

// isShort reports whether a key without "?" is short enough.
func isShort(text string) bool { return len(text) <= MaxKey || utf8.RuneCountInString(text) <= MaxKey }

// content reads a node that is not a block collection or block scalar, in a collection at column n.
func (p *parser) content(n int, props *properties) *Node {
	switch c := p.at(0); c {
	case '*':
		return p.alias(props)
	case '"':
		return p.quoted(n, double, props)
	case '\'':
		return p.quoted(n, single, props)
	case '[', '{':
		return p.flow(n, props)
	case '#':
		p.fail(p.pos, "a comment must have a space before its #")
	case ']', '}':
		p.fail(p.pos, "nothing is open that %q could close; remove it, or put the text in quotes", c)
	case '%', '@', '`', ',':
		p.fail(p.pos, "a plain scalar cannot begin with %q; put it in quotes%s", c, p.quotedRest(p.pos))
	}
	return p.plain(n, false, props)
}
