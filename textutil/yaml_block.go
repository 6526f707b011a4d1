package textutil

import (
	"strings"
	"unicode/utf8"
)

// blockNode reads a node inside a block collection that is indented by n, or in a document if n is -1
// (YAML 1.2.2 section 8.2.3). A collection may begin on the line of the indicator before if compact is
// set (section 8.2.1). The value of a pair may be a sequence at the column of its key.
//
// Properties before a key belong to the key, those on a line before it to the whole mapping.
func (p *yamlParser) blockNode(n int, compact, value bool) (*yamlNode, error) {
	begin, outer := p.pos, yamlProps{}
	fresh := p.separate()
	if spaces, _ := p.indentation(); spaces >= 0 {
		fresh = true
	}
	for {
		column := -1 // where a collection may begin
		spaces, tab := p.indentation()
		if p.pos == len(p.text) || fresh && (p.marker() || !p.inside(n, spaces, value)) {
			return p.define(p.node(yamlScalar, yamlPlain, begin, begin).with(outer)), nil
		}
		switch {
		case fresh && !tab:
			column = spaces
		case !fresh && compact && !strings.Contains(p.text[begin:p.pos], "\t"):
			column = p.pos - p.line
		}
		inner, err := p.properties(false, n)
		if err != nil {
			return nil, err
		}
		if c := p.at(0); !inner.given() || !yamlBreak(c) && c != '#' {
			if value && !compact && !fresh && !inner.given() && p.loneDash() {
				return p.define(p.plain(n, false, true).with(outer)), nil
			}
			return p.blockContent(n, column, outer, inner)
		}
		if outer, err = p.merge(outer, inner); err != nil {
			return nil, err
		}
		begin = max(int(outer.anchorEnd), int(outer.tagEnd))
		p.separate()
		fresh = true
	}
}

// loneDash reports whether a dash is alone behind a key and its colon. The grammar does not allow it, for a
// plain scalar needs something behind its dash; but no sequence can begin there, and people write it for
// "nothing".
func (p *yamlParser) loneDash() bool {
	if p.at(0) != '-' {
		return false
	}
	line, _, _ := strings.Cut(p.text[p.pos+1:], "\n")
	if strings.Trim(line, " \t") != "" {
		return false
	}
	p.dashes = append(p.dashes, p.pos)
	return true
}

// inside reports whether a line with so many spaces belongs to a collection that is indented by n.
func (p *yamlParser) inside(n, spaces int, value bool) bool {
	return spaces > n || value && spaces == n && p.at(0) == '-' && yamlSpace(p.at(1))
}

// with gives the node properties, if there are any.
func (n *yamlNode) with(props yamlProps) *yamlNode {
	if props.given() {
		own := props
		n.props = &own
	}
	return n
}

// merge joins properties of one node that stand on several lines.
func (p *yamlParser) merge(outer, inner yamlProps) (yamlProps, error) {
	switch {
	case !outer.given():
		return inner, nil
	case !inner.given():
		return outer, nil
	case outer.anchor != "" && inner.anchor != "":
		return outer, p.fail(int(inner.start), "the node has an anchor already")
	case outer.tag != "" && inner.tag != "":
		return outer, p.fail(int(inner.start), "the node has a tag already")
	case inner.anchor != "":
		outer.anchor, outer.anchorEnd = inner.anchor, inner.anchorEnd
	default:
		outer.tag, outer.tagText, outer.tagEnd = inner.tag, inner.tagText, inner.tagEnd
	}
	return outer, nil
}

// blockContent reads what follows the properties of a node. A collection may begin here if column is
// not negative.
func (p *yamlParser) blockContent(n, column int, outer, inner yamlProps) (*yamlNode, error) {
	switch c := p.at(0); {
	case c == '-' && yamlSpace(p.at(1)):
		if column < 0 || inner.given() {
			return nil, p.misplaced("a sequence")
		}
		return p.blockSequence(column, outer)
	case c == '?' && yamlSpace(p.at(1)):
		if column < 0 || inner.given() {
			return nil, p.misplaced("a mapping")
		}
		return p.blockMapping(column, outer, nil)
	case c == '|' || c == '>':
		props, err := p.merge(outer, inner)
		if err != nil {
			return nil, err
		}
		node, err := p.blockScalar(n)
		if err != nil {
			return nil, err
		}
		return p.define(node.with(props)), nil
	}
	return p.inlineOrMapping(n, column, outer, inner)
}

