package mtasts

import (
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// misnamed is a field with an unknown name that resembles a known one.
type misnamed struct {
	name string
	line int
}

// fieldInside matches the beginning of a field, also inside a line: the preceding text ends the previous field.
var fieldInside = kit.Regexp(`(?i)(?:^|[;,\s]|\\r|\\n)\s*((?:version|mode|mx|max_age)\s*:)`)

// runTogether splits a line with more than one field into its fields; nil for any other line.
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

// similarField returns the field name that an unknown name was probably meant to be; empty if no field name
// resembles it.
func similarField(name string) string {
	squeezed := strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	for _, known := range fields {
		if squeezed == strings.ReplaceAll(known, "_", "") {
			return known
		}
	}
	if len(name) == 3 && strings.Contains(strings.ToLower(name), "mx") { // one letter is mistyped
		return "mx"
	}
	return phrase.Nearest(name, fields...)
}

func hint(name string) string { return ", but one named " + similarField(name) }
