package textutil

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A lostTag is a tag that JSON has no place for (YAML 1.2.2 section 3.2.1.2), with the nodes that have it.
type lostTag struct {
	tag, text string // by its meaning and as it is written
	first     *yaml.Node
	places    []string // of the first few
	count     int
}

// maxTagPlaces bounds the places of a tag that are named.
const maxTagPlaces = 5

// A lossFinder finds what of some documents is lost in JSON.
type lossFinder struct {
	*yamlReading
	cursor cursor
	tags   []*lostTag
	byTag  map[string]*lostTag
}

// findLosses adds findings about tags and numbers of documents that JSON, or those who read it, cannot hold.
func (r *yamlReading) findLosses(docs []*yaml.Document) {
	l := &lossFinder{yamlReading: r, cursor: cursor{text: r.text}, byTag: map[string]*lostTag{}}
	for _, doc := range docs {
		l.node(doc.Root, false)
	}
	for _, t := range l.tags {
		r.add(r.tagFinding(t))
	}
}

// node examines a node and its descendants. Numbers that are keys become strings, of which nothing is lost.
func (l *lossFinder) node(n *yaml.Node, isKey bool) {
	if n.Tag() != "" {
		l.addTag(n)
	}
	if n.Kind() == yaml.Scalar && !isKey && l.mayLoseDigits(n) {
		if t, text, _ := l.stream.Resolve(n); t == yaml.Int || t == yaml.Float {
			l.addNumber(text, true, nodeLocation(n))
		}
	}
	isKey = n.Kind() == yaml.Mapping
	for child := n.First(); child != nil; child = child.Next() {
		l.node(child, isKey)
		isKey = !isKey && n.Kind() == yaml.Mapping
	}
}

// mayLoseDigits reports whether a scalar may be a number of which a double loses something. It spares most the work.
func (l *lossFinder) mayLoseDigits(n *yaml.Node) bool {
	if n.Tag() == "" && n.Style() != yaml.Plain {
		return false
	}
	start, end := n.Span()
	return end-start >= len(maxSafe) || strings.ContainsAny(l.text[start:end], "eE")
}

// jsonTypes are the tags of YAML's own that say nothing that JSON does not (YAML 1.2.2 section 10.3).
var jsonTypes = []string{"str", "int", "float", "bool", "null", "map", "seq", "merge", "value"}

const coreTags = "tag:yaml.org,2002:"

func (l *lossFinder) addTag(n *yaml.Node) {
	tag := n.Tag()
	if tag == "!" || slices.Contains(jsonTypes, strings.TrimPrefix(tag, coreTags)) && strings.HasPrefix(tag, coreTags) {
		return
	}
	t := l.byTag[tag]
	start, end := n.TagSpan()
	if t == nil {
		if len(l.tags) == maxFindings {
			l.omitted++
			return
		}
		t = &lostTag{tag: tag, text: l.text[start:end], first: n}
		l.tags, l.byTag[tag] = append(l.tags, t), t
	}
	if t.count++; t.count <= maxTagPlaces {
		line, column := l.cursor.to(start)
		t.places = append(t.places, fmt.Sprintf("line %d, column %d", line, column))
	}
}

// otherTypes are the types of YAML 1.1 that JSON does not have, with what they become (https://yaml.org/type/).
var otherTypes = map[string]string{
	"binary":    "the Base64 text as a string",
	"timestamp": "the date as a string",
	"set":       "an object whose members are null",
	"omap":      "an array of objects with one member each",
	"pairs":     "an array of objects with one member each",
}

// tagFinding returns the finding about a tag that is lost.
func (r *yamlReading) tagFinding(t *lostTag) Finding {
	start, end := t.first.TagSpan()
	finding := Finding{Code: "text.yaml.tag.lost", Severity: Warning, Title: "Tag lost in JSON",
		Reference: "YAML 1.2.2 section 3.2.1.2", Location: &Location{Offset: start, Length: end - start}}
	others := ""
	if t.count > 1 {
		others = " and at " + strings.Join(t.places[1:], "; ")
	}
	if more := t.count - len(t.places); more > 0 {
		others += fmt.Sprintf("; and in %d more places", more)
	}
	if becomes := otherTypes[strings.TrimPrefix(t.tag, coreTags)]; becomes != "" && strings.HasPrefix(t.tag, coreTags) {
		finding.Code, finding.Severity, finding.Title = "text.yaml.tag.type", Info, "Type that JSON does not have"
		finding.Detail = fmt.Sprintf("JSON has no %.40s; the result has %s here%s.", t.text, becomes, others)
		return finding
	}
	meaning, advice := r.meaningOf(t)
	finding.Detail = fmt.Sprintf("JSON has no tags, so %.60s is omitted here%s. %s", t.text, others, meaning)
	finding.Advice = advice
	return finding
}

