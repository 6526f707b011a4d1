package textutil

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// fewKeys is up to how many keys of a mapping are compared one by one. It is faster than a map.
const fewKeys = 8

// A yamlKeys finds keys that a mapping has twice (YAML 1.2.2 section 3.2.1.1).
type yamlKeys struct {
	*yamlStream
	writer yamlWriter // of keys that are collections; its limit holds for all together
	findings
}

// checkKeys returns a [yamlError] if a mapping of the stream has a key twice, and what else there is to
// say about keys. Keys that nobody wrote, and collections, may be equal: that is a finding.
func (s *yamlStream) checkKeys() (findings, error) {
	k := &yamlKeys{yamlStream: s, writer: yamlWriter{yamlStream: s, limit: maxResult, indent: -1, silent: true}}
	for _, doc := range s.docs {
		if err := k.check(doc.tree); err != nil {
			return findings{}, err
		}
	}
	return k.findings, nil
}

func (k *yamlKeys) check(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		if err := k.checkMapping(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if len(child.Content) == 0 {
			continue
		}
		if err := k.check(child); err != nil {
			return err
		}
	}
	return nil
}

func (k *yamlKeys) checkMapping(n *yaml.Node) error {
	var few [fewKeys]yamlKey
	var many map[string]yamlKey
	var others map[yamlKey]bool // whose text another key has
	count := 0
	for i := 0; i < len(n.Content); i += 2 {
		node := n.Content[i]
		key, err := k.key(node)
		if err != nil {
			return err
		}
		other, known := many[key.text]
		for i := range count {
			if few[i].text == key.text {
				other, known = few[i], true
			}
		}
		switch {
		case known && (other == key || others[key]) && key.kind == yaml.ScalarNode && !emptyYAML(node):
			start, _ := k.span(node)
			return &yamlError{start, fmt.Sprintf("the mapping has the key %.40q already", key.text)}
		case known:
			k.addAt(k.yamlStream, "text.yaml.key.same_text", Warning, node, "Keys of a mapping differ in their text",
				fmt.Sprintf("Two keys have the text %.40q in JSON, which cannot tell them apart.", key.text))
			if others == nil {
				others = map[yamlKey]bool{}
			}
			others[key] = true
		case count < fewKeys:
			few[count] = key
			count++
		default:
			if many == nil {
				many = make(map[string]yamlKey, len(n.Content)/2)
			}
			many[key.text] = key
		}
	}
	return nil
}

// A yamlKey is a key in a form that can be compared.
type yamlKey struct {
	kind yaml.Kind
	typ  yamlType
	text string // as a key in JSON
}

// key returns the key in a form that can be compared. Collections are compared as JSON.
func (k *yamlKeys) key(n *yaml.Node) (yamlKey, error) {
	n = aliased(n)
	if n.Kind == yaml.ScalarNode {
		t, text, _ := k.resolve(n)
		return yamlKey{n.Kind, t, text}, nil
	}
	text, err := k.writer.compact(n)
	return yamlKey{kind: n.Kind, text: text}, err
}
