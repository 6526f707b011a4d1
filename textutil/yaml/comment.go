package yaml

import "strings"

type remarks struct {
	head []comment // on lines before the entry
	line comment   // behind the node, or behind the key of a block collection; none if its end is 0
	foot []comment // behind the last entry of a collection
}

// A noter finds for each comment of a document the node that it belongs to. It walks through
// the tree and the comments in the order of the text, so no comment is lost.
type noter struct {
	*Stream
	notes map[*Node]*remarks
	next  int // index of the first comment that has no node yet
}

func (w *noter) of(n *Node) *remarks {
	notes := w.notes[n]
	if notes == nil {
		notes = &remarks{}
		w.notes[n] = notes
	}
	return notes
}

func (w *noter) noted(n *Node) bool {
	notes := w.notes[n]
	return notes != nil && (notes.line.end > 0 || len(notes.foot) > 0)
}

// more reports whether there is a comment before the offset.
func (w *noter) more(limit int32) bool {
	return w.next < len(w.comments) && w.comments[w.next].start < limit
}

// take appends the comments before the offset to the list.
func (w *noter) take(list []comment, limit int32) []comment {
	for w.more(limit) {
		list = append(list, w.comments[w.next])
		w.next++
	}
	return list
}

// behind reports whether the next comment is before the limit, on the line on which something ends.
func (w *noter) behind(end, limit int32) bool {
	if !w.more(limit) {
		return false
	}
	c := w.comments[w.next]
	return !c.own && c.start >= end && !strings.Contains(w.Text[end:c.start], "\n")
}

// takeLine makes the next comment the one behind the node.
func (w *noter) takeLine(n *Node) {
	w.of(n).line = w.comments[w.next]
	w.next++
}

// node gives a node its comments, which are before the limit. Comments that have no place in it go to
// the head of its entry. Outer is the column of the collection around.
func (w *noter) node(entry, n *Node, outer int, limit int32) {
	if !w.more(limit) {
		return
	}
	switch {
	case n.First() != nil && n.style == Block:
		if n.props != nil && w.of(entry).line.end == 0 && w.behind(max(n.props.anchorEnd, n.props.tagEnd), limit) {
			w.takeLine(n)
		}
		w.entries(n, limit)
		for w.more(limit) && w.comments[w.next].own && w.column(w.comments[w.next]) >= max(int(n.indent), outer+1) {
			w.of(n).foot = append(w.of(n).foot, w.comments[w.next])
			w.next++
		}
		return
	case n.style == pair:
		w.pair(entry, n)
	case n.kind == Sequence || n.kind == Mapping:
		if w.more(n.start) {
			w.of(entry).head = w.take(w.of(entry).head, n.start)
		}
		w.entries(n, n.end)
		if w.more(n.end) {
			w.of(n).foot = w.take(nil, n.end)
		}
	case n.style == literal || n.style == folded:
		if w.more(n.start) {
			w.of(entry).head = w.take(w.of(entry).head, n.start)
		}
		if w.more(n.end) {
			w.takeLine(n)
		}
		return
	case w.more(n.start):
		w.of(entry).head = w.take(w.of(entry).head, n.start)
	}
	if w.behind(n.end, limit) {
		w.takeLine(n)
	}
}

// pair gives a pair that is an item of a sequence its comments: all but those of collections inside go to
// the head of the item.
func (w *noter) pair(entry, n *Node) {
	key, value := n.first, n.first.next
	for i, part := range []*Node{key, value} {
		if w.more(part.begin()) {
			w.of(entry).head = w.take(w.of(entry).head, part.begin())
		}
		end := n.end
		if i == 0 {
			end = value.begin()
		}
		w.node(entry, part, 0, end)
		if notes := w.notes[part]; notes != nil && notes.line.end > 0 {
			w.of(entry).head = append(w.of(entry).head, notes.line)
			notes.line = comment{}
		}
	}
	if w.more(n.end) {
		w.of(entry).head = w.take(w.of(entry).head, n.end)
	}
}

// column returns how many bytes there are before a comment on its line.
func (w *noter) column(c comment) int {
	return int(c.start) - strings.LastIndexByte(w.Text[:c.start], '\n') - 1
}

// entries gives the entries of a collection their comments, which are before the limit.
func (w *noter) entries(n *Node, limit int32) {
	for entry := n.first; entry != nil && w.more(limit); {
		if w.more(entry.begin()) {
			w.of(entry).head = w.take(w.of(entry).head, entry.begin())
		}
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
			w.node(entry, entry, int(n.indent), end)
		default:
			w.node(entry, entry, int(n.indent), w.colon(entry.end, last.begin()))
			w.between(entry, last)
			w.node(entry, last, int(n.indent), end)
		}
		entry = last.next
	}
}

// colon returns where the colon behind a key is, or the limit if there is none.
func (w *noter) colon(end, limit int32) int32 {
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

// between places the comments between a key and its value: behind the key, if a block collection
// follows; otherwise at the head of the entry.
func (w *noter) between(key, value *Node) {
	block := value.style == Block
	if notes := w.notes[key]; !block && notes != nil && notes.line.end > 0 &&
		(key.style < literal || key.style > Block) {
		notes.head = append(notes.head, notes.line)
		notes.line = comment{}
	}
	if !w.more(value.begin()) {
		return
	}
	if block && w.of(key).line.end == 0 && w.behind(key.end, value.begin()) {
		w.takeLine(key)
	}
	if !block {
		w.of(key).head = w.take(w.of(key).head, value.begin())
	}
}