// inlineOrMapping reads a node that is no block collection, or the mapping of which it is the first key.
func (p *yamlParser) inlineOrMapping(n, column int, outer, inner yamlProps) (*yamlNode, error) {
	begin, line := p.pos, p.line
	if inner.given() {
		begin = int(inner.start)
	}
	node, err := p.keyOrNode(n, inner)
	if err != nil {
		return nil, err
	}
	if p.keyEnds() {
		switch {
		case p.line != line:
			return nil, p.fail(begin, "a key cannot have several lines, unless ? stands before it")
		case column < 0:
			return nil, p.misplaced("a key with its colon")
		}
		if err := p.checkKey(begin); err != nil {
			return nil, err
		}
		return p.blockMapping(column, outer, node)
	}
	if node.style != yamlPlain || node.kind == yamlAlias {
		if err := p.lineEnd("the value"); err != nil {
			return nil, err
		}
	} else if p.at(0) == ':' {
		return nil, p.misplaced("a key with its colon")
	}
	if !outer.given() {
		return node, nil
	}
	if node.kind == yamlAlias {
		return nil, p.fail(int(outer.start), "an alias cannot have an anchor or a tag")
	}
	props, err := p.merge(outer, inner)
	if err != nil {
		return nil, err
	}
	return p.define(node.with(props)), nil
}

// misplaced refuses the beginning of a block collection where none can begin.
func (p *yamlParser) misplaced(what string) error {
	before := strings.TrimRight(p.text[p.line:p.pos], " \t")
	tab := strings.IndexByte(p.text[p.line+len(before):p.pos], '\t')
	if indented := before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "?"); indented && tab >= 0 {
		return p.fail(p.line+len(before)+tab, "a tab cannot indent; use spaces")
	}
	return p.fail(p.pos, "%s cannot stand here; begin it on a line of its own", what)
}

// keyOrNode reads a node that is no block collection; nothing at all if a colon is next.
func (p *yamlParser) keyOrNode(n int, props yamlProps) (*yamlNode, error) {
	if p.at(0) == ':' && yamlSpace(p.at(1)) {
		return p.define(p.node(yamlScalar, yamlPlain, p.pos, p.pos).with(props)), nil
	}
	return p.inline(n, false, false, props)
}

// keyEnds reports whether a colon is next that makes a key of what was before, and skips to it.
func (p *yamlParser) keyEnds() bool {
	i := p.pos
	for i < len(p.text) && yamlBlank(p.text[i]) {
		i++
	}
	if i == len(p.text) || p.text[i] != ':' || i+1 < len(p.text) && !yamlSpace(p.text[i+1]) {
		return false
	}
	p.pos = i
	return true
}

// checkKey refuses a key without "?" that is too long.
func (p *yamlParser) checkKey(begin int) error {
	if p.pos-begin > maxYAMLKey && utf8.RuneCountInString(p.text[begin:p.pos]) > maxYAMLKey {
		return p.fail(begin, "a key of more than %d characters needs a ? before it", maxYAMLKey)
	}
	return nil
}

// define lets aliases refer to the node from here on, if it has an anchor.
func (p *yamlParser) define(node *yamlNode) *yamlNode {
	if name := node.anchor(); name != "" {
		if p.anchors == nil {
			p.anchors = map[string]*yamlNode{}
		}
		p.anchors[name] = node
	}
	return node
}

