package yaml

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConformanceYAMLSuite(t *testing.T) {
	var valid, validOK, invalid, invalidOK int
	for _, folder := range suite(t) {
		name, text := filepath.Base(folder), content(t, folder, "in.yaml")
		stream, err := Parse(text, 1<<20)
		if _, statErr := os.Stat(filepath.Join(folder, "error")); statErr == nil {
			invalid++
			if err == nil {
				t.Errorf("%s: accepted\n%s", name, text)
				continue
			}
			invalidOK++
			continue
		}
		valid++
		if err != nil {
			t.Errorf("%s: refused: %+v\n%s", name, err, text)
			continue
		}
		want := normalizeEvents(content(t, folder, "test.event"))
		if got := eventsOf(stream); got != want {
			t.Errorf("%s: events\n%s\nwant\n%s", name, got, want)
			continue
		}
		validOK++
	}
	t.Logf("yaml-test-suite valid, with events: %d/%d", validOK, valid)
	t.Logf("yaml-test-suite invalid: %d/%d", invalidOK, invalid)
}

// normalizeEvents leaves out what the tree does not hold: document markers.
func normalizeEvents(events string) string {
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
func eventsOf(s *Stream) string {
	var b strings.Builder
	for _, doc := range s.Documents {
		b.WriteString("+DOC\n")
		writeEvents(&b, s, doc.Root)
		b.WriteString("-DOC\n")
	}
	return b.String()
}

func writeEvents(b *strings.Builder, s *Stream, n *Node) {
	props := ""
	if n.Anchor() != "" {
		props += " &" + n.Anchor()
	}
	if n.Tag() != "" {
		props += " <" + n.Tag() + ">"
	}
	switch n.Kind() {
	case alias:
		b.WriteString("=ALI " + s.raw(n) + "\n")
	case Scalar:
		value := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t", "\r", "\\r", "\b", "\\b").Replace(s.Value(n))
		line := "=VAL" + props + " " + string([]byte{":'\"|>"[n.Style()]}) + value
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	case Sequence:
		if n.Style() == flow {
			props = " []" + props
		}
		b.WriteString("+SEQ" + props + "\n")
	case Mapping:
		if n.Style() != Block {
			props = " {}" + props
		}
		b.WriteString("+MAP" + props + "\n")
	}
	for child := n.First(); child != nil; child = child.Next() {
		writeEvents(b, s, child)
	}
	b.WriteString(map[Kind]string{Sequence: "-SEQ\n", Mapping: "-MAP\n"}[n.Kind()])
}

func TestConformanceYAMLFormat(t *testing.T) {
	passed, total := 0, 0
	for _, folder := range suite(t) {
		total++
		wrong := ""
		text := content(t, folder, "in.yaml")
		for _, indent := range []int{1, 2, 3, 8} {
			for _, sorted := range []bool{false, true} {
				if wrong == "" {
					wrong = sameAfterFormat(text, indent, sorted)
				}
			}
		}
		if wrong != "" {
			t.Errorf("%s:\n%s\n%s", filepath.Base(folder), text, wrong)
			continue
		}
		passed++
	}
	t.Logf("yaml-test-suite formatted: %d/%d", passed, total)
}

// sameAfterFormat returns why formatting is not faithful, or nothing: the result means the same, has the
// same comments, and stays as it is when formatted again.
func sameAfterFormat(text string, indent int, sorted bool) string {
	before, err := Parse(text, 1<<20)
	if err != nil {
		return ""
	}
	layout := Layout{Indent: indent, SortKeys: sorted, Limit: 1 << 24}
	was := eventsOf(before)
	result, _ := before.Format(layout)
	after, err := Parse(result, 1<<20)
	if err != nil {
		if _, ok := err.(*LimitError); ok {
			return ""
		}
		return "not valid: " + err.Error() + "\n" + result
	}
	if is := eventsOf(after); was != is && !sorted {
		return "events\n" + was + "became\n" + is + "\n" + result
	}
	if was, is := commentsOf(before), commentsOf(after); !slices.Equal(was, is) {
		return "comments " + strings.Join(was, "|") + " became " + strings.Join(is, "|") + "\n" + result
	}
	if again, _ := after.Format(layout); again != result {
		return "not stable:\n" + result + "\nbecame\n" + again
	}
	return ""
}

// commentsOf returns the comments of a stream, sorted.
func commentsOf(s *Stream) []string {
	var list []string
	for _, c := range s.comments {
		list = append(list, strings.TrimRight(s.Text[c.start:c.end], " \t"))
	}
	slices.Sort(list)
	return list
}
