package textutil

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

const codeYAMLMerge = "text.yaml.v1_1.merge"

// versionDifferences are plain scalars that YAML 1.1 parsers, such as PyYAML, read as another type than those of 1.2.
// In a detail, %[1]s is the scalar, %[2]s what YAML 1.2 reads and %[3]s what YAML 1.1 reads; in an advice, %[1]s is the
// scalar in quotes.
var versionDifferences = map[yaml.Legacy]struct {
	code, title, detail, advice string
	severity                    Severity
}{
	yaml.LegacyBool: {"text.yaml.v1_1.boolean", "Boolean in YAML 1.1, string in YAML 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1, which PyYAML follows, as the boolean %[3]s.",
		"Write %[1]s if it is text, and true or false if it is a boolean.", Warning},
	yaml.LegacyOctal: {"text.yaml.v1_1.octal", "Octal number read differently by YAML 1.1 and 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1, which PyYAML follows, as %[3]s.",
		"Write %[1]s if it is text, such as the mode of a file, and the number in decimal if it is a number.", Warning},
	yaml.LegacyZero: {"text.yaml.number.leading_zero", "Number with a leading zero",
		"YAML 1.2 reads %[1]s as %[2]s, without the leading zero; of the readers of YAML 1.1, some take it for a string " +
			"and others for the number.",
		"Write %[1]s if it is text, such as a telephone number, and the number without the zero otherwise.", Warning},
	yaml.LegacySameZero: {"text.yaml.number.leading_zero", "Number with a leading zero",
		"YAML reads %[1]s as %[2]s, without the leading zero.",
		"Write %[1]s if the zero belongs to a text.", Info},
	yaml.LegacyBase60: {"text.yaml.v1_1.base60", "Base-60 number in YAML 1.1, string in YAML 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1, which PyYAML follows, as a number to the base 60.",
		"Write %[1]s.", Warning},
	yaml.LegacyNumber: {"text.yaml.v1_1.number", "Number in YAML 1.1, string in YAML 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1, which PyYAML follows, as a number.",
		"Write %[1]s if it is text, and the number in decimal digits alone otherwise.", Warning},
	yaml.LegacyNoNumber: {"text.yaml.v1_1.exponent", "String in YAML 1.1, number in YAML 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1, which PyYAML follows, as a string: it wants a point and a sign " +
			"of the exponent.",
		"Write %[1]s if it is text, and a point and a sign, such as 1.0e+3, if it is a number.", Warning},
	yaml.LegacyTime: {"text.yaml.v1_1.timestamp", "Timestamp in YAML 1.1, string in YAML 1.2",
		"YAML 1.2 reads %[1]s as %[2]s, and YAML 1.1 as a timestamp, from which PyYAML makes a date.",
		"Write %[1]s if readers of YAML 1.1 are to find a string, too.", Info},
	// Who formats a file for a program that merges has written it rightly.
	yaml.LegacyMerge: {codeYAMLMerge, "Merge key in YAML 1.1, string in YAML 1.2",
		"YAML 1.2 reads %[1]s as a key like others; many programs merge the mapping behind it into the one around.",
		"Write the merged pairs out in place of %[1]s for a program that does not merge.", Info},
}

// compareVersions adds a finding about a plain scalar that has another type in YAML 1.1, which many parsers follow.
func (r *yamlReading) compareVersions(n *yaml.Node, value string) {
	legacy := yaml.LegacyOf(value)
	trap, ok := versionDifferences[legacy]
	if !ok || !r.hasRoom() {
		return
	}
	now := "a string"
	if t, text, _ := r.stream.Resolve(n); t == yaml.Int || t == yaml.Float {
		now = "the number " + clip(text)
	}
	old := "a string"
	switch word := strings.ToLower(value); {
	case legacy == yaml.LegacyBool:
		old = strconv.FormatBool(word == "yes" || word == "on")
	case legacy == yaml.LegacyOctal && !strings.Contains(word, "o"):
		old = "the octal number " + clip(yaml.FromOctal(value))
	}
	quoted := clip(string(yaml.AppendString(nil, value)))
	r.addNode(Finding{Code: trap.code, Severity: trap.severity, Title: trap.title, Reference: "YAML 1.2.2 section 10.3",
		Detail: fmt.Sprintf(trap.detail, clip(value), now, old), Advice: fmt.Sprintf(trap.advice, quoted)}, n)
}
