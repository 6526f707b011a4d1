package textutil

import "unicode/utf8"

// inline reads an alias, a quoted or plain scalar or a flow collection, which gets the properties. Lines
// that it goes on to must be indented by more than n. A plain key has one line only.
func (p *yamlParser) inline(n int, flow, key bool, props yamlProps) (*yamlNode, error) {
	node, err := p.inlineContent(n, flow, key, props)
	if err != nil {
		return nil, err
	}
	if node.kind == yamlAlias && props.given() {
		return nil, p.fail(int(props.start), "an alias cannot have an anchor or a tag")
	}
	return p.define(node.with(props)), nil
}

func (p *yamlParser) inlineContent(n int, flow, key bool, props yamlProps) (*yamlNode, error) {
	switch c := p.at(0); c {
	case '*':
		return p.alias()
	case '"':
		return p.doubleQuoted(n)
	case '\'':
		return p.singleQuoted(n)
	case '[':
		return p.flowCollection(n, yamlSequence, props)
	case '{':
		return p.flowCollection(n, yamlMapping, props)
	case '-', '?', ':':
		if next := p.at(1); yamlSpace(next) || flow && yamlFlowMark(next) {
			return nil, p.fail(p.pos, "%q cannot stand here", c)
		}
	case '%', '@', '`':
		return nil, p.fail(p.pos, "a plain scalar cannot begin with %q; put it in quotes", c)
	case '|', '>':
		return nil, p.fail(p.pos, "a block scalar cannot stand in a flow collection or a key")
	case ',', ']', '}', '#', '&', '!':
		return nil, p.fail(p.pos, "%q cannot stand here", c)
	case 0:
		return nil, p.fail(p.pos, "the text ends where a value was expected")
	}
	return p.plain(n, flow, key), nil
}

// alias reads an alias (YAML 1.2.2 section 7.1).
func (p *yamlParser) alias() (*yamlNode, error) {
	begin := p.pos
	name, err := p.name("alias")
	if err != nil {
		return nil, err
	}
	target, ok := p.anchors[name]
	if !ok {
		return nil, p.fail(begin, "no anchor before is called %.40q", name)
	}
	if target.open {
		return nil, p.fail(begin, "the alias %.40s stands inside the node that it means", name)
	}
	node := p.node(yamlAlias, yamlPlain, begin, p.pos)
	node.first = target
	p.doc.aliases = true
	return node, nil
}

// flowSeparate skips white space and comments inside a flow collection. Its lines must be indented by
// more than n (YAML 1.2.2 section 6.9), except that a closing bracket may stand as far left as the
// collection around: the grammar does not allow it, but every reader does, and many people write so.
func (p *yamlParser) flowSeparate(n int) error {
	if !p.separate() || p.pos == len(p.text) {
		return nil
	}
	if p.marker() {
		return p.fail(p.pos, "a flow collection is not closed before the document ends")
	}
	spaces, tab := p.indentation()
	if spaces > n {
		return nil
	}
	if c := p.at(0); (c == ']' || c == '}') && spaces == n && !tab {
		p.closers = append(p.closers, p.pos)
		return nil
	}
	if tab {
		return p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	}
	return p.fail(p.pos, "a line of a flow collection must be indented by more than %d", n)
}

// flowCollection reads a sequence or mapping in brackets (YAML 1.2.2 section 7.4).
func (p *yamlParser) flowCollection(n int, kind yamlKind, props yamlProps) (*yamlNode, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	open := p.pos
	closer := p.at(0) + 2 // "]" behind "[", "}" behind "{"
	node := p.define(p.node(kind, yamlFlow, open, open).with(props))
	node.open = true
	p.pos++
	for last := &node.first; ; {
		if err := p.flowSeparate(n); err != nil {
			return nil, err
		}
		switch c := p.at(0); c {
		case closer:
			p.pos++
			node.end, node.open = int32(p.pos), false
			return node, nil
		case ',':
			return nil, p.fail(p.pos, "something must stand before a comma")
		case 0:
			return nil, p.unclosed(open)
		}
		entry, err := p.flowEntry(n, kind)
		if err != nil {
			return nil, err
		}
		*last = entry
		for *last != nil {
			last = &(*last).next
		}
		if err := p.flowSeparate(n); err != nil {
			return nil, err
		}
		switch c := p.at(0); c {
		case ',':
			p.pos++
		case closer:
		case 0:
			return nil, p.unclosed(open)
		case '#':
			return nil, p.fail(p.pos, "a comment must have a space before its #")
		default:
			return nil, p.fail(p.pos, "a comma or %q was expected", closer)
		}
	}
}

