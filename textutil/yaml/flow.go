package yaml

// flowSeparate skips white space and comments inside a flow collection that opens at the offset. Its lines
// must be indented by more than n (YAML 1.2.2 section 6.9).
func (p *parser) flowSeparate(n, open int) error {
	crossed := p.separate()
	if p.pos == len(p.Text) {
		return p.fail(open, "%q is not closed", p.Text[open])
	}
	if !crossed {
		return nil
	}
	if p.ended() {
		return p.fail(p.pos, "a flow collection is not closed before the document ends")
	}
	spaces, tab := p.indentation()
	switch c := p.at(0); {
	case spaces > n:
		return nil
	case tab:
		return p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	case c == ']' || c == '}':
		return p.fail(p.pos, "this %q must be indented by more than %d; YAML 1.2 does not allow it here, "+
			"though some readers do", c, n)
	}
	return p.fail(p.pos, "a line of a flow collection must be indented by more than %d", n)
}

// flow reads a sequence or a mapping in brackets (YAML 1.2.2 section 7.4), in a block collection at column n.
func (p *parser) flow(n int, props *properties) (*Node, error) {
	open, kind, entry := p.pos, Sequence, p.flowItem
	if p.at(0) == '{' {
		kind, entry = Mapping, p.flowPair
	}
	closer := p.Text[open] + 2 // "]" behind "[", "}" behind "{"
	node, err := p.collection(kind, flow, open, props)
	if err != nil {
		return nil, err
	}
	list := tail{next: &node.first}
	p.pos++
	for {
		if err := p.flowSeparate(n, open); err != nil {
			return nil, err
		}
		switch c := p.at(0); c {
		case closer:
			p.pos++
			return p.close(node, p.pos), nil
		case ']', '}':
			return nil, p.fail(p.pos, "a comma or %q was expected", closer)
		case ',':
			return nil, p.fail(p.pos, "something must stand before a comma")
		}
		if err := entry(n, open, &list); err != nil {
			return nil, err
		}
		if err := p.flowSeparate(n, open); err != nil {
			return nil, err
		}
		switch p.at(0) {
		case ',':
			p.pos++
		case closer:
		case '#':
			return nil, p.fail(p.pos, "a comment must have a space before its #")
		default:
			return nil, p.fail(p.pos, "a comma or %q was expected", closer)
		}
	}
}

func (p *parser) flowPair(n, open int, list *tail) error {
	if p.indicates('?') {
		p.pos++
		if err := p.flowSeparate(n, open); err != nil {
			return err
		}
	}
	key, err := p.flowNode(n, open)
	if err != nil {
		return err
	}
	if err := p.flowSeparate(n, open); err != nil {
		return err
	}
	return p.flowValue(n, open, key, list)
}

func (p *parser) flowValue(n, open int, key *Node, list *tail) (err error) {
	var value *Node
	switch colon, err := p.flowColon(key); {
	case err != nil:
		return err
	case colon:
		p.pos++
		begin := p.pos
		if err := p.flowSeparate(n, open); err != nil {
			return err
		}
		if c := p.at(0); c == ',' || c == ']' || c == '}' {
			value, err = p.missing(nil, begin)
		} else {
			value, err = p.flowNode(n, open)
		}
		if err != nil {
			return err
		}
	default:
		if value, err = p.missing(nil, int(key.end)); err != nil {
			return err
		}
		value.absent = true
	}
	list.add(key, value)
	return nil
}

// flowColon reports whether a colon is next that makes a key of the node before. Behind one in quotes or
// brackets it needs no space (YAML 1.2.2 section 7.4.2).
func (p *parser) flowColon(key *Node) (bool, error) {
	switch next := p.at(1); {
	case p.at(0) != ':':
		return false, nil
	case isSpace(next) || isMark(next) || key.style == single || key.style == double || key.style == flow:
		return true, nil
	}
	return false, p.fail(p.pos, "a colon behind a key needs a space after it")
}

// flowItem reads an item of a flow sequence, which may be a pair.
func (p *parser) flowItem(n, open int, list *tail) error {
	begin, line := p.pos, p.line
	if p.indicates('?') {
		pair, err := p.collection(Mapping, pair, begin, nil)
		if err != nil {
			return err
		}
		inside := tail{next: &pair.first}
		if err := p.flowPair(n, open, &inside); err != nil {
			return err
		}
		list.add(p.close(pair, int(inside.last.end)))
		return nil
	}
	child, err := p.flowNode(n, open)
	if err != nil {
		return err
	}
	if err := p.flowSeparate(n, open); err != nil {
		return err
	}
	colon, err := p.flowColon(child)
	if err != nil {
		return err
	}
	if !colon {
		list.add(child)
		return nil
	}
	if p.line != line || !isShort(p.Text[begin:p.pos]) {
		return p.fail(begin, "a key in a sequence has one line of at most %d characters", MaxKey)
	}
	pair, err := p.collection(Mapping, pair, begin, nil)
	if err != nil {
		return err
	}
	inside := tail{next: &pair.first}
	if err := p.flowValue(n, open, child, &inside); err != nil {
		return err
	}
	list.add(p.close(pair, int(inside.last.end)))
	return nil
}

// flowNode reads a node inside a flow collection. Nothing need be written for one before a colon.
func (p *parser) flowNode(n, open int) (*Node, error) {
	var props *properties
	for p.at(0) == '&' || p.at(0) == '!' {
		var err error
		if props, err = p.property(props, true); err != nil {
			return nil, err
		}
		if err := p.flowSeparate(n, open); err != nil {
			return nil, err
		}
	}
	next := p.at(1)
	bare := isSpace(next) || isMark(next)
	switch c := p.at(0); {
	case c == ',' || c == ']' || c == '}' || c == ':' && bare:
		return p.missing(props, p.pos)
	case bare && c == '-':
		return nil, p.fail(p.pos, "a dash alone is no value; put it in quotes, or write null")
	case bare && c == '?':
		return nil, p.fail(p.pos, "%q cannot stand here", c)
	case c == '|' || c == '>':
		return nil, p.fail(p.pos, "a block scalar cannot stand in a flow collection or a key")
	case c == '"' || c == '\'' || c == '*' || c == '[' || c == '{' || c == '#' || c == '%' || c == '@' || c == '`':
		return p.content(n, props)
	}
	return p.plain(n, true, props)
}
