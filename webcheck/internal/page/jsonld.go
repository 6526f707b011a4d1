package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// The limits of reading a block of JSON-LD.
const (
	maxJSONLD  = 1 << 20 // bytes: a longer one is not read
	maxTypes   = 20      // of a block
	maxSnippet = 40      // bytes of the text at an error
)

// jsonLD reads a block of JSON-LD as search engines do: as JSON, strictly (RFC 8259; JSON-LD 1.1 section 7).
func jsonLD(text string) Structured {
	s := Structured{Format: "json-ld", Types: []string{}}
	var raw json.RawMessage
	switch {
	case len(text) > maxJSONLD:
		s.Error = "it is longer than 1 MiB"
		return s
	case strings.Trim(text, " \t\r\n") == "":
		s.Error = "it is empty"
		return s
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		s.fault(text, err)
		return s
	}
	s.Valid = true
	s.collect(raw, 0)
	return s
}

// fault says where the JSON breaks, and of which of the usual mistakes it looks.
func (s *Structured) fault(text string, err error) {
	s.Error = "it is not valid JSON"
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return
	}
	at := min(max(int(syntax.Offset)-1, 0), len(text))
	if strings.Contains(syntax.Error(), "unexpected end") {
		at = len(text)
	}
	before := text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	s.Line, s.Column = strings.Count(before, "\n")+1, utf8.RuneCountInString(before[line:])+1
	s.Snippet = strings.ToValidUTF8(clip(Collapse(clip(text[at:], 4*maxSnippet)), maxSnippet), "\uFFFD")
	last := strings.TrimRight(before, " \t\r\n")
	start := strings.TrimLeft(text, " \t\r\n")
	switch {
	case strings.HasPrefix(start, "<!--"), strings.HasPrefix(start, "<![CDATA["), strings.HasPrefix(start, "//"),
		strings.HasPrefix(start, "/*"):
		s.Error = "it begins with a comment, which JSON does not have"
	case at == len(text):
		s.Error = "it breaks off before its end"
	case strings.HasSuffix(last, ",") && (text[at] == '}' || text[at] == ']'):
		s.Error = "it has a comma after the last member, before " + string(text[at])
	case text[at] == '\n' || text[at] == '\r' || text[at] == '\t':
		s.Error = "a string has a line end or tab in it, which JSON writes \\n or \\t"
	case text[at] == '\'' || strings.HasPrefix(text[at:], "“") || strings.HasPrefix(text[at:], "”"):
		s.Error = "it has a quotation mark other than \""
	case strings.HasPrefix(text[at:], "//") || strings.HasPrefix(text[at:], "/*"):
		s.Error = "it has a comment, which JSON does not have"
	case start != "" && start[0] != '{' && start[0] != '[':
		s.Error = "it is not a JSON object or array"
	}
}

// collect takes the types of an object, of the members of an array, and of those of @graph.
func (s *Structured) collect(raw json.RawMessage, depth int) {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if depth > 2 || len(raw) == 0 {
		return
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, item := range list {
				s.collect(item, depth+1)
			}
		}
		return
	}
	var o map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &o) != nil {
		return
	}
	var one string
	var many []string
	if json.Unmarshal(o["@type"], &one) == nil {
		many = []string{one}
	} else if json.Unmarshal(o["@type"], &many) != nil {
		many = nil
	}
	for _, t := range many {
		if len(s.Types) < maxTypes {
			s.Types = append(s.Types, shortType(t))
		}
	}
	if graph := o["@graph"]; len(graph) > 0 {
		s.collect(graph, depth+1)
	}
}

func shortType(t string) string {
	for _, prefix := range []string{"https://schema.org/", "http://schema.org/", "schema:"} {
		if name, ok := strings.CutPrefix(t, prefix); ok {
			t = name
		}
	}
	return clip(t, 100)
}

// startJSONLD reads a block of JSON-LD at its end.
func (r *reader) startJSONLD(e *element) {
	r.capture(e, maxJSONLD+1, func(c *capture) {
		s := jsonLD(c.String())
		if !s.Valid {
			r.Counts.JSONLDInvalid++
		}
		r.item(s)
	})
}

func (r *reader) item(s Structured) {
	size := 200
	for _, t := range s.Types {
		size += len(t)
	}
	appendBounded(r, &r.Structured, maxStructured, size, s)
}

// attributes takes what any element may have: items of microdata and RDFa, styles.
func (r *reader) attributes(e *element) {
	var scope, prop, typed bool
	var itemType, rdfa string
	for i := range e.attrs {
		a := &e.attrs[i]
		switch {
		case a.Key == "itemscope":
			scope = true
		case a.Key == "itemprop":
			prop = true
		case a.Key == "itemtype":
			itemType = a.Val
		case a.Key == "typeof":
			typed, rdfa = true, a.Val
		case a.Key == "style" && strings.IndexByte(a.Val, '(') >= 0:
			r.styles(e.name, clip(a.Val, MaxValue))
		}
	}
	if scope && !prop { // html.spec.whatwg.org section 5.2.2: a top-level item
		s := Structured{Format: "microdata", Types: shortTypes(itemType), Valid: itemType != ""}
		if !s.Valid {
			s.Error = "it has no itemtype"
		}
		r.item(s)
	}
	if typed && strings.TrimSpace(rdfa) != "" {
		r.item(Structured{Format: "rdfa", Types: shortTypes(rdfa), Valid: true})
	}
}

func shortTypes(s string) []string {
	list := []string{}
	for t := range strings.FieldsSeq(clip(s, MaxValue)) {
		if len(list) < maxTypes {
			list = append(list, shortType(t))
		}
	}
	return list
}
