package mtasts

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// misnamed is a field whose name is that of none, and like that of one.
type misnamed struct {
	name string
	line int
}

// fieldInside finds where a field begins, also one that does not begin a line: what stands before it is its end.
var fieldInside = diag.Regexp(`(?i)(?:^|[;,\s]|\\r|\\n)\s*((?:version|mode|mx|max_age)\s*:)`)

// runTogether cuts a line on which more than one field stands into these; nil for any other line.
func runTogether(line string) (parts []string) {
	places := fieldInside().FindAllStringSubmatchIndex(line, -1)
	for i, at := range places {
		end := len(line)
		if i+1 < len(places) {
			end = places[i+1][2]
		}
		part := strings.TrimRight(line[at[2]:end], "\\; ,\t")
		if name, value, _ := strings.Cut(part, ":"); strings.TrimSpace(value) != "" {
			parts = append(parts, strings.TrimSpace(name)+": "+strings.TrimSpace(value))
		}
	}
	if len(parts) < 2 || len(parts) < len(places) {
		return nil
	}
	return parts
}

// like returns the name of the field that was probably meant by a name that is none; empty if none was.
func like(name string) string {
	squeezed := strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	for _, known := range fields {
		if squeezed == strings.ReplaceAll(known, "_", "") {
			return known
		}
	}
	if len(name) == 3 && strings.Contains(strings.ToLower(name), "mx") { // a letter was typed beside it
		return "mx"
	}
	return taglist.Nearest(name, fields...)
}

func hint(name string) string { return ", but one named " + like(name) }
