package textutil

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A role is the position of a node in its parent.
type role uint8

const (
	rootRole  role = 0
	keyRole   role = 1
	valueRole role = 2 // also an item of a sequence
)

// findPitfalls adds findings about what is valid in a node, and does not mean what people have in mind who write it so.
func (r *yamlReading) findPitfalls(n *yaml.Node, as role) {
	if r.findPlaceholder(n) {
		return
	}
	if n.Kind() == yaml.Scalar && n.Style() == yaml.Plain && n.Tag() == "" {
		r.findPlainPitfalls(n, as)
	}
	isKey := n.Kind() == yaml.Mapping
	inBraces := isKey && strings.HasPrefix(r.raw(n), "{")
	for child := n.First(); child != nil; child = child.Next() {
		if isKey {
			r.findPitfalls(child, keyRole)
			if inBraces && r.raw(child.Next()) == "" && spanEnd(child) == spanEnd(child.Next()) { // there is no colon
				r.findMissingSpace(child)
			}
		} else {
			r.findPitfalls(child, valueRole)
		}
		isKey = !isKey && n.Kind() == yaml.Mapping
	}
}

// raw returns a node as it is written.
func (r *yamlReading) raw(n *yaml.Node) string {
	start, end := n.Span()
	return r.text[start:end]
}

func spanEnd(n *yaml.Node) int {
	_, end := n.Span()
	return end
}

// findPlaceholder reports whether a node is written as the placeholder of a template, "{{ name }}", which is a mapping
// with a mapping as its key (YAML 1.2.2 section 7.4.2), and adds a finding about it.
func (r *yamlReading) findPlaceholder(n *yaml.Node) bool {
	text := ""
	if n.Kind() == yaml.Mapping {
		text = r.raw(n)
	}
	if !strings.HasPrefix(text, "{{") || !strings.HasSuffix(text, "}}") || n.Len() != 1 {
		return false
	}
	key := n.First()
	if r.raw(key) != text[1:len(text)-1] || r.raw(key.Next()) != "" {
		return false
	}
	if r.placeholders == nil {
		r.placeholders = map[*yaml.Node]bool{}
	}
	r.placeholders[key], r.placeholders[n] = true, true
	r.addNode(Finding{Code: "text.yaml.template.unquoted", Severity: Warning, Title: "Template placeholder without quotes",
		Detail: fmt.Sprintf("Without quotes, %s is a mapping whose key is a mapping, not a placeholder of a template.",
			firstLine(text)),
		Advice: "Put the placeholder in quotes" + quotedForm(text) + ".", Reference: "YAML 1.2.2 section 7.4.2"}, n)
	return true
}

// quotedForm returns how a text is written as a string in YAML, behind a colon, or nothing if it is too long to be
// shown.
func quotedForm(text string) string {
	const longest = 100
	if len(text) > longest || strings.Contains(text, "\n") {
		return ""
	}
	return ": " + string(yaml.AppendString(nil, text))
}

// firstLine returns the first line of a text, or as much of it as a detail shows.
func firstLine(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if clipped := clip(line); clipped != line || !more {
		return clipped
	}
	return line + "…"
}

// findPlainPitfalls finds what a plain scalar hides.
func (r *yamlReading) findPlainPitfalls(n *yaml.Node, as role) {
	text := r.raw(n)
	if as == valueRole {
		r.findComments(n, text)
	}
	if text == "" {
		r.findLoneAnchor(n)
		return
	}
	r.compareVersions(n, r.stream.Value(n))
	if utf8.RuneCountInString(text) < len(text) {
		r.findInvisible(n, text, as == keyRole)
	}
	switch {
	case strings.Contains(text, "\n"):
		r.findMultiline(n, text, as)
	case as == rootRole:
		r.addMissingSpace(n, text, "so the document is a string")
	}
}

// lazyRegexp compiles an expression when it is first needed.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	// wordInComment matches a comment that is a value: a color, a channel or a number.
	wordInComment = lazyRegexp(`^[ \t]*(#[^\s#!]\S*)[ \t]*(\n|$)`)
	// numberInComment matches a comment that continues with text, such as "Issue #5".
	numberInComment = lazyRegexp(`^[ \t]+#[0-9]`)
	// typographic matches a text in typographic quotes.
	typographic = lazyRegexp(`^[“‘]([^“”‘’]*)[”’]$`)
)

// findComments finds values that are a comment, in whole or in part (YAML 1.2.2 section 6.6).
func (r *yamlReading) findComments(n *yaml.Node, text string) {
	end := spanEnd(n)
	at := end
	for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') {
		at++
	}
	if at == len(r.text) || r.text[at] != '#' {
		return
	}
	rest, _, _ := strings.Cut(r.text[end:], "\n")
	finding := Finding{Code: "text.yaml.comment.value", Severity: Warning, Title: "Value read as a comment",
		Reference: "YAML 1.2.2 section 6.6", Location: &Location{Offset: at, Length: end + len(rest) - at}}
	if m := wordInComment().FindStringSubmatch(rest); text == "" && n.Anchor() == "" && m != nil {
		finding.Detail = fmt.Sprintf("A # behind a space begins a comment, so the value is null, not %s.", clip(m[1]))
		finding.Advice = "Put the value in quotes" + quotedForm(m[1]) + "."
		r.add(finding)
	} else if t, _, _ := r.stream.Resolve(n); t == yaml.String && numberInComment().MatchString(rest) {
		whole := strings.TrimRight(text+rest, " \t")
		finding.Severity, finding.Title = Info, "Part of a value read as a comment"
		finding.Detail = fmt.Sprintf("A # behind a space begins a comment, so the value ends before %s.", clip(rest[at-end:]))
		finding.Advice = "If it belongs to the value, put all of it in quotes" + quotedForm(whole) + "."
		r.add(finding)
	}
}