func (p *yamlParser) unclosed(open int) error {
	return p.fail(open, "%q is not closed", p.text[open])
}

// flowEntry reads an item of a sequence, or a key with its value behind it.
func (p *yamlParser) flowEntry(n int, kind yamlKind) (*yamlNode, error) {
	begin, line := p.pos, p.line
	var key *yamlNode
	var err error
	explicit := p.at(0) == '?' && yamlSpace(p.at(1))
	if explicit {
		p.pos++
		if err := p.flowSeparate(n); err != nil {
			return nil, err
		}
	}
	if key, err = p.flowNode(n); err != nil {
		return nil, err
	}
	if explicit && key.empty() && key.props == nil {
		key.start, key.end = int32(begin+1), int32(begin+1)
	}
	pair := explicit || kind == yamlMapping
	if pair {
		if err := p.flowSeparate(n); err != nil {
			return nil, err
		}
	}
	if p.flowKeyEnds(key) {
		if !pair && (p.line != line || !p.shortKey(begin)) {
			return nil, p.fail(begin, "a key in a sequence has one line of at most %d characters", maxYAMLKey)
		}
		p.pos++
		behind := int32(p.pos)
		if err := p.flowSeparate(n); err != nil {
			return nil, err
		}
		if key.next, err = p.flowNode(n); err != nil {
			return nil, err
		}
		if key.next.empty() && key.next.props == nil {
			key.next.start, key.next.end = behind, behind
		}
	} else if pair {
		end := int(max(key.end, key.begin()))
		key.next = p.node(yamlScalar, yamlPlain, end, end)
	}
	if kind == yamlSequence && key.next != nil {
		single := p.node(yamlMapping, yamlPair, begin, int(max(key.next.end, key.next.begin())))
		single.first = key
		return single, p.pairDepth()
	}
	return key, nil
}

// pairDepth counts the mapping of a single pair.
func (p *yamlParser) pairDepth() error {
	err := p.enter()
	if err == nil {
		p.leave()
	}
	return err
}

func (p *yamlParser) shortKey(begin int) bool {
	return p.pos-begin <= maxYAMLKey || utf8.RuneCountInString(p.text[begin:p.pos]) <= maxYAMLKey
}

// flowKeyEnds reports whether a colon is next that ends the key. Behind a key in quotes or brackets it
// needs no space (YAML 1.2.2 section 7.4.2).
func (p *yamlParser) flowKeyEnds(key *yamlNode) bool {
	i := p.pos
	for i < len(p.text) && yamlBlank(p.text[i]) {
		i++
	}
	if i == len(p.text) || p.text[i] != ':' {
		return false
	}
	next := byte(0)
	if i+1 < len(p.text) {
		next = p.text[i+1]
	}
	jsonLike := key.kind != yamlAlias && key.style != yamlPlain
	if !yamlSpace(next) && !yamlFlowMark(next) && !jsonLike {
		return false
	}
	p.pos = i
	return true
}

// flowNode reads a node inside a flow collection, which may be nothing at all.
func (p *yamlParser) flowNode(n int) (*yamlNode, error) {
	begin := p.pos
	props, err := p.properties(true, n)
	if err != nil {
		return nil, err
	}
	if props.given() {
		begin = max(int(props.anchorEnd), int(props.tagEnd))
	}
	switch c := p.at(0); {
	case c == ',' || c == ']' || c == '}', c == ':' && (yamlSpace(p.at(1)) || yamlFlowMark(p.at(1))):
		return p.define(p.node(yamlScalar, yamlPlain, begin, begin).with(props)), nil
	}
	return p.inline(n, true, false, props)
}
