package textutil

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A jsonLayout writes a valid text anew with other white space.
type jsonLayout struct {
	text   string
	out    []byte
	indent int // spaces for each level; -1 for no white space at all
	depth  int
	limit  int // of bytes
}

// write writes the text. It reports false if the result would be longer than the limit.
func (w *jsonLayout) write() bool {
	w.out = make([]byte, 0, min(w.limit, len(w.text)+len(w.text)/2)+64)
	for i := 0; i < len(w.text); {
		if len(w.out) > w.limit {
			return false
		}
		switch c := w.text[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '{', '[':
			w.out = append(w.out, c)
			i = skipJSONSpace(w.text, i+1)
			if w.text[i] == c+2 {
				w.out = append(w.out, c+2)
				i++
				continue
			}
			w.depth++
			w.newline()
		case '}', ']':
			w.depth--
			w.newline()
			w.out = append(w.out, c)
			i++
		case ',':
			w.out = append(w.out, c)
			w.newline()
			i++
		case ':':
			w.out = append(w.out, c)
			if w.indent >= 0 {
				w.out = append(w.out, ' ')
			}
			i++
		default:
			end := jsonScalarEnd(w.text, i)
			w.out = append(w.out, w.text[i:end]...)
			i = end
		}
	}
	return len(w.out) <= w.limit
}

func (w *jsonLayout) newline() {
	if w.indent >= 0 {
		w.out = yaml.AppendNewline(w.out, w.depth*w.indent)
	}
}

func skipJSONSpace(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

func jsonScalarEnd(text string, i int) int {
	if text[i] == '"' {
		for i++; ; i++ {
			for jsonPlain[text[i]] {
				i++
			}
			if text[i] == '"' {
				return i + 1
			}
			i++
		}
	}
	for i < len(text) && continuesWord(text[i]) {
		i++
	}
	return i
}

// A jsonNode is a value or a name of a valid text. The nodes of a text lie in its order in one list, so
// that the first inside an object or array is the one behind it.
type jsonNode struct {
	start, end int32
	behind     int32 // index of the first node that is not inside this one
}

func jsonNodes(text string) []jsonNode {
	nodes := make([]jsonNode, 0, len(text)/8+1)
	var open []int32
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\n', '\t', '\r', ',', ':':
			i++
		case '{', '[':
			open = append(open, int32(len(nodes)))
			nodes = append(nodes, jsonNode{start: int32(i)})
			i++
		case '}', ']':
			i++
			node := &nodes[open[len(open)-1]]
			node.end, node.behind = int32(i), int32(len(nodes))
			open = open[:len(open)-1]
		default:
			end := jsonScalarEnd(text, i)
			nodes = append(nodes, jsonNode{start: int32(i), end: int32(end), behind: int32(len(nodes)) + 1})
			i = end
		}
	}
	return nodes
}

type jsonMember struct {
	name      string // without quotes and escapes
	key, node int32
}

func jsonMembers(members []jsonMember, text string, nodes []jsonNode, object int32) []jsonMember {
	for key := object + 1; key < nodes[object].behind; {
		name := yaml.Unquote(text[nodes[key].start:nodes[key].end])
		members = append(members, jsonMember{name, key, key + 1})
		key = nodes[key+1].behind
	}
	return members
}

// A jsonSorter writes a valid text with the members of objects in order, without white space.
type jsonSorter struct {
	text    string
	nodes   []jsonNode
	members []jsonMember // of all objects around
	out     strings.Builder
}

// sortJSON returns a valid text with the members of objects in the order of their names by code points.
// Members with the same name stay in their order.
func sortJSON(text string) string {
	s := &jsonSorter{text: text, nodes: jsonNodes(text)}
	s.out.Grow(len(text))
	s.write(0)
	return s.out.String()
}

// write writes a node. The text has been found not to be too deep.
func (s *jsonSorter) write(node int32) {
	n := s.nodes[node]
	switch s.text[n.start] {
	case '[':
		s.out.WriteByte('[')
		for item := node + 1; item < n.behind; item = s.nodes[item].behind {
			if item > node+1 {
				s.out.WriteByte(',')
			}
			s.write(item)
		}
		s.out.WriteByte(']')
	case '{':
		first := len(s.members)
		s.members = jsonMembers(s.members, s.text, s.nodes, node)
		slices.SortStableFunc(s.members[first:], func(a, b jsonMember) int { return cmp.Compare(a.name, b.name) })
		s.out.WriteByte('{')
		for i := first; i < len(s.members); i++ {
			if i > first {
				s.out.WriteByte(',')
			}
			key := s.nodes[s.members[i].key]
			s.out.WriteString(s.text[key.start:key.end])
			s.out.WriteByte(':')
			s.write(s.members[i].node)
			// Deeper objects use the same list behind this one.
		}
		s.out.WriteByte('}')
		s.members = s.members[:first]
	default:
		s.out.WriteString(s.text[n.start:n.end])
	}
}

// appendJSONString appends a string in quotes. What JSON need not escape stays as it is.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xED {
			continue
		}
		out = append(out, s[done:i]...)
		done = i + 1
		short := strings.IndexByte("\"\\\n\t\r\b\f", c)
		switch {
		case short >= 0:
			out = append(out, '\\', "\"\\ntrbf"[short])
		case c == 0xED:
			if r, ok := loneSurrogate(s[i:]); ok {
				out = fmt.Appendf(out, `\u%04x`, r)
				i += 2
				done = i + 1
			} else {
				done = i
			}
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return append(append(out, s[done:]...), '"')
}

// loneSurrogate returns a surrogate that is written as three bytes, which UTF-8 forbids: the values of
// strings hold surrogates without a partner so, for they are not characters.
func loneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 {
		return utf8.RuneError, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}
