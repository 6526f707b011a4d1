package textutil

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sameAfterFormat returns why formatting is not faithful, or nothing: the result means the same, has the
// same comments, and stays as it is when formatted again.
func sameAfterFormat(t testing.TB, text string, indent int, sorted bool) string {
	before := readYAML(text)
	if before.err != nil {
		return ""
	}
	result, err := before.format(indent, sorted, maxResult)
	if err != nil {
		if _, ok := err.(*InputError); ok {
			return ""
		}
		return "refused: " + err.Error()
	}
	after := readYAML(result)
	if after.err != nil {
		return "not valid: " + after.err.Error() + "\n" + result
	}
	was := quotedDashes(eventsOf(t, before))
	if is := eventsOf(t, after); was != is && !sorted {
		return "events\n" + was + "became\n" + is + "\n" + result
	}
	if was, is := commentsOf(before.stream), commentsOf(after.stream); !slices.Equal(was, is) {
		return "comments " + strings.Join(was, "|") + " became " + strings.Join(is, "|") + "\n" + result
	}
	again, err := after.format(indent, sorted, maxResult)
	if err != nil || again != result {
		return "not stable:\n" + result + "\nbecame\n" + again
	}
	return ""
}

// quotedDashes puts scalars in quotes that are a dash, which the grammar does not allow to be plain.
func quotedDashes(events string) string {
	var b strings.Builder
	for line := range strings.Lines(events) {
		if strings.HasPrefix(line, "=VAL") && strings.HasSuffix(line, " :-\n") && strings.Count(line, " :") == 1 {
			line = strings.TrimSuffix(line, ":-\n") + "\"-\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// commentsOf returns the comments of a stream, sorted.
func commentsOf(s *yamlStream) []string {
	var list []string
	for _, c := range s.comments {
		list = append(list, strings.TrimRight(s.text[c.start:c.end], " \t"))
	}
	slices.Sort(list)
	return list
}

func TestConformanceYAMLFormat(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(Vectors(t, "text", "yaml", "yaml-test-suite"), "*", "in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wrong := ""
		for _, indent := range []int{1, 2, 3, 8} {
			for _, sorted := range []bool{false, true} {
				if wrong == "" {
					wrong = sameAfterFormat(t, string(text), indent, sorted)
				}
			}
		}
		if wrong != "" {
			t.Errorf("%s:\n%s\n%s", filepath.Base(filepath.Dir(file)), text, wrong)
			continue
		}
		passed++
	}
	t.Logf("yaml-test-suite formatted: %d/%d", passed, len(files))
}
