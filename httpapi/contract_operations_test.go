package httpapi

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var contractRow = regexp.MustCompile("^\\| (?:(GET|POST) )?`(/[^`]+)`(?: \\((\\d+)\\))? \\|")

// An operationRow is the row of section 3 of the contract about an endpoint.
type operationRow struct {
	Endpoint
	heading        string
	price          string
	request, reply string
}

func operationRows(t *testing.T) []operationRow {
	rows, heading := []operationRow{}, ""
	for line := range strings.SplitSeq(section(t, "## 3. "), "\n") {
		if strings.HasPrefix(line, "##") {
			heading = line
		}
		m := contractRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "" && strings.Contains(heading, "1 credit each, all POST") {
			m[1], m[3] = "POST", "1"
		}
		at := slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Method == m[1] && ep.Path == m[2] })
		require.GreaterOrEqual(t, at, 0, line)
		cells := cellsOf(line)
		rows = append(rows, operationRow{endpoints[at], heading, m[3], cells[1], cells[2]})
	}
	return rows
}

// The contract has every operation once, with the scope of its section, its price, and each field of its request.
func TestContractOperations(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range operationRows(t) {
		seen[row.ID()] = true
		require.Equal(t, fmt.Sprint(row.Credits), row.price, row.ID())
		require.Contains(t, row.heading, "`"+string(row.Scope)+"`", row.ID())
		for _, p := range row.Params() {
			common := p.Name == "text" && strings.HasPrefix(row.Path, "/text/") // named once, for all of them
			require.True(t, common || regexp.MustCompile(`\b`+p.Name+`\b`).MatchString(row.request), "%s: %s", row.ID(), p.Name)
		}
	}
	require.Len(t, seen, len(endpoints))
}

// What the contract states about fields of a request: their names, and in parentheses whether they are required, their
// default and their bounds. A field whose tag has no default may have one in words, or the zero value.
var (
	statedFields  = regexp.MustCompile("`([a-z_0-9]+(?:, [a-z_0-9]+)*)(: [^`(]+)?(?: \\(([^`]*)\\))?`")
	statedDefault = regexp.MustCompile(`(?:^|; )(?:default ([^;]+)|(true|false))(?:;|$)`)
	statedBound   = regexp.MustCompile(`(\d+)\.\.(\d+)|<= (\d+)`)
	statedUnit    = regexp.MustCompile(`\d+ [KM]iB`)
	statedAside   = regexp.MustCompile("(no|multipart) `\\w+`") // names that are not fields
	statedAbsence = regexp.MustCompile(`^(|false|\[.*\]|[a-z]+( [a-z0-9]+)+|all|host|ours)$`)
)

// The fields that the contract states of a request exist, and are required or not, with that default, those bounds and
// all of those values.
func TestContractRequests(t *testing.T) {
	stated := 0
	for _, row := range operationRows(t) {
		fields := objectOf(row.Operation.request).byName
		for _, span := range statedFields.FindAllStringSubmatch(statedAside.ReplaceAllString(row.request, ""), -1) {
			for name := range strings.SplitSeq(span[1], ", ") {
				f, at := fields[name], row.ID()+": "+name
				switch {
				case f == nil:
					t.Errorf("%s: no such field", at)
				case span[3] != "":
					checkStated(t, at, f, span[2], statedUnit.ReplaceAllStringFunc(span[3], inBytes))
				}
				stated++
			}
		}
	}
	require.Greater(t, stated, 140)
}

func checkStated(t *testing.T, at string, f *field, kind, said string) {
	if required := strings.HasPrefix(said+";", "req;"); f.oneof == "" && required != f.required {
		t.Errorf("%s: required is %v, stated %s", at, f.required, said)
	}
	stated := ""
	if m := statedDefault.FindStringSubmatch(said); m != nil {
		stated = strings.Trim(m[1]+m[2], `"`)
	}
	if want := f.tag.Get("default"); stated != want && (want != "" || !statedAbsence.MatchString(stated)) {
		t.Errorf("%s: default %q, stated %q", at, want, stated)
	}
	l := f.limits
	bounds := []int{l.minLen, l.maxLen, l.maxBytes, l.minItems, l.maxItems}
	for _, b := range []*float64{l.min, l.max} {
		if b != nil {
			bounds = append(bounds, int(*b))
		}
	}
	for _, m := range statedBound.FindAllStringSubmatch(said, -1) {
		for _, n := range m[1:] {
			if i, err := strconv.Atoi(n); err == nil && !slices.Contains(bounds, i) {
				t.Errorf("%s: bounds %v, stated %s", at, bounds, m[0])
			}
		}
	}
	for _, v := range l.enum {
		if !regexp.MustCompile(`(^|[ "/])` + regexp.QuoteMeta(v) + `($|[ ",;/\]])`).MatchString(kind + " " + said) {
			t.Errorf("%s: value %s, stated %s", at, v, said)
		}
	}
}

