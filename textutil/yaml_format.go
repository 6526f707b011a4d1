package textutil

import (
	"cmp"
	"slices"
)

// A YAMLFormatRequest asks for a YAML text in another layout.
type YAMLFormatRequest struct {
	// Text is valid UTF-8 of at most [MaxText] bytes.
	Text string `json:"text" maxlen:"1048576" doc:"the YAML text, valid UTF-8" example:"b:   1 # one\na: [x,y]"`

	// Indent is how many spaces each level has, 1 to 8. Nil means 2.
	Indent *int `json:"indent,omitempty" min:"1" max:"8" default:"2" doc:"spaces for each level"`

	// SortKeys asks for the pairs of mappings in the order of their keys by code points.
	SortKeys bool `json:"sort_keys,omitempty" default:"false" doc:"whether to sort the pairs of mappings by key"`
}

// FormatYAML returns a YAML text in another layout. Indentation and spacing change, and the order of
// pairs if asked for: comments, the style and the text of scalars, anchors, tags, directives and single
// empty lines survive. Nothing that aliases stand for is written out. A text that is no YAML is a report
// that says so. The error is an [InputError]; the limits are those of [YAMLToJSON].
func FormatYAML(req YAMLFormatRequest) (*YAMLReport, error) {
	indent, err := indentOr2(req.Indent, 1)
	if err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	reading := readYAML(req.Text)
	return reading.report(reading.format(indent, req.SortKeys, maxResult))
}

// format returns the text in another layout, of at most limit bytes.
func (r *yamlReading) format(indent int, sorted bool, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	if r.json {
		r.stream.placeJSON()
	} else if !r.stream.place() {
		return "", &yamlError{0, "the text cannot be formatted; it is not clear where its parts end"}
	}
	w := &yamlPrinter{yamlNoter: yamlNoter{yamlStream: r.stream, notes: map[*yamlNode]*yamlNotes{}},
		step: indent, limit: limit}
	w.out = make([]byte, 0, len(r.text)+len(r.text)/4+64)
	for i, doc := range r.stream.docs {
		w.sorted = sorted && w.sortable(doc)
		if sorted && !w.sorted && r.room() {
			r.add(Finding{Code: "text.yaml.keys.anchored", Severity: Info,
				Title:    "Sorting keys leaves anchors before their aliases",
				Detail:   "In a document it would not; the order of its keys has not been changed.",
				Location: &Location{Offset: doc.start, Length: 0}})
		}
		end := len(r.text)
		if i+1 < len(r.stream.docs) {
			end = r.stream.docs[i+1].start
		}
		w.document(doc, i, int32(end))
	}
	for _, c := range w.take(nil, int32(len(r.text)+1)) {
		w.comment(c, 0)
	}
	if len(w.out) > 0 {
		w.out = append(w.out, '\n')
	}
	if len(w.out) > limit {
		return "", invalid("text", "would become more than %d bytes with this layout; that is the most", limit)
	}
	return string(w.out), nil
}