// findLoneAnchor finds an anchor that nothing follows and no alias calls, such as &nbsp;.
func (r *yamlReading) findLoneAnchor(n *yaml.Node) {
	if n.Anchor() == "" || r.stream.Aliases {
		return
	}
	text := "&" + n.Anchor()
	r.addNode(Finding{Code: "text.yaml.anchor.value", Severity: Warning, Title: "Value read as an anchor",
		Detail: fmt.Sprintf("An & begins an anchor, so the value is null, not %s.", clip(text)),
		Advice: "Put the value in quotes" + quotedForm(text) + ".", Reference: "YAML 1.2.2 section 6.9.2"}, n)
}

// findInvisible finds characters that look like a space or like nothing, and quotes that are text.
func (r *yamlReading) findInvisible(n *yaml.Node, text string, isKey bool) {
	start, _ := n.Span()
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\n")
		if at := yaml.FindInvisible(content, isKey); at >= 0 {
			c, size := utf8.DecodeRuneInString(content[at:])
			name, remedy := yaml.InvisibleName(c)
			what := "value"
			if isKey {
				what = "key"
			}
			r.add(Finding{Code: "text.yaml.character.unseen", Severity: Warning, Title: "Invisible character in a plain scalar",
				Detail:    fmt.Sprintf("%s is not white space in YAML: it belongs to the %s %q.", name, what, clip(content)),
				Advice:    "If it is not meant, " + remedy + "; otherwise put the text in quotes.",
				Reference: "YAML 1.2.2 section 5.5", Location: &Location{Offset: start + at, Length: size}})
			return
		}
		start += len(line)
	}
	if inner := typographic().FindStringSubmatch(text); inner != nil {
		r.addNode(Finding{Code: "text.yaml.quotes.typographic", Severity: Info, Title: "Typographic quotes are text",
			Detail:    fmt.Sprintf("The quotes of %s are text in YAML and belong to the value.", firstLine(text)),
			Advice:    fmt.Sprintf("Replace them with straight quotes, \"%s\", unless they are meant.", clip(inner[1])),
			Reference: "YAML 1.2.2 section 7.3"}, n)
	}
}

// findMultiline finds plain scalars of several lines whose lines look like entries of a collection.
func (r *yamlReading) findMultiline(n *yaml.Node, text string, as role) {
	start, _ := n.Span()
	at, all := start, true
	for line := range strings.Lines(text) {
		content := strings.Trim(line, " \t\n")
		if at > start && strings.HasPrefix(content, "- ") {
			r.add(Finding{Code: "text.yaml.scalar.dash", Severity: Warning, Title: "Item read as part of a scalar",
				Detail: fmt.Sprintf("The line %s continues the value %s above, because it is indented further; it is not "+
					"an item.", clip(content), firstLine(text)),
				Advice:    "Remove the value above the items, or indent them as far as it; if it is text, put it in quotes.",
				Reference: "YAML 1.2.2 section 7.3.3",
				Location:  &Location{Offset: at + strings.IndexByte(line, '-'), Length: len(content)}})
			return
		}
		_, mark := yaml.AddSpace(content)
		all = all && (mark == "colon" || mark == "dash" && as == rootRole)
		at += len(line)
	}
	if first, _, _ := strings.Cut(text, "\n"); all {
		r.addMissingSpace(n, first, "so these lines are one string")
	}
}

// findMissingSpace finds a key in braces that would be a key with a value, were there a space behind its colon.
func (r *yamlReading) findMissingSpace(key *yaml.Node) {
	if key.Kind() == yaml.Scalar && key.Style() == yaml.Plain && key.Tag() == "" {
		r.addMissingSpace(key, r.raw(key), "so it is a key without a value")
	}
}

// addMissingSpace adds a finding about a text that would be an entry of a collection, were there a space behind its
// colon or dash, with what it is.
func (r *yamlReading) addMissingSpace(n *yaml.Node, text, is string) {
	fixed, mark := yaml.AddSpace(text)
	if fixed == "" {
		return
	}
	r.addNode(Finding{Code: "text.yaml.space.missing", Severity: Warning, Title: "Colon or dash without a space",
		Detail:    fmt.Sprintf("No space comes after the %s of %s, %s.", mark, clip(text), is),
		Advice:    fmt.Sprintf("Write %s, or put it in quotes if it is text.", clip(fixed)),
		Reference: "YAML 1.2.2 section 7.3.3"}, n)
}
