package yaml

import "strings"

// maxDirectives bounds the directives of a document: no real document needs more, and a printer has to keep them.
const maxDirectives = 100

// stream reads all documents (YAML 1.2.2 section 9.2).
func (p *parser) stream() {
	for {
		p.separate()
		switch {
		case p.pos == p.line && strings.HasPrefix(p.Text[p.pos:], byteOrderMark):
			p.mark()
		case p.pos == len(p.Text):
			return
		case p.ended() && p.at(0) == '.':
			p.documentEnd()
		default:
			p.document()
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
func (p *parser) documentEnd() {
	p.pos += 3
	p.expectLineEnd("the end of the document")
}

// document reads a document with its directives, up to the marker of the next or the end of this one.
func (p *parser) document() {
	p.doc = &Document{Start: p.pos, marker: p.pos}
	p.Documents = append(p.Documents, p.doc)
	p.anchors, p.tags = nil, nil
	for p.pos == p.line && p.at(0) == '%' {
		p.directive()
		p.separate()
	}
	switch {
	case p.ended() && p.at(0) == '-':
		p.doc.marker, p.doc.explicit = p.pos, true
		p.pos += 3
	case len(p.doc.directives) > 0:
		last := p.doc.directives[len(p.doc.directives)-1]
		if !strings.HasPrefix(last, "%YAML") && !strings.HasPrefix(last, "%TAG") {
			p.fail(p.doc.Start, "a line that begins with %% is a directive; put text in quotes")
		}
		p.fail(p.pos, "a line with --- must follow the directives")
	}
	p.doc.Root = p.block(-1, root)
	if p.separate(); !p.ended() {
		if !p.isLineStart() {
			p.refuseUnexpected(theValue)
		}
		p.refuseStray()
	}
	if p.at(0) == '.' {
		p.documentEnd()
	}
}

// expectLineEnd refuses anything but a comment in what is left of the line.
func (p *parser) expectLineEnd(behind string) {
	begin := p.pos
	p.skipBlanks()
	if c := p.at(0); c != '\n' && c != 0 && (c != '#' || p.pos == begin) {
		p.refuseUnexpected(behind)
	}
}

// theValue is how messages call what is complete before other text on its line.
const theValue = "the value"

// refuseUnexpected explains text on the line of something that is complete.
func (p *parser) refuseUnexpected(behind string) {
	switch {
	case p.at(0) == '#':
		p.fail(p.pos, "a comment must have a space before its #")
	case p.isIndicator(':'):
		p.refuseCollection("a key with its colon")
	case behind == theValue:
		p.refuseAfterValue()
	}
	p.fail(p.pos, "unexpected text behind %s", behind)
}

// refuseStray explains text at the beginning of a line that belongs to nothing.
func (p *parser) refuseStray() {
	spaces, tab := p.indentation()
	switch c := p.at(0); {
	case tab:
		p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	case spaces > 0:
		p.refuseIndentation(spaces)
	case c == '%':
		p.fail(p.pos, "a line with ... must precede the directives of the next document")
	case c == ']' || c == '}':
		p.fail(p.pos, "nothing is open that %q could close; remove it", c)
	}
	p.fail(p.pos, "the document has ended, but there is more text; write --- on the line before it to begin another")
}

// directive reads a directive (YAML 1.2.2 section 6.8). Those that have no meaning here are left alone.
func (p *parser) directive() {
	start := p.pos
	line, _, _ := strings.Cut(p.Text[start:], "\n")
	p.pos += len(line)
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && isBlank(line[i-1]) {
			p.pos = start + i
			line = line[:i]
		}
	}
	line = strings.TrimRight(line, " \t")
	if p.doc.directives = append(p.doc.directives, line); len(p.doc.directives) > maxDirectives {
		p.fail(start, "the document has more than %d directives; that is the most", maxDirectives)
	}
	fields := strings.FieldsFunc(line[1:], func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(fields) == 0 || isBlank(line[1]):
		p.fail(start, "the directive has no name")
	case fields[0] == "TAG":
		p.tagDirective(start, fields[1:])
	case fields[0] == "YAML":
		p.version(start, fields[1:])
	}
}

// version reads the version of YAML (YAML 1.2.2 section 6.8.1).
func (p *parser) version(start int, params []string) {
	if p.doc.versioned {
		p.fail(start, "there is a second %%YAML directive")
	}
	p.doc.versioned = true
	if len(params) != 1 {
		p.fail(start, "the %%YAML directive needs a version and nothing else, such as %%YAML 1.2")
	}
	major, minor, ok := strings.Cut(params[0], ".")
	if !ok || !isDigits(major) || !isDigits(minor) || len(params[0]) > 9 {
		p.fail(start, "%.20q is not a version of YAML", params[0])
	}
	if major != "1" {
		p.fail(start, "version %s of YAML is unknown", params[0])
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// tagDirective reads the meaning of a tag handle (YAML 1.2.2 section 6.8.2).
func (p *parser) tagDirective(start int, params []string) {
	if len(params) != 2 {
		p.fail(start, "the %%TAG directive needs a handle and a prefix")
	}
	handle, prefix := params[0], params[1]
	if !tagHandle().MatchString(handle) {
		p.fail(start, "%.40q is not a tag handle", handle)
	}
	if strings.IndexFunc(prefix, notURI) >= 0 || strings.ContainsAny(prefix[:1], ",[]{}") {
		p.fail(start, "%.40q is not a prefix of tags", prefix)
	}
	decoded := p.decodeTag(prefix, start, "prefix", prefix)
	if _, ok := p.doc.handles[handle]; ok {
		p.fail(start, "the tag handle %.40s has a meaning already", handle)
	}
	if p.doc.handles == nil {
		p.doc.handles = map[string]string{}
	}
	p.doc.handles[handle] = decoded
}

type nodeComments struct {
	head []comment // on lines before the entry
	line comment   // behind the node, or behind the key of a block collection; none if its end is 0
	foot []comment // behind the last entry of a collection
}

// A commentPlacer finds for each comment of a document the node that it belongs to. It walks through
// the tree and the comments in the order of the text, so no comment is lost.
type commentPlacer struct {
	*Stream
	notes map[*Node]*nodeComments
	next  int // index of the first comment that has no node yet
}

func (w *commentPlacer) commentsFor(n *Node) *nodeComments {
	notes := w.notes[n]
	if notes == nil {
		notes = &nodeComments{}
		w.notes[n] = notes
	}
	return notes
}

// commentsOf returns the comments of a node, if it has any.
func (w *commentPlacer) commentsOf(n *Node) nodeComments {
	if notes := w.notes[n]; notes != nil {
		return *notes
	}
	return nodeComments{}
}

func (w *commentPlacer) hasComments(n *Node) bool {
	notes := w.commentsOf(n)
	return notes.line.end > 0 || len(notes.foot) > 0
}

// hasMore reports whether there is a comment before the offset.
func (w *commentPlacer) hasMore(limit int32) bool {
	return w.next < len(w.comments) && w.comments[w.next].start < limit
}

// take appends the comments before the offset to the list.
func (w *commentPlacer) take(list []comment, limit int32) []comment {
	for w.hasMore(limit) {
		list = append(list, w.comments[w.next])
		w.next++
	}
	return list
}

// addToHead puts the comments before the offset at the head of an entry.
func (w *commentPlacer) addToHead(entry *Node, limit int32) {
	if w.hasMore(limit) {
		w.commentsFor(entry).head = w.take(w.commentsFor(entry).head, limit)
	}
}

// isOnLine reports whether the next comment is before the limit, on the line on which something ends.
func (w *commentPlacer) isOnLine(end, limit int32) bool {
	if !w.hasMore(limit) {
		return false
	}
	c := w.comments[w.next]
	return !c.own && c.start >= end && !strings.Contains(w.Text[end:c.start], "\n")
}

// takeTrailing makes the next comment the one behind the node.
func (w *commentPlacer) takeTrailing(n *Node) {
	w.commentsFor(n).line = w.comments[w.next]
	w.next++
}

// placeInNode gives a node its comments, which are before the limit. Comments that have no place in it go to
// the head of its entry. Outer is the column of the collection around.
func (w *commentPlacer) placeInNode(entry, n *Node, outer int, limit int32) {
	if !w.hasMore(limit) {
		return
	}
	switch {
	case n.First() != nil && n.style == Block:
		if n.props != nil && w.commentsFor(entry).line.end == 0 && w.isOnLine(max(n.props.anchorEnd, n.props.tagEnd), limit) {
			w.takeTrailing(n)
		}
		w.placeInEntries(n, limit)
		for w.hasMore(limit) && w.comments[w.next].own && w.column(w.comments[w.next]) >= max(int(n.indent), outer+1) {
			w.commentsFor(n).foot = append(w.commentsFor(n).foot, w.comments[w.next])
			w.next++
		}
		return
	case n.style == pair:
		w.placeInPair(entry, n)
	case n.kind == Sequence || n.kind == Mapping:
		w.addToHead(entry, n.start)
		w.placeInEntries(n, n.end)
		if w.hasMore(n.end) {
			w.commentsFor(n).foot = w.take(nil, n.end)
		}
	case n.style == literal || n.style == folded:
		w.addToHead(entry, n.start)
		if w.hasMore(n.end) {
			w.takeTrailing(n)
		}
		return
	default:
		w.addToHead(entry, n.start)
	}
	if w.isOnLine(n.end, limit) {
		w.takeTrailing(n)
	}
}

// placeInPair gives a pair that is an item of a sequence its comments: all but those of collections inside go to
// the head of the item.
func (w *commentPlacer) placeInPair(entry, n *Node) {
	key, value := n.first, n.first.next
	for i, part := range []*Node{key, value} {
		w.addToHead(entry, part.begin())
		end := n.end
		if i == 0 {
			end = value.begin()
		}
		w.placeInNode(entry, part, 0, end)
		if line := w.commentsOf(part).line; line.end > 0 {
			w.commentsFor(entry).head = append(w.commentsFor(entry).head, line)
			w.commentsFor(part).line = comment{}
		}
	}
	w.addToHead(entry, n.end)
}

// column returns how many bytes there are before a comment on its line.
func (w *commentPlacer) column(c comment) int {
	return int(c.start) - strings.LastIndexByte(w.Text[:c.start], '\n') - 1
}

// placeInEntries gives the entries of a collection their comments, which are before the limit.
func (w *commentPlacer) placeInEntries(n *Node, limit int32) {
	for entry := n.first; entry != nil && w.hasMore(limit); {
		w.addToHead(entry, entry.begin())
		last := entry
		if n.kind == Mapping {
			last = entry.next
		}
		end := limit
		if last.next != nil {
			end = last.next.begin()
		}
		switch {
		case n.kind == Sequence || last.absent:
			w.placeInNode(entry, entry, int(n.indent), end)
		default:
			w.placeInNode(entry, entry, int(n.indent), w.colon(entry.end, last.begin()))
			w.placeBetween(entry, last)
			w.placeInNode(entry, last, int(n.indent), end)
		}
		entry = last.next
	}
}

// colon returns the offset of the colon behind a key, or the limit without one.
func (w *commentPlacer) colon(end, limit int32) int32 {
	for i := end; i < limit; i++ {
		switch c := w.Text[i]; {
		case c == ':':
			return i
		case c == '#':
			i += int32(strings.IndexByte(w.Text[i:], '\n'))
		case !isSpace(c):
			return limit
		}
	}
	return limit
}

// placeBetween places the comments between a key and its value: behind the key, if a block collection
// follows; otherwise at the head of the entry.
func (w *commentPlacer) placeBetween(key, value *Node) {
	block := value.style == Block
	if notes := w.notes[key]; !block && notes != nil && notes.line.end > 0 &&
		(key.style < literal || key.style > Block) {
		notes.head = append(notes.head, notes.line)
		notes.line = comment{}
	}
	if !w.hasMore(value.begin()) {
		return
	}
	switch {
	case !block:
		w.addToHead(key, value.begin())
	case w.commentsFor(key).line.end == 0 && w.isOnLine(key.end, value.begin()):
		w.takeTrailing(key)
	}
}
