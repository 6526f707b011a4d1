package textutil

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRegexResult bounds the text after replacement, in bytes.
const maxRegexResult = 4 << 20

// A regexPart is a piece of a replacement: a text, or the group that stands in its place.
type regexPart struct {
	text  string
	group int // 0: the match; -1: the text
}

// replace puts the replacement in place of every match of the report.
func (req *RegexRequest) replace(report *RegexReport, names []string) error {
	if req.Replacement == nil {
		return nil
	}
	parts, findings := parseReplacement(*req.Replacement, names)
	report.Findings = append(report.Findings, findings...)
	size := len(req.Text)
	for i := range report.Matches {
		m := &report.Matches[i]
		size -= len(m.Value)
		for _, p := range parts {
			size += len(p.in(m))
		}
		if size-len(req.Text) > maxRegexResult { // what is behind the match may be removed yet, but not more than all
			return invalid("replacement", "makes a text of more than %d bytes", maxRegexResult)
		}
	}
	var b strings.Builder
	b.Grow(size)
	last := 0
	for i := range report.Matches {
		m := &report.Matches[i]
		b.WriteString(req.Text[last:m.Start])
		for _, p := range parts {
			b.WriteString(p.in(m))
		}
		last = m.End
	}
	b.WriteString(req.Text[last:])
	result := b.String()
	report.Result, report.OutputBytes = &result, len(result)
	return nil
}

func (p regexPart) in(m *RegexMatch) string {
	switch {
	case p.group < 0:
		return p.text
	case p.group == 0:
		return m.Value
	case p.group > len(m.Groups) || !m.Groups[p.group-1].Matched:
		return ""
	}
	return *m.Groups[p.group-1].Value
}

// parseReplacement cuts a replacement into parts. A group that the pattern does not have stands for
// nothing, and is found; a dollar sign that begins no reference stands for itself.
func parseReplacement(text string, names []string) ([]regexPart, []Finding) {
	parts, findings := []regexPart{}, []Finding{}
	for at := 0; at < len(text); {
		dollar := strings.IndexByte(text[at:], '$')
		if dollar < 0 {
			parts = append(parts, regexPart{text: text[at:], group: -1})
			break
		}
		if dollar > 0 {
			parts = append(parts, regexPart{text: text[at : at+dollar], group: -1})
		}
		at += dollar
		name, size := regexReference(text[at:])
		switch group := regexGroupNamed(name, names); {
		case name == "":
			parts = append(parts, regexPart{text: "$", group: -1})
		case group >= 0:
			parts = append(parts, regexPart{group: group})
		default:
			findings = append(findings, Finding{
				Code: "text.regex.replacement_group", Severity: Warning,
				Title:    "Group of the replacement not in the pattern",
				Advice:   "Name a group of the pattern, or write $$ for a dollar sign",
				Detail:   fmt.Sprintf("The pattern has no group %q; nothing is put in its place.", name),
				Location: &Location{Offset: at, Length: size},
			})
		}
		at += size
	}
	return parts, findings
}

// regexReference reads the reference that the text begins with. The name is empty for $$ and for a
// dollar sign that stands for itself.
func regexReference(text string) (name string, size int) {
	rest := text[1:]
	switch {
	case strings.HasPrefix(rest, "$"):
		return "", 2
	case strings.HasPrefix(rest, "{"):
		if end := strings.IndexByte(rest, '}'); end > 1 {
			return rest[1:end], end + 2
		}
		return "", 1
	}
	// $1x is group 1 and an x, as in JavaScript and Perl; a name ends where its letters end.
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	for n < len(rest) && (n == 0 || rest[0] > '9') && strings.IndexByte(asciiAlphanumeric+"_", rest[n]) >= 0 {
		n++
	}
	return rest[:n], n + 1
}

// regexGroupNamed returns the number of the group with a name or number, or -1.
func regexGroupNamed(name string, names []string) int {
	if n, err := strconv.Atoi(name); err == nil && 0 <= n && n < len(names) {
		return n
	}
	for i, other := range names {
		if i > 0 && name != "" && name == other {
			return i
		}
	}
	return -1
}
