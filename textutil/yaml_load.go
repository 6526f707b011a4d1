package textutil

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parseYAML reads a stream of documents with at most so many values. The error is a [yamlError], or an
// [InputError] if the text is too deep or has more.
//
// The library reads the documents. Before it does, a scanner has refused what the library would accept
// although the grammar does not allow it, and what would cost more than a text may; and has written what
// the library refuses or takes for something else, although the grammar allows it, in another form.
func parseYAML(text string, most int) (*yamlStream, error) {
	scanner, err := scanYAML(text, most)
	if err != nil {
		return nil, err
	}
	stream := &scanner.yamlStream
	if err := stream.load(scanner.rewritten()); err != nil {
		return nil, err
	}
	for _, doc := range stream.docs {
		if err := stream.checkTree(doc.tree, 0, map[*yaml.Node]bool{}); err != nil {
			return nil, err
		}
	}
	return stream, nil
}

// load gives each document its tree.
func (s *yamlStream) load(text []byte) (err error) {
	defer func() {
		// What the library does with a text is not in our hands, and the text comes from anybody.
		if recover() != nil {
			err = &yamlError{0, "the text cannot be read; it is not clear where its parts end"}
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	count := 0
	for ; ; count++ {
		var root yaml.Node
		err := loader.Load(&root)
		switch {
		case err == io.EOF && count == len(s.docs):
			return nil
		case err != nil && err != io.EOF:
			return s.loadError(err)
		case err == io.EOF || count == len(s.docs) || len(root.Content) != 1:
			return &yamlError{s.offset(root.Line, root.Column), "it is not clear where the documents end"}
		}
		s.docs[count].tree = root.Content[0]
	}
}

// loadError returns an error of the library as one of ours, with its place in the text.
func (s *yamlStream) loadError(err error) error {
	wrong, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &yamlError{0, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	offset := s.offset(wrong.Mark.Line, wrong.Mark.Column)
	message := wrong.Message
	switch message {
	case "could not find expected ':'":
		offset = s.offset(wrong.ContextMark.Line, wrong.ContextMark.Column)
		message = "a key was expected, but no colon follows it"
	case "did not find expected key":
		message = "a key was expected here"
		if s.dashAt(offset) {
			message = "a sequence cannot stand between the keys of a mapping"
		}
	case "did not find expected '-' indicator":
		message = "a dash was expected here, as before the other items"
	case "did not find expected node content":
		message = "a value was expected here"
	case "did not find expected <document start>":
		message = "the document has ended, but there is more text"
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if i := s.tokenAt(offset); i < len(s.tokens) && s.tokens[i].kind == yamlAliasToken {
			name = s.text[s.tokens[i].start+1 : s.tokens[i].end]
		}
		return failYAML(offset, "no anchor before is called %.40q", name)
	}
	return &yamlError{offset, message}
}

// dashAt reports whether the dash of an item is at the offset.
func (s *yamlStream) dashAt(offset int) bool {
	i := s.tokenAt(offset)
	return i < len(s.tokens) && int(s.tokens[i].start) == offset && s.tokens[i].kind == yamlDash
}

// checkTree refuses a tree that is too deep, or in which an alias stands inside the node that it means.
// Open are the nodes around that have anchors.
func (s *yamlStream) checkTree(n *yaml.Node, depth int, open map[*yaml.Node]bool) error {
	if n.Kind == yaml.AliasNode {
		if open[n.Alias] {
			return failYAML(s.offset(n.Line, n.Column),
				"the alias %.40s stands inside the node that it means", s.aliasName(n))
		}
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	if depth++; depth > maxYAMLDepth {
		return s.tooDeep(s.offset(n.Line, n.Column))
	}
	s.depth = max(s.depth, depth)
	if n.Anchor != "" {
		open[n] = true
		defer delete(open, n)
	}
	for _, child := range n.Content {
		if child.Kind == yaml.ScalarNode {
			continue
		}
		if err := s.checkTree(child, depth, open); err != nil {
			return err
		}
	}
	return nil
}

// aliasName returns the name of an alias as it is in the text.
func (s *yamlStream) aliasName(n *yaml.Node) string {
	start, end := s.span(n)
	return strings.TrimPrefix(s.text[start:end], "*")
}
