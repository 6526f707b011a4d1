package textutil

import (
	"errors"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// maxResult bounds a result, in bytes. A mebibyte that is nested deep would become a thousand times as much.
const maxResult = 8 << 20

// The JSON of a text with aliases is bounded by how long the text is: a thousand bytes of aliases of aliases
// expand to more than any memory holds, and no legitimate text has them.
const (
	aliasedResult = 64 << 10 // bytes that any text may become
	aliasedFactor = 8        // how many times as long a longer text may become
)

// maxJSONDepth bounds how deep the JSON of a request or result may be nested.
const maxJSONDepth = 512

// errTooLong says that the JSON would be longer than the limit.
var errTooLong = errors.New("too long")

// A yamlWriter writes nodes as JSON, with aliases expanded.
type yamlWriter struct {
	*yamlReading
	out    []byte
	indent int // spaces for each level; -1 for no white space at all
	limit  int // of bytes
	depth  int

	longForms bool // whether tags of CloudFormation become the functions that they call

	merged      map[*yaml.Node][]pair // of mappings with merged pairs; nil if nothing is merged
	mergedCount int
}

func (r *yamlReading) toJSON(indent int, all bool, limit int) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	aliased := max(aliasedResult, aliasedFactor*len(r.text))
	if r.stream.Aliases {
		limit = min(limit, aliased)
	}
	w := &yamlWriter{yamlReading: r, indent: indent, limit: limit}
	if r.merge {
		w.merged = map[*yaml.Node][]pair{}
	}
	w.out = make([]byte, 0, min(len(r.text)+len(r.text)/2, limit)+64)
	w.documents(all)
	switch {
	case w.err == errTooLong && limit == aliased:
		return "", invalid("text", "would become more than %d bytes of JSON with its aliases expanded; that is "+
			"the most for a text with aliases: %d bytes, or %d times its length", limit, aliasedResult, aliasedFactor)
	case w.err == errTooLong:
		return "", invalid("text", "would become more than %d bytes of JSON; that is the most", limit)
	}
	return string(w.out), w.err
}

// documents writes the first document, or all in a list. Without any document, the result is that of an empty one.
func (w *yamlWriter) documents(all bool) {
	docs := w.stream.Documents
	switch {
	case all:
		w.list('[', ']', len(docs), func(i int) { w.node(docs[i].Root) })
		w.findLosses(docs)
		return
	case len(docs) == 0:
		w.out = append(w.out, "null"...)
		return
	case len(docs) > 1:
		w.add(Finding{Code: "text.yaml.documents.several", Severity: Warning, Title: "More than one document",
			Detail:    fmt.Sprintf("The text has %d documents; the result is the first.", len(docs)),
			Advice:    "Set all_documents to get a list of all.",
			Reference: "YAML 1.2.2 section 9.2"})
	}
	w.node(docs[0].Root)
	w.findLosses(docs[:1])
}

// list writes brackets around so many entries, up to an error.
func (w *yamlWriter) list(open, closer byte, count int, entry func(i int)) {
	w.out = append(w.out, open)
	if w.depth++; w.depth > maxJSONDepth {
		w.err = invalid("text", "would become JSON that is nested more than %d deep; that is the most", maxJSONDepth)
	}
	for i := 0; i < count && w.err == nil; i++ {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.newline()
		entry(i)
	}
	w.depth--
	if count > 0 {
		w.newline()
	}
	w.out = append(w.out, closer)
}

func (w *yamlWriter) newline() {
	if w.indent >= 0 {
		w.out = yaml.AppendNewline(w.out, w.depth*w.indent)
	}
}

func (w *yamlWriter) node(n *yaml.Node) {
	n = n.Target()
	if w.err == nil && len(w.out) > w.limit {
		w.err = errTooLong
	}
	if w.err != nil {
		return
	}
	if cap(w.out)-len(w.out) < 512 {
		w.out = slices.Grow(w.out, cap(w.out)+512) // twice as much, rather than a quarter more
	}
	if !w.function(n) {
		w.content(n)
	}
}

func (w *yamlWriter) content(n *yaml.Node) {
	child := n.First()
	next := func(int) {
		item := child
		child = child.Next()
		w.node(item)
	}
	switch n.Kind() {
	case yaml.Sequence:
		w.list('[', ']', n.Len(), next)
	case yaml.Mapping:
		if w.merged != nil && w.hasMergeKey(n) {
			pairs := w.pairs(n)
			names := &yaml.Keys{}
			w.list('{', '}', len(pairs), func(i int) {
				w.key(pairs[i].key, names)
				w.node(pairs[i].value)
			})
			return
		}
		names := w.newNameSet(n)
		w.list('{', '}', n.Len(), func(int) {
			key := child
			child = child.Next()
			w.key(key, names)
			next(0)
		})
	default:
		w.scalar(n)
	}
}

// newNameSet returns a set for the names of a mapping if they may be the same though its keys differ. Among
// keys that are strings there is no such thing.
func (w *yamlWriter) newNameSet(n *yaml.Node) *yaml.Keys {
	if n.Len() < 2 {
		return nil
	}
	for key := n.First(); key != nil; key = key.Next().Next() {
		key := key.Target()
		if key.Kind() != yaml.Scalar || key.Tag() != "" {
			return &yaml.Keys{}
		}
		if t, _, _ := w.stream.Resolve(key); t != yaml.String {
			return &yaml.Keys{}
		}
	}
	return nil
}