// A tagMeaning says what a program does at a tag, with advice.
type tagMeaning struct{ meaning, advice string }

// programTags are tags of programs that many use.
var programTags = map[string]tagMeaning{
	"!vault": {"Ansible decrypts the text behind it; without the tag, it takes the encrypted text as the value.",
		"Keep the file in YAML for Ansible."},
	"!unsafe": {"Ansible does not evaluate the text behind it as a template; without the tag, it does.",
		"Keep the file in YAML for Ansible."},
	"!reference": {"GitLab CI/CD inserts what another job has there; without the tag, it finds the names alone.",
		"Keep the file in YAML for GitLab, or convert the full configuration that its pipeline editor shows."},
	"!include": {"Home Assistant and other programs insert another file there; without the tag, its name is left.",
		"Write the contents of the file in place of the tag, or keep the file in YAML."},
	"!secret": {"Home Assistant and ESPHome insert a value of secrets.yaml there; without the tag, its name is left.",
		"Keep the file in YAML for the program that has the secrets."},
	"!input": {"Home Assistant inserts an input of the blueprint there; without the tag, its name is left.",
		"Keep the file in YAML for Home Assistant."},
	"!reset": {"Docker Compose removes what the files before have there; without the tag, it merges the value.",
		"Keep the file in YAML, or convert what docker compose config prints."},
	"!override": {"Docker Compose replaces what the files before have there; without the tag, it merges the value.",
		"Keep the file in YAML, or convert what docker compose config prints."},
}

// meaningOf says what is lost with a tag, and what to write.
func (r *yamlReading) meaningOf(t *lostTag) (meaning, advice string) {
	if known, ok := programTags[t.tag]; ok {
		return known.meaning, known.advice
	}
	if function := stackFunctions[t.tag]; function != "" {
		advice = fmt.Sprintf("with %s as its key", function)
		if form := r.longForm(t.first); form != "" {
			advice = form
		}
		return fmt.Sprintf("CloudFormation calls the function %s there; without the tag, it takes the value literally.",
			function), "Keep the template in YAML, or write the long form, " + advice + ", which JSON can hold."
	}
	if r.raw(t.first) == "" && t.tag == t.text {
		return "Nothing follows it, so the value is empty.", "If it is text, put it in quotes" + quotedForm(t.text) + "."
	}
	return "Only the program that reads the file knows its meaning; in the JSON, it finds a plain value.",
		"Keep the file in YAML for that program, or replace the tag by what it means."
}

// stackFunctions are the tags of AWS CloudFormation with the long forms of the functions that they call, which JSON
// has too.
var stackFunctions = func() map[string]string {
	functions := map[string]string{"!Ref": "Ref", "!Condition": "Condition"}
	for _, name := range []string{"And", "Base64", "Cidr", "Equals", "FindInMap", "GetAtt", "GetAZs", "If", "ImportValue",
		"Join", "Not", "Or", "Select", "Split", "Sub", "Transform"} {
		functions["!"+name] = "Fn::" + name
	}
	return functions
}()

// longForm returns a node of a CloudFormation template as JSON in which the long forms of functions replace tags, or
// nothing if it is too long to be shown.
func (r *yamlReading) longForm(n *yaml.Node) string {
	w := &yamlWriter{yamlReading: &yamlReading{stream: r.stream}, indent: -1, limit: 200, longForms: true}
	if w.node(n); w.err != nil || len(w.out) > w.limit {
		return ""
	}
	return string(w.out)
}

// function writes the long form of a function of CloudFormation, or reports false if the node is not one.
func (w *yamlWriter) function(n *yaml.Node) bool {
	if !w.longForms || stackFunctions[n.Tag()] == "" {
		return false
	}
	name := stackFunctions[n.Tag()]
	w.out = append(appendJSONString(append(w.out, '{'), name), ": "...)
	resource, attribute, dotted := strings.Cut(w.stream.Value(n), ".")
	if name == "Fn::GetAtt" && n.Kind() == yaml.Scalar && dotted { // in JSON it takes a list alone
		w.out = append(appendJSONString(append(w.out, '['), resource), ',')
		w.out = append(appendJSONString(w.out, attribute), ']')
	} else {
		w.content(n)
	}
	w.out = append(w.out, '}')
	return true
}
