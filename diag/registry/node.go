package registry

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The limits of an answer.
const (
	maxAnswer   = 1 << 20 // bytes of JSON; the largest objects seen have 400 KiB
	maxList     = 200     // elements of a list, as of name servers
	maxText     = 1000    // characters of a text that is reported
	maxEntities = 100     // contacts that are looked at
	maxDepth    = 4       // of contacts within contacts; a registrar's abuse contact has depth 2
)

// A node is a value of a JSON document whose shape cannot be relied on. Reading what is not there, or
// is of another type, gives nothing.
type node struct{ v any }

func parseJSON(data []byte) (node, error) {
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return node{}, fmt.Errorf("the answer is not a JSON object: %w", err)
	}
	if object == nil {
		return node{}, fmt.Errorf("the answer is not a JSON object")
	}
	return node{object}, nil
}

func (n node) get(key string) node {
	object, _ := n.v.(map[string]any)
	return node{object[key]}
}

func (n node) has(key string) bool {
	object, _ := n.v.(map[string]any)
	_, ok := object[key]
	return ok
}

// list returns the elements of an array. What is no array counts as one element, which some servers
// write where they have one only; null counts as none.
func (n node) list() []node {
	if n.v == nil {
		return nil
	}
	array, ok := n.v.([]any)
	if !ok {
		return []node{n}
	}
	return diag.Map(array[:min(len(array), maxList)], func(v any) node { return node{v} })
}

func (n node) at(i int) node {
	array, _ := n.v.([]any)
	if i >= len(array) {
		return node{}
	}
	return node{array[i]}
}

// text returns a string or the text of a number, as one line without space around it.
func (n node) text() string {
	switch v := n.v.(type) {
	case string:
		return oneLine(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// texts returns the elements of an array that have a text, each once.
func (n node) texts() []string {
	var list []string
	for _, e := range n.list() {
		list = addOnce(list, e.text())
	}
	return list
}

// number returns a whole number that is written as a number or as a string.
func (n node) number() (int64, bool) {
	i, err := strconv.ParseInt(n.text(), 10, 64)
	return i, err == nil
}

// isTrue reports whether the value is true.
func (n node) isTrue() bool {
	b, ok := n.v.(bool)
	return ok && b || strings.EqualFold(n.text(), "true")
}

// oneLine makes a text fit for a report: valid UTF-8, one line, at most maxText characters, no control characters.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return r <= ' ' || r == 0x7F || r == '\u2028' || 0x80 <= r && r < 0xA0
	}), " ")
	return clip(s, maxText)
}

// clip returns at most so many characters of a text.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit--; limit < 0 {
			return s[:i]
		}
	}
	return s
}

// addOnce adds a text to a list unless it is empty, there already, or one too many.
func addOnce(list []string, s string) []string {
	if s == "" || len(list) >= maxList {
		return list
	}
	for _, have := range list {
		if strings.EqualFold(have, s) {
			return list
		}
	}
	return append(list, s)
}