// inBytes writes 64 KiB as a number.
func inBytes(size string) string {
	number, unit, _ := strings.Cut(size, " ")
	n, _ := strconv.Atoi(number)
	return strconv.Itoa(n << map[string]int{"KiB": 10, "MiB": 20}[unit])
}

var (
	replyAside = regexp.MustCompile(`\([^(){}]*\)`)
	replySpan  = regexp.MustCompile("`([^`]+)`")
	replyToken = regexp.MustCompile(`[\w/]+|\[\]|[^ ]`)
)

// The members that the contract states of a reply are in the OpenAPI document at the same place, optional or not, with
// the same values.
func TestContractReplies(t *testing.T) {
	root := newDocument(t).root
	r := replyReader{t: t, schemas: schemaAt(root, "components", "schemas")}
	for _, row := range operationRows(t) {
		content := schemaAt(root, "paths", Prefix+row.Path, strings.ToLower(row.Method), "responses", "200", "content")
		reply, ok := content[jsonMedia].(schema)
		if !ok {
			continue // an image
		}
		for _, span := range replySpan.FindAllStringSubmatch(replyAside.ReplaceAllString(row.reply, ""), -1) {
			r.tokens = replyToken.FindAllString(span[1], -1)
			r.members(row.ID(), schemaAt(reply, "schema"))
		}
	}
	require.Greater(t, r.read, 1000)
}

func schemaAt(s schema, path ...string) schema {
	for _, p := range path {
		s = s[p].(schema)
	}
	return s
}

// A replyReader parses the contract's description of a reply: names separated by commas, and after a name perhaps [],
// ?, its values (a/b/c), its type, and its own members in braces. Types begin with a capital.
type replyReader struct {
	t       *testing.T
	schemas schema
	tokens  []string
	read    int
}

func (r *replyReader) next() string {
	token := r.tokens[0]
	r.tokens = r.tokens[1:]
	return token
}

func (r *replyReader) peek() string { return append(r.tokens, "}")[0] }

// members reads members of s up to a closing brace. It returns the schema of the first one that has no members in
// braces: after {a,b}: {…} the members are those of a, and those of b are alike.
func (r *replyReader) members(at string, s schema) (first schema) {
	known, required := r.membersOf(s)
	for len(r.tokens) > 0 {
		name := r.next()
		switch {
		case name == "}":
			return first
		case name == ",":
			continue
		case 'A' <= name[0] && name[0] <= 'Z':
			of, _ := r.membersOf(schemaAt(r.schemas, name))
			for member := range of {
				if known[member] == nil {
					r.t.Errorf("%s: %s, but no %s", at, name, member)
				}
			}
		case known[name] == nil && 'a' <= name[0] && name[0] <= 'z':
			r.t.Errorf("%s: no member %s", at, name)
		}
		leaf := r.member(at+" "+name, known[name], required[name])
		if first == nil {
			first = leaf
		}
	}
	return first
}

// member reads what follows a name.
func (r *replyReader) member(at string, s schema, required bool) (leaf schema) {
	r.read++
	if r.peek() == "[]" {
		r.next()
	}
	optional := r.peek() == "?"
	if optional {
		r.next()
	}
	if values := strings.Split(r.peek(), "/"); s != nil {
		if optional == required && r.peek() != "null" {
			r.t.Errorf("%s: optional is %v", at, !required)
		}
		if known := r.enumOf(s); len(values) > 1 && len(known) > 0 {
			require.ElementsMatch(r.t, known, values, at)
		}
	}
	for leaf = s; len(r.tokens) > 0 && r.peek() != "," && r.peek() != "}"; {
		if r.next() == "{" {
			leaf = r.members(at, leaf)
		}
	}
	return leaf
}

// parts returns the schemas that s consists of: itself, those it refers to, and the values of lists and maps.
func (r *replyReader) parts(s schema) []schema {
	parts := []schema{s}
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts, r.parts(schemaAt(r.schemas, path.Base(ref)))...)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, part := range list {
			parts = append(parts, r.parts(part.(schema))...)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if part, ok := s[key].(schema); ok {
			parts = append(parts, r.parts(part)...)
		}
	}
	return parts
}

func (r *replyReader) membersOf(s schema) (map[string]schema, map[string]bool) {
	members, required := map[string]schema{}, map[string]bool{}
	for _, part := range r.parts(s) {
		properties, _ := part["properties"].(schema)
		for name, p := range properties {
			members[name] = p.(schema)
		}
		names, _ := part["required"].([]any)
		for _, name := range names {
			required[name.(string)] = true
		}
	}
	return members, required
}

// enumOf lists the values of s, except one that only spf/validate has, whose row describes it in words.
func (r *replyReader) enumOf(s schema) []string {
	values := []string{}
	for _, part := range r.parts(s) {
		list, _ := part["enum"].([]any)
		for _, v := range list {
			if text, ok := v.(string); ok && text != "needs_dns" {
				values = append(values, text)
			}
		}
	}
	return values
}
