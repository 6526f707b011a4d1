package yaml

import (
	"fmt"
	"strings"
)

// flowSeparate skips white space and comments inside a flow collection that opens at the offset. Its lines
// must be indented by more than n (YAML 1.2.2 section 6.9).
func (p *parser) flowSeparate(n, open int) {
	crossed := p.separate()
	if p.pos == len(p.Text) {
		p.fail(open, "%q is not closed; write %q where it ends", p.Text[open], p.Text[open]+2)
	}
	if !crossed {
		return
	}
	if p.ended() {
		p.fail(open, "%q is not closed before the document ends; write %q where it ends", p.Text[open], p.Text[open]+2)
	}
	spaces, tab := p.indentation()
	switch c := p.at(0); {
	case spaces > n:
	case tab:
		p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	case c == ']' || c == '}':
		p.fail(p.pos, "this %q must be indented by more than %d; YAML 1.2 does not allow it here, "+
			"though some readers do", c, n)
	default:
		p.fail(p.pos, "%q of %s is still open; write %q where it ends, or indent this line by more than %d",
			p.Text[open], p.placeName(open), p.Text[open]+2, n)
	}
}

// flow reads a sequence or a mapping in brackets (YAML 1.2.2 section 7.4), in a block collection at column n.
func (p *parser) flow(n int, props *properties) *Node {
	open, kind, entry := p.pos, Sequence, p.flowItem
	if p.at(0) == '{' {
		kind, entry = Mapping, p.flowPair
	}
	closer := p.Text[open] + 2 // "]" behind "[", "}" behind "{"
	node := p.collection(kind, flow, open, props)
	list := childList{next: &node.first}
	p.flows++
	p.pos++
	for {
		p.flowSeparate(n, open)
		switch c := p.at(0); c {
		case closer:
			p.flows--
			p.pos++
			return p.close(node, p.pos)
		case ']', '}':
			p.refuseNoComma(open)
		case ',':
			p.fail(p.pos, "there is nothing before the comma; remove it")
		}
		entry(n, open, &list)
		p.flowSeparate(n, open)
		switch p.at(0) {
		case ',':
			p.pos++
		case closer:
		case '#':
			p.fail(p.pos, "a comment must have a space before its #")
		default:
			p.refuseNoComma(open)
		}
	}
}

// refuseNoComma refuses what follows an entry of a flow collection that opens at the offset.
func (p *parser) refuseNoComma(open int) {
	what := "write one, or put text with such characters in quotes"
	if c := p.at(0); c == ']' || c == '}' {
		what = fmt.Sprintf("%q of %s is still open", p.Text[open], p.placeName(open))
	} else if p.line > open && !strings.ContainsAny(p.Text[p.line:p.pos], ",[]{}") {
		what = fmt.Sprintf("write one at the end of line %d", p.lineOf(p.lineAbove(p.pos)))
	}
	p.fail(p.pos, "a comma or %q was expected; %s", p.Text[open]+2, what)
}

func (p *parser) flowPair(n, open int, list *childList) {
	if p.isIndicator('?') {
		p.pos++
		p.flowSeparate(n, open)
	}
	key := p.flowNode(n, open)
	p.flowSeparate(n, open)
	p.flowValue(n, open, key, list)
}

func (p *parser) flowValue(n, open int, key *Node, list *childList) {
	if !p.flowColon(key) {
		list.add(key, p.emptyValue(key))
		return
	}
	p.pos++
	begin := p.pos
	p.flowSeparate(n, open)
	if c := p.at(0); c == ',' || c == ']' || c == '}' {
		list.add(key, p.emptyNode(nil, begin))
	} else {
		list.add(key, p.flowNode(n, open))
	}
}

// flowColon reports whether a colon is next that makes a key of the node before. Behind one in quotes or
// brackets it needs no space (YAML 1.2.2 section 7.4.2).
func (p *parser) flowColon(key *Node) bool {
	if p.at(0) != ':' {
		return false
	}
	adjacent := key.style == single || key.style == double || key.style == flow
	if next := p.at(1); !isSpace(next) && !isMark(next) && !adjacent {
		p.fail(p.pos, "a colon behind a key needs a space after it")
	}
	return true
}

// flowItem reads an item of a flow sequence, which may be a pair.
func (p *parser) flowItem(n, open int, list *childList) {
	begin, line, explicit := p.pos, p.line, p.isIndicator('?')
	var child *Node
	if !explicit {
		child = p.flowNode(n, open)
		p.flowSeparate(n, open)
		if !p.flowColon(child) {
			list.add(child)
			return
		}
		if p.line != line {
			p.fail(begin, "a key in a sequence has one line, and %q of %s is still open; write %q where it ends, or the key "+
				"on one line", p.Text[open], p.placeName(open), p.Text[open]+2)
		}
		if !isShort(p.Text[begin:p.pos]) {
			p.fail(begin, "a key in a sequence has at most %d characters; write ? before it", MaxKey)
		}
	}
	pair := p.collection(Mapping, pair, begin, nil)
	inside := childList{next: &pair.first}
	if explicit {
		p.flowPair(n, open, &inside)
	} else {
		p.flowValue(n, open, child, &inside)
	}
	list.add(p.close(pair, int(inside.last.end)))
}

// flowNode reads a node inside a flow collection. Nothing need be written for one before a colon.
func (p *parser) flowNode(n, open int) *Node {
	var props *properties
	for p.at(0) == '&' || p.at(0) == '!' {
		props = p.property(props, true)
		p.flowSeparate(n, open)
	}
	next := p.at(1)
	bare := isSpace(next) || isMark(next)
	switch c := p.at(0); {
	case c == ',' || c == ']' || c == '}' || c == ':' && bare:
		return p.emptyNode(props, p.pos)
	case bare && c == '-':
		p.fail(p.pos, "a dash alone is not a value; put it in quotes, or write null")
	case bare && c == '?':
		p.fail(p.pos, "%q is not allowed here", c)
	case c == '|' || c == '>':
		p.fail(
			p.pos,
			"a block scalar is not allowed in a flow collection or a key; put text in quotes%s",
			p.quotedRest(p.pos),
		)
	case c == '"' || c == '\'' || c == '*' || c == '[' || c == '{' || c == '#' || c == '%' || c == '@' || c == '`':
		return p.content(n, props)
	}
	return p.plain(n, true, props)
}
