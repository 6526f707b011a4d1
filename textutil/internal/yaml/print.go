package yaml

import (
	"bytes"
	"slices"
	"strings"
)

// A printer writes documents in a new layout. Scalars are written as they are in the text, but for
// the indentation of their lines, so that each means the same.
type printer struct {
	commentPlacer
	out       []byte
	step      int // spaces for each level
	limit     int // of bytes; beyond it, no entry is written
	sorted    bool
	root      *Node // of the document
	top       int32 // offset of its first comment or entry, whose empty line is written
	kept      int   // length of the output behind a scalar to which empty lines would belong
	commented int   // length of the output behind the last comment
}

func (w *printer) newline(column int) {
	if len(w.out) > 0 {
		w.out = AppendNewline(w.out, column)
	}
}

// line begins a line at the column for what is at the offset of the text. An empty line before that
// stays, unless it is the first of a collection.
func (w *printer) line(column int, offset int32, first bool) {
	if !first && offset != w.top && len(w.out) > 0 && len(w.out) != w.kept && w.isEmptyAbove(offset) {
		w.out = append(w.out, '\n')
	}
	w.newline(column)
}

// isEmptyAbove reports whether the line before that with the offset is empty.
func (w *printer) isEmptyAbove(offset int32) bool {
	end := strings.LastIndexByte(w.Text[:offset], '\n')
	if end < 0 {
		return false
	}
	begin := strings.LastIndexByte(w.Text[:end], '\n') + 1
	return strings.Trim(w.Text[begin:end], " \t") == ""
}

func (w *printer) comment(c comment, column int) {
	w.line(column, c.start, false)
	w.commentText(c)
}

func (w *printer) commentText(c comment) {
	w.out = append(w.out, strings.TrimRight(w.Text[c.start:c.end], " \t")...)
	w.commented = len(w.out)
}

func (w *printer) behindText(c comment) {
	if c.end > 0 {
		w.space()
		w.commentText(c)
	}
}

// space separates what is on the line from what follows.
func (w *printer) space() {
	if n := len(w.out); n > 0 && w.out[n-1] != ' ' && w.out[n-1] != '\n' {
		w.out = append(w.out, ' ')
	}
}

func (w *printer) properties(n *Node) {
	if n.props == nil {
		return
	}
	words := []string{n.props.tagText, "&" + n.props.anchor}
	if n.props.tagEnd > n.props.anchorEnd {
		slices.Reverse(words)
	}
	for _, word := range words {
		if word != "" && word != "&" {
			w.space()
			w.out = append(w.out, word...)
		}
	}
}

// value writes a node behind an indicator of a collection at the column, or as a document if that is -1.
// A comment goes behind the indicator. A collection may begin on the line if compact is set.
func (w *printer) value(n *Node, column int, behind comment, compact bool) {
	deeper := w.step
	if column >= 0 {
		deeper += column
	}
	notes := w.commentsOf(n)
	w.properties(n)
	switch {
	case n.style == Block:
		w.behindText(behind)
		if behind.end == 0 {
			w.behindText(notes.line)
		}
		switch {
		case column < 0:
			deeper = 0
		case compact && n.props == nil && notes.line.end == 0 && len(w.commentsOf(n.first).head) == 0:
			deeper = column + 2
			w.space()
		default:
			compact = false
		}
		w.block(n, deeper, compact)
		for _, c := range notes.foot {
			w.comment(c, deeper)
		}
		return
	case n.style == literal || n.style == folded:
		w.space()
		w.blockScalar(n, deeper, notes.line)
		return
	case n.kind == Sequence || n.kind == Mapping:
		w.space()
		if column < 0 {
			deeper = 0
		}
		w.flow(n, deeper)
	case !n.isBlank():
		w.space()
		w.inlineScalar(n, deeper)
	}
	w.behindText(notes.line)
}

// block writes the entries of a block collection at the column. The first begins on the line if compact is set.
func (w *printer) block(n *Node, column int, compact bool) {
	for entry := n.first; entry != nil && len(w.out) <= w.limit; entry = entry.next {
		begun := entry != n.first
		first := !begun && w.commented != len(w.out)
		for _, c := range w.heads(entry) {
			w.line(column, c.start, first)
			w.commentText(c)
			first, compact = false, false
		}
		if begun || !compact {
			w.line(column, entry.begin(), first)
		}
		if n.kind == Sequence {
			w.out = append(w.out, '-')
			w.value(entry, column, comment{}, true)
		} else {
			w.pair(entry, entry.next, column)
			entry = entry.next
		}
	}
}

// heads returns the comments on lines before an entry, with those before the first entries of collections
// that begin on its line.
func (w *printer) heads(entry *Node) []comment {
	var list []comment
	if notes := w.notes[entry]; notes != nil {
		list, notes.head = notes.head, nil
	}
	if entry.style == Block && entry.props == nil && w.commentsOf(entry).line.end == 0 {
		list = append(list, w.heads(entry.first)...)
	}
	return list
}

// pair writes a pair of a block mapping. A key that has several lines or is long needs an indicator.
func (w *printer) pair(key, value *Node, column int) {
	behind, begin := w.commentsOf(key).line, len(w.out)
	if !w.needsIndicator(key, value, behind) {
		w.flowKey(key, column)
		if text := w.out[begin:]; len(text) <= MaxKey && !bytes.Contains(text, []byte{'\n'}) {
			w.value(value, column, behind, false)
			return
		}
		w.out = w.out[:begin]
	}
	w.out = append(w.out, '?')
	w.value(key, column, comment{}, true)
	if value.isBlank() && value.props == nil && !w.hasComments(value) {
		return
	}
	w.newline(column)
	w.out = append(w.out, ':')
	w.value(value, column, comment{}, true)
}