// key writes a key, which is a string in JSON: a number, a truth value or null as its text, a collection
// as its JSON. The names are those before, or nil.
func (w *yamlWriter) key(key *yaml.Node, names *yaml.Keys) {
	text := ""
	if n := key.Target(); n.Kind() == yaml.Scalar {
		_, text, _ = w.stream.Resolve(n)
	} else {
		text = w.compact(n)
		if !w.placeholders[key] {
			w.addNode(Finding{Code: "text.yaml.key.collection", Severity: Info, Title: "Key is a collection",
				Detail: "A key is a collection; its JSON is the key in the result."}, n)
		}
	}
	if names != nil && !names.Add(text) {
		w.addNode(Finding{Code: "text.yaml.key.same_text", Severity: Warning, Title: "Two keys with the same name in JSON",
			Detail: fmt.Sprintf("Two keys of a mapping differ in YAML and are both %.40q in JSON.", text)}, key)
	}
	w.out = appendJSONString(w.out, text)
	w.out = append(w.out, ':')
	if w.indent >= 0 {
		w.out = append(w.out, ' ')
	}
}

// compact returns the JSON of a node without white space.
func (w *yamlWriter) compact(n *yaml.Node) string {
	begin, indent := len(w.out), w.indent
	w.indent = -1
	w.node(n)
	w.indent = indent
	if w.err == nil && len(w.out) > w.limit {
		// A key in a key in a key becomes twice as long with each, for what escapes it must be escaped.
		w.err = errTooLong
	}
	if w.err != nil {
		return ""
	}
	text := string(w.out[begin:])
	w.limit -= len(text)
	w.out = w.out[:begin]
	return text
}

func (w *yamlWriter) scalar(n *yaml.Node) {
	switch t, text, _ := w.stream.Resolve(n); t {
	case yaml.String:
		w.out = appendJSONString(w.out, text)
	case yaml.NotFinite:
		w.addNode(Finding{Code: "text.yaml.number.not_finite", Severity: Warning, Title: "Number not finite",
			Detail: fmt.Sprintf("JSON has no %s; the result has null in its place.", text)}, n)
		w.out = append(w.out, "null"...)
	default:
		w.out = append(w.out, text...)
	}
}

// addNode adds a finding about a node.
func (f *findings) addNode(finding Finding, n *yaml.Node) {
	finding.Location = nodeLocation(n)
	f.add(finding)
}

func nodeLocation(n *yaml.Node) *Location {
	start, end := n.Span()
	return &Location{Offset: start, Length: end - start}
}

type pair struct{ key, value *yaml.Node }

// isMerge reports whether a key is the merge key of YAML 1.1 (https://yaml.org/type/merge.html).
func (w *yamlWriter) isMerge(key *yaml.Node) bool {
	return key.Kind() == yaml.Scalar && key.Style() == yaml.Plain && key.Tag() == "" &&
		yaml.LegacyOf(w.stream.Value(key)) == yaml.LegacyMerge
}

func (w *yamlWriter) hasMergeKey(n *yaml.Node) bool {
	for key := n.First(); key != nil; key = key.Next().Next() {
		if w.isMerge(key) {
			return true
		}
	}
	return false
}

// pairs returns the pairs of a mapping with those that it merges in place of the merge key. What the mapping has
// itself goes before, and of several mappings the first.
func (w *yamlWriter) pairs(n *yaml.Node) []pair {
	if list, known := w.merged[n]; known {
		return list
	}
	w.merged[n] = nil // an anchor within itself
	taken := map[string]bool{}
	for key := n.First(); key != nil; key = key.Next().Next() {
		taken[w.identity(key)] = true
	}
	var list []pair
	for key := n.First(); key != nil; key = key.Next().Next() {
		sources := []*yaml.Node(nil)
		if w.isMerge(key) {
			sources = w.sources(key.Next())
		}
		if sources == nil {
			list = append(list, pair{key, key.Next()})
		}
		for _, source := range sources {
			others := w.pairs(source)
			if w.mergedCount += len(others); w.mergedCount > maxYAMLNodes {
				w.err = invalid("text", "merges more than %d pairs; that is the most", maxYAMLNodes)
				return nil
			}
			for _, p := range others {
				if name := w.identity(p.key); !taken[name] {
					taken[name] = true
					list = append(list, p)
				}
			}
		}
	}
	w.merged[n] = list
	return list
}

// sources returns the mappings that a merge key refers to: one, or a list of them. Any other value is kept
// unchanged and yields a finding.
func (w *yamlWriter) sources(value *yaml.Node) []*yaml.Node {
	list := []*yaml.Node{value.Target()}
	if list[0].Kind() == yaml.Sequence {
		sequence := list[0]
		list = list[:0]
		for item := sequence.First(); item != nil; item = item.Next() {
			list = append(list, item.Target())
		}
	}
	for _, source := range list {
		if source.Kind() != yaml.Mapping {
			w.addNode(Finding{Code: "text.yaml.merge.value", Severity: Warning, Title: "Merge key without a mapping",
				Detail:    `The value of "<<" is not a mapping or a list of mappings, so nothing is merged.`,
				Advice:    "Put an alias of a mapping behind it.",
				Reference: "Merge Key Language-Independent Type for YAML 1.1"}, value)
			return nil
		}
	}
	return list
}

// identity identifies a key: scalars by type and value, collections by their position.
func (w *yamlWriter) identity(key *yaml.Node) string {
	n := key.Target()
	if n.Kind() != yaml.Scalar {
		return fmt.Sprintf("%p", n)
	}
	t, text, _ := w.stream.Resolve(n)
	return fmt.Sprint(t, " ", text)
}
