package released

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/require"
)

// TestReleasedWire holds what clients of the API can send and read, as the OpenAPI document describes it: operations
// with their scope and price, what they accept at least, and what their replies hold at least.
func TestReleasedWire(t *testing.T) {
	w := describeWire(t, httpapi.Endpoints().OpenAPI())
	Check(t, List{Name: "wire", Lines: w.lines, Also: w.expanded, Widened: widened,
		Remedy: "Within /public/v1 fields and values are only added, and no request is refused that was accepted. " +
			"Keep the old beside the new, and announce the end of an operation with withDeprecation."})
}

type object = map[string]any

// A wire is the OpenAPI document in lines. "request X" is about what is accepted, "reply X" about what is answered,
// where X is an operation or a component. A path below it has dots before fields and [] behind lists.
type wire struct {
	doc      object
	lines    []string
	expanded []string // the same with the contents of components where they are used
	done     map[string]bool
}

func describeWire(t *testing.T, text []byte) *wire {
	t.Helper()
	w := &wire{done: map[string]bool{}}
	require.NoError(t, json.Unmarshal(text, &w.doc))
	for path, methods := range w.at("paths") {
		for method, operation := range methods.(object) {
			w.operation(strings.ToUpper(method)+" "+strings.TrimPrefix(path, httpapi.Prefix), operation.(object))
		}
	}
	for name := range w.at("x-reply-headers") {
		w.say("every reply header = %s", name)
	}
	for name := range w.at("x-success-headers") {
		w.say("every success header = %s", name)
	}
	codes := w.at("components", "schemas", "PublicAPIError", "properties", "code")["enum"].([]any)
	w.say("error codes = %s", words(codes)) // in one line: there will be no others
	return w
}

func (w *wire) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// at is an object within the document.
func (w *wire) at(keys ...string) object {
	o := w.doc
	for _, key := range keys {
		o, _ = o[key].(object)
	}
	return o
}

