package textutil

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// jsonValues returns the values of a text of JSON values, with numbers as they are written.
func jsonValues(t testing.TB, text []byte) []any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	values := []any{}
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			return values
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		values = append(values, v)
	}
}

func TestConformanceYAMLSuite(t *testing.T) {
	dir := Vectors(t, "text", "yaml", "yaml-test-suite")
	cases, err := filepath.Glob(filepath.Join(dir, "*", "in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var valid, validOK, invalid, invalidOK, equal, equalOK, events, eventsOK int
	for _, in := range cases {
		folder := filepath.Dir(in)
		name := filepath.Base(folder)
		text, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		reading := readYAML(string(text))
		if _, err := os.Stat(filepath.Join(folder, "error")); err == nil {
			invalid++
			if reading.err != nil {
				invalidOK++
			} else {
				t.Errorf("%s: accepted\n%s", name, text)
			}
			continue
		}
		valid++
		if reading.err != nil {
			line, column := position(reading.text, reading.err.(*yamlError).offset)
			t.Errorf("%s: refused: %d:%d: %v\n%s", name, line, column, reading.err, text)
			continue
		}
		validOK++
		if want, err := os.ReadFile(filepath.Join(folder, "test.event")); err == nil {
			events++
			if got := eventsOf(t, reading); got == comparable(string(want)) {
				eventsOK++
			} else {
				t.Errorf("%s: events\n%s\nwant\n%s", name, got, comparable(string(want)))
			}
		}
		want, err := os.ReadFile(filepath.Join(folder, "in.json"))
		if err != nil {
			continue
		}
		equal++
		got, err := reading.toJSON(2, true, maxResult)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if list := jsonValues(t, []byte(got)); reflect.DeepEqual(list[0], any(jsonValues(t, want))) {
			equalOK++
		} else {
			t.Errorf("%s: got %s want %s", name, got, want)
		}
	}
	t.Logf("yaml-test-suite valid: %d/%d", validOK, valid)
	t.Logf("yaml-test-suite invalid: %d/%d", invalidOK, invalid)
	t.Logf("yaml-test-suite json: %d/%d", equalOK, equal)
	t.Logf("yaml-test-suite events: %d/%d", eventsOK, events)
}

// comparable leaves out what the tree does not tell: markers of documents, and styles.
func comparable(events string) string {
	var b strings.Builder
	for line := range strings.Lines(events) {
		line = strings.TrimSpace(strings.TrimRight(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+STR"), strings.HasPrefix(line, "-STR"):
			continue
		case strings.HasPrefix(line, "+DOC"), strings.HasPrefix(line, "-DOC"):
			line = line[:4]
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// eventsOf returns the tree as the events of the suite.
func eventsOf(t testing.TB, r *yamlReading) string {
	t.Helper()
	if r.json {
		r.stream.placeJSON()
	} else if !r.stream.place() {
		t.Fatalf("the places of the nodes of %q were not found", r.text)
	}
	var b strings.Builder
	for _, doc := range r.stream.docs {
		b.WriteString("+DOC\n")
		writeEvents(&b, r.stream, doc.root)
		b.WriteString("-DOC\n")
	}
	return b.String()
}

// valueOf returns what a scalar says, and its tag.
func valueOf(s *yamlStream, n *yamlNode) (value, tag string) {
	switch {
	case n.tree != nil:
		return s.value(n.tree), yamlTag(n.tree)
	case n.style == yamlDouble:
		return unquoteJSON(s.raw(n)), ""
	}
	return s.raw(n), ""
}

func writeEvents(b *strings.Builder, s *yamlStream, n *yamlNode) {
	props := ""
	if n.anchor() != "" {
		props += " &" + n.anchor()
	}
	value, tag := valueOf(s, n)
	if tag != "" {
		props += " <" + tag + ">"
	}
	switch n.kind {
	case yamlAlias:
		b.WriteString("=ALI " + s.raw(n) + "\n")
		return
	case yamlScalar:
		value := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t", "\r", "\\r", "\b", "\\b").Replace(value)
		line := "=VAL" + props + " " + string([]byte{":'\"|>"[n.style]}) + value
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		return
	case yamlSequence:
		if n.style == yamlFlow {
			props = " []" + props
		}
		b.WriteString("+SEQ" + props + "\n")
	case yamlMapping:
		if n.style != yamlBlock {
			props = " {}" + props
		}
		b.WriteString("+MAP" + props + "\n")
	}
	for child := n.first; child != nil; child = child.next {
		writeEvents(b, s, child)
	}
	b.WriteString(map[yamlKind]string{yamlSequence: "-SEQ\n", yamlMapping: "-MAP\n"}[n.kind])
}
