package yaml

import (
	"cmp"
	"slices"
)

// A Layout is how [Stream.Format] prints a text.
type Layout struct {
	Indent   int  // spaces for each level, 1 to 8
	SortKeys bool // orders the pairs of mappings by the code points of their keys
	Limit    int  // bytes of the result; what is longer is cut somewhere behind
}

// Format returns the text in another layout. Indentation and spacing change, and the order of pairs if asked
// for. A document in which sorting would leave aliases before their anchors stays in its order: it is in the
// list of those left unsorted.
func (s *Stream) Format(layout Layout) (text string, unsorted []*Document) {
	w := &printer{
		commentPlacer: commentPlacer{Stream: s, notes: map[*Node]*nodeComments{}}, step: layout.Indent, limit: layout.Limit,
	}
	w.out = make([]byte, 0, len(s.Text)+len(s.Text)/4+64)
	for i, doc := range s.Documents {
		w.sorted = layout.SortKeys && w.isSortable(doc)
		if layout.SortKeys && !w.sorted {
			unsorted = append(unsorted, doc)
		}
		end := len(s.Text)
		if i+1 < len(s.Documents) {
			end = s.Documents[i+1].Start
		}
		w.document(doc, i, int32(end))
	}
	for _, c := range w.take(nil, int32(len(s.Text)+1)) {
		w.comment(c, 0)
	}
	if len(w.out) > 0 {
		w.out = append(w.out, '\n')
	}
	return string(w.out), unsorted
}

// isSortable reports whether anchors of a document still precede their aliases when keys are sorted.
func (w *printer) isSortable(doc *Document) bool {
	if !doc.aliases {
		return true
	}
	anchors := map[string]*Node{}
	var walk func(n *Node) bool
	walk = func(n *Node) bool {
		if n.kind == alias {
			return anchors[w.raw(n)[1:]] == n.first
		}
		if name := n.Anchor(); name != "" {
			anchors[name] = n
		}
		if n.kind == Mapping {
			for _, pair := range w.sortedPairs(n) {
				if !walk(pair.key) || !walk(pair.key.next) {
					return false
				}
			}
			return true
		}
		for child := n.first; child != nil; child = child.next {
			if !walk(child) {
				return false
			}
		}
		return true
	}
	return walk(doc.Root)
}

// A sortKey is a pair of a mapping with its key as text; the value follows the key.
type sortKey struct {
	name string
	key  *Node
}

// sortedPairs returns the pairs of a mapping in the order of their keys. If one is a collection, the
// order is that of the text.
func (w *printer) sortedPairs(n *Node) []sortKey {
	list := make([]sortKey, 0, n.Len())
	scalars := true
	for key := n.first; key != nil; key = key.next.next {
		pair := sortKey{key: key}
		if key := key.Target(); key.kind == Scalar {
			_, pair.name, _ = w.Resolve(key)
		} else {
			scalars = false
		}
		list = append(list, pair)
	}
	if scalars {
		slices.SortStableFunc(list, func(a, b sortKey) int { return cmp.Compare(a.name, b.name) })
	}
	return list
}

// sort puts the pairs of all mappings inside a node into the order of their keys.
func (w *printer) sort(n *Node) {
	if n.kind == Mapping && n.first != nil {
		next := &n.first
		for _, pair := range w.sortedPairs(n) {
			*next, next = pair.key, &pair.key.next.next
		}
		*next = nil
	}
	for child := n.First(); child != nil; child = child.next {
		w.sort(child)
	}
}

// document writes a document, whose comments end before the limit.
func (w *printer) document(doc *Document, index int, limit int32) {
	head := w.take(nil, int32(doc.Start))
	if doc.Start == int(doc.Root.begin()) {
		head = w.moveToFirst(doc.Root, head)
	}
	for _, c := range head {
		w.comment(c, 0)
	}
	if len(doc.directives) > 0 && index > 0 {
		w.newline(0)
		w.out = append(w.out, "..."...)
	}
	for i, directive := range doc.directives {
		w.line(0, int32(doc.Start), i > 0 || index > 0)
		w.out = append(w.out, directive...)
	}
	for _, c := range w.take(nil, int32(doc.marker)) {
		w.comment(c, 0)
	}
	root := doc.Root
	w.root = root
	marked := doc.explicit || index > 0 || root.style == Plain && isMarker(w.raw(root))
	if marked {
		w.line(0, int32(doc.Start), len(doc.directives) > 0)
		w.out = append(w.out, "---"...)
	}
	if doc.explicit && w.isOnLine(int32(doc.marker), root.begin()) {
		w.behindText(w.comments[w.next])
		w.next++
	}
	head = w.moveToFirst(root, w.take(nil, root.begin()))
	w.placeInNode(root, root, -1, limit)
	if notes := w.notes[root]; notes != nil {
		head, notes.head = append(head, notes.head...), nil
	}
	for _, c := range head {
		w.comment(c, 0)
	}
	w.beginContent(root)
	if w.sorted {
		w.sort(root)
	}
	w.value(root, -1, comment{}, false)
	for _, c := range w.take(nil, limit) {
		w.comment(c, 0)
	}
}

func (w *printer) beginContent(root *Node) {
	w.top = root.begin()
	if len(w.out) == 0 || w.commented != len(w.out) || root.isBlank() && root.props == nil {
		return
	}
	switch {
	case root.style == Block && root.props == nil:
		if head := w.commentsOf(root.first).head; len(head) > 0 {
			w.top = head[0].start
		}
		if w.isEmptyAbove(min(w.top, root.begin())) {
			w.out = append(w.out, '\n')
		}
	case isMarker(w.raw(root)):
		w.newline(w.step) // a plain scalar must not be taken for a marker
	default:
		w.newline(0)
	}
}

// moveToFirst takes those comments from the head of a document directly above the first entry
// of its collection: they move with it when keys are sorted.
func (w *printer) moveToFirst(root *Node, head []comment) []comment {
	if root.style != Block || root.props != nil {
		return head
	}
	first := len(head)
	for below := root.begin(); first > 0 && !w.isEmptyAbove(below); below = head[first].start {
		first--
	}
	if first < len(head) {
		w.commentsFor(root.first).head = head[first:]
	}
	return head[:first]
}