// deref follows a reference, which names a component of a kind.
func (w *wire) deref(o object) (name string, target object) {
	ref, ok := o["$ref"].(string)
	if !ok {
		return "", o
	}
	return ref[strings.LastIndex(ref, "/")+1:], w.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

func (w *wire) operation(name string, o object) {
	if scope, ok := o["x-scope"]; ok {
		w.say("%s scope = %s", name, scope)
		w.say("%s credits = %v", name, o["x-credits"])
	}
	for _, scope := range list(o["x-deprecated-scopes"]) {
		w.say("%s also accepts scope = %s", name, scope)
	}
	var required []any
	for _, p := range list(o["parameters"]) {
		_, parameter := w.deref(p.(object))
		field := fmt.Sprintf("%s.%s", parameter["in"], parameter["name"])
		if parameter["required"] == true {
			required = append(required, field)
		}
		w.schema("request "+name+" "+field, parameter["schema"].(object), "", nil)
	}
	w.say("request %s parameters requires = %s", name, words(required))
	body, _ := o["requestBody"].(object)
	for media, content := range contents(body) {
		w.say("%s accepts = %s", name, media)
		subject := "request " + name
		if media != "application/json" {
			subject += " " + media
		}
		w.schema(subject, content, "", nil)
	}
	for status, r := range o["responses"].(object) {
		w.say("%s status = %s", name, status)
		shared, reply := w.deref(r.(object))
		if shared != "" { // a refusal, the same for all operations
			w.reply("any "+shared, "reply any "+shared, reply)
			continue
		}
		w.reply(name+" "+status, "reply "+name, reply)
	}
}

// reply describes one reply of an operation, and its body.
func (w *wire) reply(name, body string, reply object) {
	for _, code := range list(reply["x-codes"]) {
		w.say("%s code = %s", name, code)
	}
	headers, _ := reply["headers"].(object)
	for header := range headers {
		w.say("%s header = %s", name, header)
	}
	for media, content := range contents(reply) {
		w.say("%s answers = %s", name, media)
		w.schema(body, content, "", nil)
	}
}

// contents are the schemas of a body, by media type.
func contents(body object) map[string]object {
	found := map[string]object{}
	media, _ := body["content"].(object)
	for name, m := range media {
		found[name], _ = m.(object)["schema"].(object)
	}
	return found
}

func (w *wire) component(direction, name string, s object) {
	subject := direction + " " + name
	if !w.done[subject] {
		w.done[subject] = true
		w.schema(subject, s, "", nil)
	}
}

// always is behind the type of a field that no reply lacks.
const always = ", always"

// bounds are the keywords that restrict values; of requests, their absence is a promise, too.
var bounds = map[string][]string{
	"string": {"minLength", "maxLength", "pattern", "format", "contentEncoding"}, "integer": {"minimum", "maximum"},
	"number": {"minimum", "maximum"}, "array": {"minItems", "maxItems", "uniqueItems"},
}

// schema describes one, with a remark behind its type. Within are the components through which it was reached to expand
// them; nil: none.
func (w *wire) schema(subject string, s object, remark string, within []string) {
	w.sayOf(within, "%s = %s%s", subject, w.kind(s, false), remark)
	w.expanded = append(w.expanded, subject+" = "+w.kind(s, true)+remark)
	w.contents(subject, s, within)
}

// kind is the type of a schema, by the name of its component or as that is described.
func (w *wire) kind(s object, resolve bool) string {
	if name, component := w.deref(s); name != "" {
		if resolve {
			return w.kind(component, true)
		}
		return name
	}
	if alternatives := list(s["anyOf"]); alternatives != nil {
		var kinds []string
		for _, a := range alternatives {
			kinds = append(kinds, w.kind(a.(object), resolve))
		}
		slices.Sort(kinds)
		return strings.Join(kinds, " | ")
	}
	switch {
	case s["enum"] != nil:
		return "enumeration"
	case s["type"] != nil:
		return fmt.Sprint(s["type"])
	case s["allOf"] != nil:
		return "object"
	}
	return "anything"
}

func (w *wire) sayOf(within []string, format string, args ...any) {
	to := &w.lines
	if within != nil {
		to = &w.expanded
	}
	*to = append(*to, fmt.Sprintf(format, args...))
}

// contents describes all of a schema but its type.
func (w *wire) contents(subject string, s object, within []string) {
	direction, _, _ := strings.Cut(subject, " ")
	if name, component := w.deref(s); name != "" {
		w.component(direction, name, component)
		if !slices.Contains(within, name) {
			w.contents(subject, component, append(slices.Clone(within), name))
		}
		return
	}
	for _, a := range list(s["anyOf"]) {
		w.contents(subject, a.(object), within)
	}
	for _, part := range list(s["allOf"]) {
		w.contents(subject, part.(object), within)
	}
	if alternatives := list(s["oneOf"]); alternatives != nil {
		var members []any
		for _, g := range alternatives {
			members = append(members, words(list(g.(object)["required"])))
		}
		w.sayOf(within, "%s one of = %s", subject, words(members))
	}
	for _, value := range list(s["enum"]) {
		w.sayOf(within, "%s value = %v", subject, value)
	}
	if value, ok := s["default"]; ok {
		w.sayOf(within, "%s default = %v", subject, value)
	}
	for _, keyword := range bounds[fmt.Sprint(s["type"])] {
		if value, ok := s[keyword]; ok {
			w.sayOf(within, "%s %s = %s", subject, keyword, number(value))
		} else if direction == "request" && s["enum"] == nil && keyword != "format" && keyword != "contentEncoding" {
			w.sayOf(within, "%s %s = none", subject, keyword)
		}
	}
	w.members(subject, s, within)
}

// members describes what an object or a list holds.
func (w *wire) members(subject string, s object, within []string) {
	reply := strings.HasPrefix(subject, "reply ")
	properties, _ := s["properties"].(object)
	required := list(s["required"])
	for name, property := range properties {
		remark := ""
		if reply && slices.Contains(required, any(name)) {
			remark = always
		}
		w.schema(subject+"."+name, property.(object), remark, within)
	}
	if !reply && properties != nil {
		w.sayOf(within, "%s requires = %s", subject, words(required))
	}
	if items, ok := s["items"].(object); ok {
		w.schema(subject+"[]", items, "", within)
	}
	if values, ok := s["additionalProperties"].(object); ok {
		w.schema(subject+".*", values, "", within)
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

// words joins texts, in order.
func words(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	slices.Sort(texts)
	return cmp.Or(strings.Join(texts, " "), "nothing")
}

// number writes a value of a keyword, without an exponent.
func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// widened reports whether a line keeps the promise of an earlier one: what is accepted has become more, what may be
// answered less, or a price lower.
func widened(earlier, line string) bool {
	subject, was := cut(earlier)
	about, now := cut(line)
	if subject != about {
		return false
	}
	request := strings.HasPrefix(subject, "request ")
	switch subject[strings.LastIndex(subject, " ")+1:] {
	case "credits":
		return atMost(now, was)
	case "maximum", "maxLength", "maxItems":
		return request && (now == "none" || was != "none" && atMost(was, now)) || !request && atMost(now, was)
	case "minimum", "minLength", "minItems":
		return request && (now == "none" || was != "none" && atMost(now, was)) || !request && atMost(was, now)
	case "pattern", "format", "uniqueItems":
		return request && now == "none"
	case "requires":
		return now == "nothing" || subset(now, was)
	case "of": // one of
		return subset(was, now)
	}
	if !request {
		return now == was+always
	}
	return was == "enumeration" && now == "string" || subset(was, now)
}

func atMost(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x <= y
}

// subset reports whether all words of one text are words of another.
func subset(a, b string) bool {
	in := strings.Fields(b)
	return !slices.ContainsFunc(strings.Fields(a), func(word string) bool { return !slices.Contains(in, word) })
}
