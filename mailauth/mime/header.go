package mime

import (
	"bytes"
	"strings"
)

const (
	// maxFields bounds the fields of one part; real messages have at most a few hundred.
	maxFields = 10_000

	// maxHeader bounds the values of the fields of one part, in bytes: a value in many lines, folded again, takes
	// several times the memory of its text.
	maxHeader = 256 << 10
)

// A Field is a field of a header: its value is unfolded, and without white space around it.
type Field struct {
	Name, Value string
}

// A Header is the fields of a message or part, in order.
type Header []Field

// Get returns the value of the first field of a name, whatever its case; empty if there is none.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// All returns the values of all fields of a name, in order.
func (h Header) All(name string) (values []string) {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// Split returns the fields before the first blank line, and what comes behind it. Lines that are no part of a
// field, such as the one that mail boxes have before a message, are passed over.
func Split(text []byte) (Header, []byte) {
	var h Header
	var value []string
	name, room := "", maxHeader
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" && len(part) <= room {
			value = append(value, part)
			room -= len(part)
		}
	}
	flush := func() {
		if name != "" && len(h) < maxFields {
			h = append(h, Field{name, strings.Join(value, " ")})
		}
		name, value = "", nil
	}
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		if len(line) == 0 {
			break
		}
		// RFC 5322 section 2.2.3: a line that begins with white space continues the field.
		if line[0] == ' ' || line[0] == '\t' {
			add(string(line))
			continue
		}
		flush()
		n, v, ok := strings.Cut(string(line), ":")
		if n = strings.TrimRight(n, " \t"); !ok || n == "" || strings.ContainsAny(n, " \t") {
			continue
		}
		name = n
		add(v)
	}
	flush()
	return h, text
}

// cutLine returns the first line without its end, and what follows.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}