// blockSequence reads a sequence whose dashes stand at the column (YAML 1.2.2 section 8.2.1).
func (p *yamlParser) blockSequence(column int, props yamlProps) (*yamlNode, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	seq := p.define(p.node(yamlSequence, yamlBlock, p.pos, p.pos).with(props))
	seq.indent, seq.open = int32(column), true
	defer func() { seq.open = false }()
	for last := &seq.first; ; {
		p.pos++
		item, err := p.blockNode(column, true, false)
		if err != nil {
			return nil, err
		}
		*last, last = item, &item.next
		seq.end = max(item.end, item.begin())
		more, err := p.nextEntry(column)
		if err != nil {
			return nil, err
		}
		if !more || p.at(0) != '-' || !yamlSpace(p.at(1)) {
			return seq, nil
		}
	}
}

// nextEntry goes to the next line with content, and reports whether it is at the column.
func (p *yamlParser) nextEntry(column int) (bool, error) {
	p.separate()
	if p.pos == len(p.text) || p.marker() {
		return false, nil
	}
	spaces, tab := p.indentation()
	if spaces > column || tab && spaces == column {
		return false, p.strayText()
	}
	return spaces == column, nil
}

// blockMapping reads a mapping whose keys stand at the column (YAML 1.2.2 section 8.2.2). The first key
// may have been read.
func (p *yamlParser) blockMapping(column int, props yamlProps, key *yamlNode) (*yamlNode, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	begin := p.pos
	if key != nil {
		begin = int(key.begin())
	}
	mapping := p.define(p.node(yamlMapping, yamlBlock, begin, begin).with(props))
	mapping.indent, mapping.open = int32(column), true
	defer func() { mapping.open = false }()
	for last := &mapping.first; ; {
		var value *yamlNode
		var err error
		if key == nil && p.at(0) == '?' && yamlSpace(p.at(1)) {
			key, value, err = p.explicitPair(column)
		} else {
			key, value, err = p.implicitPair(column, key)
		}
		if err != nil {
			return nil, err
		}
		*last, key.next, last = key, value, &value.next
		mapping.end = max(value.end, value.begin())
		if more, err := p.nextEntry(column); err != nil || !more {
			return mapping, err
		}
		key = nil
	}
}

// explicitPair reads a pair whose key follows "?" (YAML 1.2.2 section 8.2.2).
func (p *yamlParser) explicitPair(column int) (key, value *yamlNode, err error) {
	p.pos++
	if key, err = p.blockNode(column, true, true); err != nil {
		return nil, nil, err
	}
	more, err := p.nextEntry(column)
	if err != nil {
		return nil, nil, err
	}
	if !more || p.at(0) != ':' || !yamlSpace(p.at(1)) {
		end := int(max(key.end, key.begin()))
		return key, p.node(yamlScalar, yamlPlain, end, end), nil
	}
	p.pos++
	value, err = p.blockNode(column, true, true)
	return key, value, err
}

// implicitPair reads a pair whose key needs no "?". The key may have been read.
func (p *yamlParser) implicitPair(column int, key *yamlNode) (*yamlNode, *yamlNode, error) {
	if key == nil {
		begin, line := p.pos, p.line
		props, err := p.properties(false, column)
		if err != nil {
			return nil, nil, err
		}
		if c := p.at(0); c == '-' && yamlSpace(p.at(1)) {
			return nil, nil, p.fail(p.pos, "a sequence cannot stand between the keys of a mapping")
		}
		if p.at(0) == ':' && yamlSpace(p.at(1)) {
			key = p.define(p.node(yamlScalar, yamlPlain, p.pos, p.pos).with(props))
		} else if key, err = p.inline(column, false, true, props); err != nil {
			return nil, nil, err
		}
		if !p.keyEnds() {
			return nil, nil, p.fail(begin, "a key was expected, but no colon follows it")
		}
		if p.line != line {
			return nil, nil, p.fail(begin, "a key cannot have several lines, unless ? stands before it")
		}
		if err := p.checkKey(begin); err != nil {
			return nil, nil, err
		}
	}
	p.pos++
	value, err := p.blockNode(column, false, true)
	return key, value, err
}
