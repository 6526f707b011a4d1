package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An example is one request and the reply to it.
type example struct {
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply,omitempty"` // absent for an image
}

// docName is the name of the operation's documents: /spf/hosted/{id} is spf-hosted-id.
func (ep Endpoint) docName() string {
	return strings.NewReplacer("/", "-", "{", "", "}", "").Replace(ep.Name())
}

// keptExample returns the example of an operation that is kept in docs; a new operation has none yet.
func keptExample(ep Endpoint) example {
	text, err := os.ReadFile("docs/operations/" + ep.docName() + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return example{}
	}
	var ex example
	if err == nil {
		err = json.Unmarshal(text, &ex)
	}
	if err != nil {
		panic("httpapi: the example of " + ep.ID() + ": " + err.Error())
	}
	return ex
}

// A reply of the OpenAPI document is whole up to wholeReply bytes. A larger one has lists of one entry or, if it is
// larger than briefReply then, none; it is left out if it is larger than maxReply even so.
const (
	wholeReply = 500
	briefReply = 600
	maxReply   = 1100
)

// shortened makes an example fit the document, or returns nil.
func shortened(reply json.RawMessage, t reflect.Type) any {
	text := asJSON(reply)
	if len(text) <= wholeReply {
		return json.RawMessage(text)
	}
	for most, limit := 1, briefReply; most >= 0; most, limit = most-1, maxReply {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			panic("httpapi: an example of " + t.String() + ": " + err.Error())
		}
		if v = cut(v, t, most); len(asJSON(v)) <= limit {
			return v
		}
	}
	return nil
}

// cut shortens the lists and maps of a value, and leaves out its optional members.
func cut(v any, t reflect.Type, most int) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		v = v[:min(most, len(v))]
		for i := range v {
			v[i] = cut(v[i], t.Elem(), most)
		}
		return v
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, name := range slices.Sorted(maps.Keys(v))[min(most, len(v)):] {
				delete(v, name)
			}
		}
		if t.Kind() != reflect.Struct {
			return v
		}
		for _, sf := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			if member, ok := v[name]; ok && optional(sf) {
				delete(v, name)
			} else if ok {
				least, _ := strconv.Atoi(sf.Tag.Get("minitems"))
				v[name] = cut(member, sf.Type, max(most, least))
			}
		}
	}
	return v
}

// asJSON is a value as JSON, on one line.
func asJSON(v any) []byte {
	text, err := encode(v)
	if err != nil {
		panic("httpapi: a document: " + err.Error())
	}
	return bytes.TrimSpace(text)
}

// maxLine is the maximum length in bytes of a line of a document that holds more than one member.
const maxLine = 800

// laidOut is a value as JSON in which each object and list that does not fit a line has a line for each of its
// members, so that a change of one touches no line of others.
func laidOut(v any, indent string) []byte {
	var b bytes.Buffer
	layOut(&b, asJSON(v), "\n", indent)
	b.WriteByte('\n')
	return b.Bytes()
}

func layOut(b *bytes.Buffer, text []byte, line, indent string) {
	if len(text) <= maxLine || text[0] == '"' {
		b.Write(text)
		return
	}
	d := json.NewDecoder(bytes.NewReader(text)) // of encoded JSON: it does not fail
	_, _ = d.Token()
	b.WriteByte(text[0])
	for separator := ""; d.More(); separator = "," {
		b.WriteString(separator + line + indent)
		if text[0] == '{' {
			name, _ := d.Token()
			b.Write(asJSON(name))
			b.WriteByte(':')
		}
		var member json.RawMessage
		_ = d.Decode(&member)
		layOut(b, member, line+indent, indent)
	}
	b.WriteString(line)
	b.WriteByte(text[len(text)-1])
}
