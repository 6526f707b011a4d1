package textutil

import (
	"fmt"

	"github.com/diagkit/diagkit/textutil/yaml"
)

// versionTraps are what readers of YAML 1.1 take a plain scalar for: what follows "YAML 1.2 reads" in a detail.
var versionTraps = map[yaml.Legacy]struct{ code, title, detail, advice string }{
	yaml.LegacyBool: {"text.yaml.v1_1.boolean", "Boolean in YAML 1.1, string in YAML 1.2",
		"%s as a string, and YAML 1.1 as a boolean.", "Put it in quotes, or write true or false."},
	yaml.LegacyOctal: {"text.yaml.v1_1.octal", "Octal number read differently by YAML 1.1 and 1.2",
		"%s as it reads no other version: a leading 0 makes a number octal in YAML 1.1 alone, and 0o in 1.2 alone.",
		"Write the number in decimal, or put it in quotes."},
	yaml.LegacyBase60: {"text.yaml.v1_1.base60", "Base-60 number in YAML 1.1, string in YAML 1.2",
		"%s as a string, and YAML 1.1 as a number to the base 60.", "Put it in quotes."},
	yaml.LegacyNumber: {"text.yaml.v1_1.number", "Number in YAML 1.1, string in YAML 1.2",
		"%s as a string, and YAML 1.1 as a number.", "Put it in quotes, or write the number in decimal digits alone."},
	yaml.LegacyNoNumber: {"text.yaml.v1_1.exponent", "String in YAML 1.1, number in YAML 1.2",
		"%s as a number, and YAML 1.1 as a string: it wants a point and a sign of the exponent.",
		"Put it in quotes, or write it with a point and a sign, such as 1.0e+3."},
	yaml.LegacyMerge: {codeYAMLMerge, "Merge key in YAML 1.1, string in YAML 1.2",
		"%s as a key like others; many readers merge the mapping behind it into the one around.",
		"Ask for merging, or write the merged pairs out."},
}

// compareVersions adds findings about scalars in a node that YAML 1.1, which many readers follow, takes for
// something else.
func (r *yamlReading) compareVersions(n *yaml.Node) {
	if n.Kind() == yaml.Scalar && n.Style() == yaml.Plain && n.Tag() == "" {
		value := r.stream.Value(n)
		legacy := yaml.LegacyOf(value)
		if trap, ok := versionTraps[legacy]; legacy != yaml.SameInBoth && ok {
			r.addNode(Finding{Code: trap.code, Severity: Warning, Title: trap.title,
				Detail: fmt.Sprintf("YAML 1.2 reads "+trap.detail, fmt.Sprintf("%.40q", value)),
				Advice: trap.advice, Reference: "YAML 1.2.2 section 10.3"}, n)
		}
	}
	for child := n.First(); child != nil; child = child.Next() {
		r.compareVersions(child)
	}
}
