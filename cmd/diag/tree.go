package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

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

// findings collects all findings, also those of parts of a composite report. Parts repeat some of those of the whole:
// each is listed once.
func (t *tree) findings() []*tree {
	seen := map[[3]string]bool{}
	return slices.DeleteFunc(t.everyFinding(), func(f *tree) bool {
		key := [3]string{f.get("code").text(), f.get("detail").text(), f.get("location").get("offset").text()}
		again := seen[key]
		seen[key] = true
		return again
	})
}

func (t *tree) everyFinding() []*tree {
	var list []*tree
	for i, item := range t.items {
		if i < len(t.names) && t.names[i] == "findings" {
			list = append(list, item.items...)
			continue
		}
		list = append(list, item.everyFinding()...)
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
