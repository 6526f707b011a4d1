package textutil

import (
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

type jsonYAML struct {
	text    string
	nodes   []jsonNode
	members []jsonMember // of all objects around
	unique  bool         // no object has a name twice
	out     []byte
	step    int // spaces for each level
	limit   int // of bytes
}

func (r *jsonReading) toYAML(indent, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	if r.depth > yaml.MaxDepth {
		return "", invalid("text", "is nested %d deep; the most that can become YAML is %d", r.depth, yaml.MaxDepth)
	}
	w := &jsonYAML{text: r.text, nodes: jsonNodes(r.text), unique: r.duplicate < 0, step: indent, limit: limit}
	w.out = make([]byte, 0, min(limit, len(r.text)+len(r.text)/2)+64)
	if w.isInline(0) {
		w.scalar(0, w.step)
	} else {
		w.block(0, 0)
	}
	w.out = append(w.out, '\n')
	if len(w.out) > limit {
		return "", invalid("text", "would become more than %d bytes of YAML; that is the most", limit)
	}
	return string(w.out), nil
}

// isInline reports whether a node has no lines of its own: it is a scalar, or an empty collection.
func (w *jsonYAML) isInline(node int32) bool {
	n := w.nodes[node]
	c := w.text[n.start]
	return c != '{' && c != '[' || n.behind == node+1
}

// block writes a collection whose entries are at the column. The first begins at the current position.
// Nothing is written beyond the limit.
func (w *jsonYAML) block(node int32, column int) {
	n := w.nodes[node]
	if w.text[n.start] == '{' {
		w.object(node, column)
		return
	}
	for item := node + 1; item < n.behind && len(w.out) <= w.limit; item = w.nodes[item].behind {
		if item > node+1 {
			w.out = yaml.AppendNewline(w.out, column)
		}
		w.out = append(w.out, '-', ' ')
		w.compact(item, column)
	}
}

// compact writes a node behind "- ", "? " or ": " at the column. Collections begin on the same line
// (YAML 1.2.2 section 8.2.1).
func (w *jsonYAML) compact(node int32, column int) {
	if w.isInline(node) {
		w.scalar(node, column+w.step)
	} else {
		w.block(node, column+2)
	}
}

func (w *jsonYAML) object(node int32, column int) {
	first := len(w.members)
	w.members = jsonMembers(w.members, w.text, w.nodes, node)
	if !w.unique {
		w.members = append(w.members[:first], lastMembers(w.members[first:])...)
	}
	for i := first; i < len(w.members) && len(w.out) <= w.limit; i++ {
		if i > first {
			w.out = yaml.AppendNewline(w.out, column)
		}
		w.member(w.members[i], column)
	}
	w.members = w.members[:first]
}

// lastMembers keeps the last of the members with each name, as most readers of JSON do.
func lastMembers(members []jsonMember) []jsonMember {
	last := make(map[string]int32, len(members))
	for _, m := range members {
		last[m.name] = m.key
	}
	kept := members[:0]
	for _, m := range members {
		if last[m.name] == m.key {
			kept = append(kept, m)
		}
	}
	return kept
}

func (w *jsonYAML) member(m jsonMember, column int) {
	begin := len(w.out)
	w.out = yaml.AppendString(w.out, m.name)
	if len(w.out)-begin > yaml.MaxKey {
		// A long key needs an indicator (YAML 1.2.2 section 8.2.2).
		w.out = append(w.out[:begin], "? "...)
		w.out = yaml.AppendString(w.out, m.name)
		w.out = yaml.AppendNewline(w.out, column)
		w.out = append(w.out, ':', ' ')
		w.compact(m.node, column)
		return
	}
	w.out = append(w.out, ':')
	if w.isInline(m.node) {
		w.out = append(w.out, ' ')
		w.scalar(m.node, column+w.step)
		return
	}
	w.out = yaml.AppendNewline(w.out, column+w.step)
	w.block(m.node, column+w.step)
}

// scalar writes a node without lines of its own; but a string of several lines may have some, at the column.
func (w *jsonYAML) scalar(node int32, column int) {
	n := w.nodes[node]
	raw := w.text[n.start:n.end]
	switch raw[0] {
	case '{', '[':
		w.out = append(w.out, raw[0], raw[0]+2)
	case '"':
		value := yaml.Unquote(raw)
		if yaml.IsLiteral(value) {
			w.literal(value, column)
		} else {
			w.out = yaml.AppendString(w.out, value)
		}
	default:
		w.out = append(w.out, raw...)
	}
}

// literal writes a string as a literal block (YAML 1.2.2 section 8.1.2).
func (w *jsonYAML) literal(value string, column int) {
	w.out = append(w.out, '|')
	body := strings.TrimRight(value, "\n")
	switch len(value) - len(body) {
	case 0:
		w.out = append(w.out, '-')
	case 1:
	default:
		w.out = append(w.out, '+')
		body = value[:len(value)-1]
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "" {
			w.out = append(w.out, '\n')
		} else {
			w.out = append(yaml.AppendNewline(w.out, column), line...)
		}
		if len(w.out) > w.limit {
			return
		}
	}
}