// sortable reports whether anchors of a document still stand before their aliases when keys are sorted.
func (w *yamlPrinter) sortable(doc *yamlDocument) bool {
	if !doc.aliases {
		return true
	}
	anchors := map[string]*yamlNode{}
	var walk func(n *yamlNode) bool
	walk = func(n *yamlNode) bool {
		if n.kind == yamlAlias {
			return anchors[w.raw(n)[1:]] == n.first
		}
		if name := n.anchor(); name != "" {
			anchors[name] = n
		}
		if n.kind == yamlMapping {
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
	return walk(doc.root)
}

// A yamlSortKey is a pair of a mapping with its key as text; the value follows the key.
type yamlSortKey struct {
	name string
	key  *yamlNode
}

// sortedPairs returns the pairs of a mapping in the order of their keys. If one is a collection, the
// order is that of the text.
func (w *yamlPrinter) sortedPairs(n *yamlNode) []yamlSortKey {
	list := make([]yamlSortKey, 0, n.entryCount())
	scalars := true
	for key := n.first; key != nil; key = key.next.next {
		pair := yamlSortKey{key: key}
		if key := target(key); key.kind == yamlScalar {
			pair.name = w.keyText(key)
		} else {
			scalars = false
		}
		list = append(list, pair)
	}
	if scalars {
		slices.SortStableFunc(list, func(a, b yamlSortKey) int { return cmp.Compare(a.name, b.name) })
	}
	return list
}

// keyText returns a key that is a scalar as it is in JSON.
func (w *yamlPrinter) keyText(key *yamlNode) string {
	if key.tree == nil {
		return unquoteJSON(w.raw(key))
	}
	_, text, _ := w.resolve(key.tree)
	return text
}

// sort puts the pairs of all mappings inside a node into the order of their keys.
func (w *yamlPrinter) sort(n *yamlNode) {
	if n.kind == yamlMapping && n.first != nil {
		next := &n.first
		for _, pair := range w.sortedPairs(n) {
			*next, next = pair.key, &pair.key.next.next
		}
		*next = nil
	}
	for child := n.children(); child != nil; child = child.next {
		w.sort(child)
	}
}

// target returns what an alias stands for, or the node itself.
func target(n *yamlNode) *yamlNode {
	if n.kind == yamlAlias {
		return n.first
	}
	return n
}

// document writes a document, whose comments end before the limit.
func (w *yamlPrinter) document(doc *yamlDocument, index int, limit int32) {
	head := w.take(nil, int32(doc.start))
	if doc.start == int(doc.root.begin()) {
		head = w.leaveToFirst(doc.root, head)
	}
	for _, c := range head {
		w.comment(c, 0)
	}
	if len(doc.directives) > 0 && index > 0 {
		w.newline(0)
		w.out = append(w.out, "..."...)
	}
	for i, directive := range doc.directives {
		w.line(0, int32(doc.start), i > 0 || index > 0)
		w.out = append(w.out, directive...)
	}
	for _, c := range w.take(nil, int32(doc.marker)) {
		w.comment(c, 0)
	}
	root := doc.root
	w.root = root
	marked := doc.explicit || index > 0 || root.style == yamlPlain && yamlMarker(w.raw(root))
	if marked {
		w.line(0, int32(doc.start), len(doc.directives) > 0)
		w.out = append(w.out, "---"...)
	}
	if doc.explicit && w.behind(int32(doc.marker), root.begin()) {
		w.behindText(w.comments[w.next])
		w.next++
	}
	head = w.leaveToFirst(root, w.take(nil, root.begin()))
	w.node(root, root, -1, limit)
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
	w.value(root, -1, yamlComment{}, false)
	for _, c := range w.take(nil, limit) {
		w.comment(c, 0)
	}
}

// beginContent begins a line for the content of a document behind a comment.
func (w *yamlPrinter) beginContent(root *yamlNode) {
	w.top = root.begin()
	if len(w.out) == 0 || w.commented != len(w.out) || root.empty() && root.props == nil {
		return
	}
	switch {
	case root.style == yamlBlock && root.props == nil:
		if notes := w.notes[root.first]; notes != nil && len(notes.head) > 0 {
			w.top = notes.head[0].start
		}
		if w.emptyAbove(min(w.top, root.begin())) {
			w.out = append(w.out, '\n')
		}
	case yamlMarker(w.raw(root)):
		w.newline(w.step) // a plain scalar must not be taken for a marker
	default:
		w.newline(0)
	}
}

// leaveToFirst takes those comments from the head of a document that stand right above the first entry
// of its collection: they move with it when keys are sorted.
func (w *yamlPrinter) leaveToFirst(root *yamlNode, head []yamlComment) []yamlComment {
	if root.style != yamlBlock || root.props != nil {
		return head
	}
	first := len(head)
	for below := root.begin(); first > 0 && !w.emptyAbove(below); below = head[first].start {
		first--
	}
	if first < len(head) {
		w.of(root.first).head = head[first:]
	}
	return head[:first]
}
