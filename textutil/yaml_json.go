package textutil

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxResult bounds a result, in bytes. A mebibyte that is nested deep, or has aliases of aliases, would
// become a thousand times as much.
const maxResult = 8 << 20

// maxJSONDepth bounds how deep the JSON of a request or result may be nested.
const maxJSONDepth = 512

// A yamlWriter writes nodes as JSON, with what aliases stand for.
type yamlWriter struct {
	*yamlStream
	out    []byte
	indent int // spaces for each level; -1 for no white space at all
	limit  int // of bytes
	depth  int
	silent bool // what it writes is to compare keys: there are no findings, and tags need not fit
	findings
}

// aliased returns what an alias stands for, or the node itself.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// compact returns the JSON of a node without white space.
func (w *yamlWriter) compact(n *yaml.Node) (string, error) {
	begin, indent := len(w.out), w.indent
	w.indent = -1
	err := w.node(n)
	w.indent = indent
	if err == nil {
		// A key in a key in a key becomes twice as long with each, for what escapes it must be escaped.
		err = w.checkLimit()
	}
	if err != nil {
		return "", err
	}
	text := string(w.out[begin:])
	w.limit -= len(text)
	w.out = w.out[:begin]
	return text, nil
}

// checkLimit refuses a text whose JSON is too long already.
func (w *yamlWriter) checkLimit() error {
	if len(w.out) > w.limit {
		return invalid("text", "would become more than %d bytes of JSON; that is the most", maxResult)
	}
	return nil
}

func (w *yamlWriter) node(n *yaml.Node) error {
	n = aliased(n)
	if err := w.checkLimit(); err != nil {
		return err
	}
	if cap(w.out)-len(w.out) < 512 {
		w.out = slices.Grow(w.out, cap(w.out)+512) // twice as much, rather than a quarter more
	}
	switch n.Kind {
	case yaml.SequenceNode:
		return w.collection(n, '[', ']')
	case yaml.MappingNode:
		return w.collection(n, '{', '}')
	}
	return w.scalar(n)
}

func (w *yamlWriter) collection(n *yaml.Node, open, closer byte) error {
	w.out = append(w.out, open)
	if len(n.Content) == 0 {
		w.out = append(w.out, closer)
		return nil
	}
	if w.depth++; w.depth > maxJSONDepth {
		return invalid("text", "would become JSON that is nested more than %d deep; that is the most", maxJSONDepth)
	}
	keys := n.Kind == yaml.MappingNode
	for i, child := range n.Content {
		write := w.node
		if keys && i%2 == 0 {
			write = w.key
		}
		if i > 0 && !(keys && i%2 == 1) {
			w.out = append(w.out, ',')
		}
		if !(keys && i%2 == 1) {
			w.newline()
		}
		if err := write(child); err != nil {
			return err
		}
	}
	w.depth--
	w.newline()
	w.out = append(w.out, closer)
	return nil
}

func (w *yamlWriter) newline() {
	if w.indent >= 0 {
		w.out = appendNewline(w.out, w.depth*w.indent)
	}
}

const manySpaces = "                                                                "

// appendNewline begins a line with so many spaces.
func appendNewline(out []byte, spaces int) []byte {
	out = append(out, '\n')
	for ; spaces > len(manySpaces); spaces -= len(manySpaces) {
		out = append(out, manySpaces...)
	}
	return append(out, manySpaces[:spaces]...)
}

// key writes a key, which is a string in JSON: a number, a truth value or null as its text, a collection
// as its JSON.
func (w *yamlWriter) key(n *yaml.Node) error {
	n = aliased(n)
	text := ""
	var err error
	if n.Kind == yaml.ScalarNode {
		_, text, _ = w.resolve(n)
	} else {
		text, err = w.compact(n)
		w.addNode("text.yaml.key.collection", Info, n, "Keys are scalars",
			"A key is a collection; its JSON is the key in the result.")
	}
	w.out = appendJSONString(w.out, text)
	w.out = append(w.out, ':')
	if w.indent >= 0 {
		w.out = append(w.out, ' ')
	}
	return err
}

func (w *yamlWriter) scalar(n *yaml.Node) error {
	t, text, ok := w.resolve(n)
	switch {
	case !ok && !w.silent:
		return &yamlError{w.offset(n.Line, n.Column),
			fmt.Sprintf("the text %.40q does not fit the tag %.40s", text, n.ShortTag())}
	case t == yamlString:
		w.out = appendJSONString(w.out, text)
	case t == yamlNotFinite:
		w.addNode("text.yaml.number.not_finite", Warning, n, "Numbers are finite",
			fmt.Sprintf("JSON has no %s; the result has null in its place.", text))
		w.out = append(w.out, "null"...)
	default:
		w.out = append(w.out, text...)
	}
	return nil
}

// addNode adds a finding about a node.
func (w *yamlWriter) addNode(code string, severity Severity, n *yaml.Node, title, detail string) {
	if !w.silent {
		w.addAt(w.yamlStream, code, severity, n, title, detail)
	}
}

// addAt adds a finding about a node of the stream.
func (f *findings) addAt(s *yamlStream, code string, severity Severity, n *yaml.Node, title, detail string) {
	if f.room() {
		start, end := s.span(n)
		f.add(Finding{Code: code, Severity: severity, Title: title, Detail: detail,
			Location: &Location{Offset: start, Length: end - start}})
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
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\t':
			out = append(out, '\\', 't')
		case '\r':
			out = append(out, '\\', 'r')
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case 0xED:
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
// strings hold surrogates without a partner so, for they are no characters.
func loneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 {
		return utf8.RuneError, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// documents writes the first document, or all in a list. Without any document, the result is that of
// an empty one.
func (w *yamlWriter) documents(all bool) error {
	if all {
		return w.list()
	}
	if len(w.docs) == 0 {
		w.out = append(w.out, "null"...)
		return nil
	}
	if len(w.docs) > 1 {
		w.add(Finding{Code: "text.yaml.documents.several", Severity: Warning, Title: "The text has one document",
			Detail:    fmt.Sprintf("It has %d; the result is the first.", len(w.docs)),
			Advice:    "Ask for all documents to get a list.",
			Reference: "YAML 1.2.2 section 9.2"})
	}
	return w.node(w.docs[0].tree)
}

func (w *yamlWriter) list() error {
	w.out = append(w.out, '[')
	w.depth++
	for i, doc := range w.docs {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.newline()
		if err := w.node(doc.tree); err != nil {
			return err
		}
	}
	w.depth--
	if len(w.docs) > 0 {
		w.newline()
	}
	w.out = append(w.out, ']')
	return nil
}
