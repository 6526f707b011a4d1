package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/diagkit/diagkit/diag"
)

// tree is a JSON value with its members in their order.
type tree struct {
	names  []string // of the members of an object
	items  []*tree  // members of an object or a list
	list   bool
	object bool
	scalar any // string, json.Number, bool or nil
}

func parseTree(data []byte) (*tree, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	t, err := readTree(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after its end")
	}
	return t, nil
}

// maxDepth bounds how deep a reply nests, since a server is a stranger too. Reports nest some ten deep.
const maxDepth = 200

func readTree(d *json.Decoder, depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return &tree{scalar: token}, nil
	}
	t := &tree{list: delim == '[', object: delim == '{'}
	for d.More() {
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			text, ok := name.(string)
			if !ok {
				return nil, errors.New("a member has no name")
			}
			t.names = append(t.names, text)
		}
		item, err := readTree(d, depth+1)
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, item)
	}
	if _, err := d.Token(); err != nil { // the bracket that closes
		return nil, err
	}
	return t, nil
}

// get returns a member of an object, or an empty value.
func (t *tree) get(name string) *tree {
	for i, n := range t.names {
		if n == name {
			return t.items[i]
		}
	}
	return &tree{}
}

// has reports whether an object has a member, and not null.
func (t *tree) has(name string) bool {
	for i, n := range t.names {
		if n == name {
			return !t.items[i].isScalar() || t.items[i].scalar != nil
		}
	}
	return false
}

// text is the value of a scalar as one line.
func (t *tree) text() string {
	switch v := t.scalar.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

func (t *tree) isScalar() bool { return !t.list && !t.object }

// findings are those of a report. A report without a list of its own has those of its parts.
func (t *tree) findings() []*tree {
	if t.has("findings") {
		return t.get("findings").items
	}
	var list []*tree
	for _, item := range t.items {
		list = append(list, item.findings()...)
	}
	return list
}

// A section is a part of a report that joins several, with a verdict of its own.
type section struct {
	name   string
	report *tree
}

// sections lists the parts of a report that joins several, in order. Those of a list have the name of the list.
func (t *tree) sections(name string) []section {
	var list []section
	for i, item := range t.items {
		if t.object {
			name = t.names[i]
		}
		if item.has("verdict_headline") {
			list = append(list, section{name, item})
			continue
		}
		list = append(list, item.sections(name)...)
	}
	return list
}

// worst is the gravest severity among the findings, or -1 without any.
func (t *tree) worst() diag.Severity {
	worst := diag.Severity(-1)
	for _, f := range t.findings() {
		if s, err := parseSeverity(f.get("severity").text()); err == nil {
			worst = max(worst, s)
		}
	}
	return worst
}

func parseSeverity(text string) (diag.Severity, error) {
	var s diag.Severity
	err := s.UnmarshalText([]byte(text))
	return s, err
}
