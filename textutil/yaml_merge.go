package textutil

import (
	"fmt"

	"github.com/diagkit/diagkit/textutil/yaml"
)

// A pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// isMerge reports whether a key is the merge key of YAML 1.1 (https://yaml.org/type/merge.html).
func (w *yamlWriter) isMerge(key *yaml.Node) bool {
	return key.Kind() == yaml.Scalar && key.Style() == yaml.Plain && key.Tag() == "" &&
		yaml.LegacyOf(w.stream.Value(key)) == yaml.LegacyMerge
}

// merges reports whether a mapping has the merge key.
func (w *yamlWriter) merges(n *yaml.Node) bool {
	for key := n.First(); key != nil; key = key.Next().Next() {
		if w.isMerge(key) {
			return true
		}
	}
	return false
}

// pairs returns the pairs of a mapping with those that it merges in the place of the merge key. What the mapping has
// itself goes before, and of several mappings the first.
func (w *yamlWriter) pairs(n *yaml.Node) ([]pair, error) {
	if list, known := w.merged[n]; known {
		return list, nil
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
			others, err := w.pairs(source)
			if err != nil {
				return nil, err
			}
			if w.mergedCount += len(others); w.mergedCount > maxYAMLNodes {
				return nil, invalid("text", "merges more than %d pairs; that is the most", maxYAMLNodes)
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
	return list, nil
}

// sources returns the mappings that stand behind a merge key: one, or a list of them. Of anything else, which is kept
// as it stands, there is a finding.
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
				Detail:    `Behind "<<" there is no mapping, nor a list of mappings, so nothing is merged.`,
				Advice:    "Put an alias of a mapping behind it.",
				Reference: "Merge Key Language-Independent Type for YAML 1.1"}, value)
			return nil
		}
	}
	return list
}

// identity tells keys apart: scalars by type and value, collections by where they stand.
func (w *yamlWriter) identity(key *yaml.Node) string {
	n := key.Target()
	if n.Kind() != yaml.Scalar {
		return fmt.Sprintf("%p", n)
	}
	t, text, _ := w.stream.Resolve(n)
	return fmt.Sprint(t, " ", text)
}
