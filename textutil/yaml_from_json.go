package textutil

import (
	"fmt"
	"strings"
)

// readJSON reads the text if it is an object or an array of JSON, of which YAML 1.2 is a superset
// (section 1.2). It takes a tenth of the time and the memory that YAML takes. It reports false if the text
// is to be read as YAML.
func (r *yamlReading) readJSON() bool {
	trimmed := strings.TrimLeft(r.text, " \n\t")
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return false
	}
	scanner := jsonScanner{text: r.text, duplicate: -1}
	if scanner.scan() != nil || scanner.depth > maxYAMLDepth {
		return false
	}
	r.json, r.root = true, rootTypes[trimmed[0]]
	r.stream = &yamlStream{text: r.text, depth: scanner.depth, docs: []*yamlDocument{{
		start: scanner.root, marker: scanner.root}}}
	if at := scanner.duplicate; at >= 0 {
		name := unquoteJSON(r.text[at:jsonScalarEnd(r.text, at)])
		r.err = &yamlError{at, fmt.Sprintf("the mapping has the key %.40q already", name)}
		r.stream = nil
	}
	return true
}

// jsonToJSON returns JSON in another layout, of at most limit bytes.
func (r *yamlReading) jsonToJSON(indent int, all bool, limit int) (string, error) {
	text := plainJSONStrings(r.text)
	if all {
		text = "[" + text + "]"
	}
	w := jsonLayout{text: text, indent: indent, limit: limit}
	if !w.write() {
		return "", invalid("text", "would become more than %d bytes of JSON; that is the most", limit)
	}
	return string(w.out), nil
}

// plainJSONStrings returns JSON in which strings have no escapes but those that they need.
func plainJSONStrings(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	out := make([]byte, 0, len(text))
	done := 0
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := jsonScalarEnd(text, i)
		if raw := text[i:end]; strings.Contains(raw, `\`) {
			out = appendJSONString(append(out, text[done:i]...), unquoteJSON(raw))
			done = end
		}
		i = end
	}
	return string(append(out, text[done:]...))
}

// placeJSON gives a text that was read as JSON its tree with places.
func (s *yamlStream) placeJSON() {
	nodes := jsonNodes(s.text)
	arena := yamlArena{}
	var place func(i int32) *yamlNode
	place = func(i int32) *yamlNode {
		n := nodes[i]
		switch s.text[n.start] {
		case '"':
			return arena.node(yamlScalar, yamlDouble, n.start, n.end)
		case '[', '{':
		default:
			return arena.node(yamlScalar, yamlPlain, n.start, n.end)
		}
		collection := arena.node(yamlSequence, yamlFlow, n.start, n.end)
		if s.text[n.start] == '{' {
			collection.kind = yamlMapping
		}
		last := &collection.first
		for child := i + 1; child < n.behind; child = nodes[child].behind {
			*last = place(child)
			last = &(*last).next
		}
		return collection
	}
	s.docs[0].root = place(0)
}