// needsIndicator reports whether a key cannot be written without "?": it is not a flow node, or would be
// taken for something else, or there is a comment between it and its value.
func (w *printer) needsIndicator(key, value *Node, behind comment) bool {
	return key.style == Block || key.style == literal || key.style == folded ||
		key.isBlank() && key.props == nil || isMarker(w.raw(key)) || behind.end > 0 && value.style != Block
}

func (w *printer) flowKey(key *Node, column int) {
	w.flowValue(key, column)
	if key.kind == alias || key.isBlank() && key.props != nil {
		w.out = append(w.out, ' ')
	}
	w.out = append(w.out, ':')
}

// flowValue writes a node inside a flow collection, whose brackets may be at the column.
func (w *printer) flowValue(n *Node, column int) {
	w.properties(n)
	if n.props != nil && !n.isBlank() {
		w.space()
	}
	switch {
	case n.style == pair:
		w.flowPair(n.first, n.first.next, column, true)
	case n.kind == Sequence || n.kind == Mapping:
		w.flow(n, column)
	default:
		w.inlineScalar(n, column+w.step)
	}
}

// flowPair writes a pair of a flow mapping, or one that is an item of a sequence.
func (w *printer) flowPair(key, value *Node, column int, item bool) {
	none := value.absent
	begin := len(w.out)
	if none && (item || key.isBlank() && key.props == nil) {
		w.out = append(w.out, '?', ' ')
	}
	if none {
		w.flowValue(key, column)
		return
	}
	w.flowKey(key, column)
	if item && bytes.IndexByte(w.out[begin:], '\n') >= 0 {
		// A key of several lines needs an indicator here (YAML 1.2.2 section 7.4.2).
		w.out = slices.Insert(w.out, begin, '?', ' ')
	}
	w.out = append(w.out, ' ')
	w.flowValue(value, column)
}

// flow writes a flow collection, on one line if the text has it so.
func (w *printer) flow(n *Node, column int) {
	open := w.Text[n.start]
	w.out = append(w.out, open)
	lines := strings.Contains(w.raw(n), "\n") && (n.first != nil || w.hasComments(n))
	for entry := n.first; entry != nil && len(w.out) <= w.limit; entry = entry.next {
		if lines {
			w.flowHead(entry, column+w.step)
		} else if entry != n.first {
			w.out = append(w.out, ' ')
		}
		noted := entry
		if n.kind == Sequence {
			w.flowValue(entry, column+w.step)
		} else {
			w.flowPair(entry, entry.next, column+w.step, false)
			if entry = entry.next; !entry.absent {
				noted = entry
			}
		}
		if entry.next != nil {
			w.out = append(w.out, ',')
		}
		w.behindText(w.commentsOf(noted).line)
	}
	if lines {
		for _, c := range w.commentsOf(n).foot {
			w.comment(c, column+w.step)
		}
		w.newline(column)
	}
	w.out = append(w.out, open+2) // "]" behind "[", "}" behind "{"
}

func (w *printer) flowHead(entry *Node, column int) {
	for _, c := range w.commentsOf(entry).head {
		w.newline(column)
		w.commentText(c)
	}
	w.newline(column)
}

// inlineScalar writes an alias, or a plain or quoted scalar, with its further lines at the column.
func (w *printer) inlineScalar(n *Node, column int) {
	raw := w.raw(n)
	for first := true; ; first = false {
		line, rest, more := strings.Cut(raw, "\n")
		if !first {
			line = strings.TrimLeft(line, " \t")
			if line != "" || !more {
				w.out = AppendNewline(w.out, column)
			} else {
				w.out = append(w.out, '\n')
			}
		}
		if !more {
			w.out = append(w.out, line...)
			return
		}
		w.out = append(w.out, trimEnd(line, n.style)...)
		raw = rest
	}
}

// trimEnd removes white space from the end of a line of a scalar, unless it is escaped.
func trimEnd(line string, style Style) string {
	trimmed := strings.TrimRight(line, " \t")
	backslashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if style == double && backslashes%2 == 1 && len(trimmed) < len(line) {
		return line[:len(trimmed)+1]
	}
	return trimmed
}

// blockScalar writes a literal or folded scalar with its lines at the column.
func (w *printer) blockScalar(n *Node, column int, behind comment) {
	header, body, _ := strings.Cut(w.raw(n), "\n")
	header, _, _ = strings.Cut(header, "#")
	value := w.blockValue(n)
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	for i := range lines {
		lines[i] = cutIndent(lines[i], int(n.indent))
	}
	w.out = append(w.out, header[0])
	keep := strings.Contains(header, "+")
	first := slices.IndexFunc(lines, func(line string) bool { return line != "" })
	if first < 0 && n == w.root || first >= 0 && lines[first][0] == ' ' {
		w.out = append(w.out, byte('0'+w.step)) // the indentation cannot be detected
	}
	switch {
	case strings.Contains(header, "-") || !strings.HasSuffix(value, "\n") && value != "":
		w.out = append(w.out, '-')
	case keep:
		w.out = append(w.out, '+')
	}
	w.behindText(behind)
	if !keep {
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
	} else if body == "" {
		lines = nil
	}
	for _, line := range lines {
		if line == "" {
			w.out = append(w.out, '\n')
		} else {
			w.out = append(AppendNewline(w.out, column), line...)
		}
	}
	if keep || len(lines) > 0 && strings.Trim(lines[len(lines)-1], " \t") == "" {
		w.kept = len(w.out)
	}
}
