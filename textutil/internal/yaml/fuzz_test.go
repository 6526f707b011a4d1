package yaml

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	v4 "go.yaml.in/yaml/v4"
)

// seeds returns texts to begin with.
func seeds(tb testing.TB) []string {
	list := []string{"a: 1\nb:\n- c # d\n- {e: f, ? g : h}\n", "%TAG ! x\n---\n- &a !!str 'b'\n- *a\n...\n",
		"? |\n  a\n: >-\n  b\n\n   c\n", "\"a\\u00e9\\\n  b\"", "[a, [b: c], 'd\n e']", "- - - a\n  -\n    # c\n    b: c",
		"key: [\n  a\n ]\n",
		"\uFEFF# c\r\n---\ra: b", "# a\n\n# b\nc: # d\n  e: |+\n    f\n\n# g\nh: &i\n  j: k # l\n  # m\n",
		"- &é a\n- *é\n- \"\\ud800\"\n- {a:[b]}\n- !x#y \u2028\n", "%YAML 1.2\n--- |\n%a\n...\n",
		"{\"a\": [1, 2.50, \"\\u00e9\"], \"b\": {}}",
		"&a\n&b c: *b", "!!map\n&x {a: *x}", "a: &x\n- b\n- *x\n", "? - a\n  - b\n: - c\n"}
	return append(list, diagtest.Seeds(tb, "text/yaml/yaml-test-suite/*/in.yaml")...)
}

// FuzzParse holds four things: no text makes the parser fail in another way than it says; the tree lies in the
// text; what is formatted means the same, has the same comments and does not change when formatted again; and
// checking never fails but with a place in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, uint8(2), false)
	}
	f.Fuzz(func(t *testing.T, text string, indent uint8, sorted bool) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		if wrong := faithless(text, int(indent%8)+1, sorted); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
	})
}

// faithless returns what is wrong about how a text is read and printed, or nothing.
func faithless(text string, indent int, sorted bool) string {
	stream, err := Parse(text, 1<<20)
	if err == nil {
		err = stream.Check()
	}
	wrong, ok := errors.AsType[*SyntaxError](err)
	if ok && (wrong.Offset < 0 || wrong.Offset > len(text) || wrong.Message == "") {
		return "a place outside: " + wrong.Message
	}
	if stream == nil {
		return ""
	}
	for _, doc := range stream.Documents {
		if wrong := misplacedIn(stream, doc.Root, 0, len(stream.Text)); wrong != "" {
			return wrong
		}
	}
	return sameAfterFormat(text, indent, sorted)
}

// misplacedIn returns which node does not lie between two offsets, or begins before the one before it ends.
func misplacedIn(s *Stream, n *Node, from, to int) string {
	start, end := n.Span()
	if int(n.begin()) < from || start > end || end > to {
		return "a node is not in its place: " + s.Text[from:to]
	}
	at := start
	for child := n.First(); child != nil; child = child.Next() {
		if wrong := misplacedIn(s, child, at, end); wrong != "" {
			return wrong
		}
		at = int(child.end)
	}
	return ""
}

// mangled returns a text into which pieces of YAML were thrown at random.
func mangled(random *rand.Rand, list []string) string {
	pieces := []string{" ", "  ", "\n", "\t", ":", "- ", "? ", ": ", "\"", "'", "[", "]", "{", "}", ",", "#",
		" # c1\n",
		"\n# c2\n", "\n  # c3\n", "&a ", "*a", "!!str ", "|\n", ">\n", "|+\n", "---\n", "...\n", "a", "%", "-",
		"\n\n", "\\", "\r\n"}
	text := list[random.IntN(len(list))]
	for range 1 + random.IntN(4) {
		at := random.IntN(len(text) + 1)
		behind := at
		if at < len(text) && random.IntN(3) == 0 {
			behind++
		}
		text = text[:at] + pieces[random.IntN(len(pieces))] + text[behind:]
	}
	return text
}

func TestFormatOfMangledTexts(t *testing.T) {
	count := 10000
	if testing.Short() {
		count = 1000
	}
	list, random := seeds(t), rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range count {
		text := mangled(random, list)
		if !utf8.ValidString(text) {
			continue
		}
		if _, err := Parse(text, 1<<20); err == nil {
			valid++
		}
		if wrong := faithless(text, 1+random.IntN(8), random.IntN(2) == 0); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
	}
	if valid < count/20 {
		t.Errorf("only %d texts were valid", valid)
	}
}

// TestAnotherReader compares with go.yaml.in/yaml/v4, where both accept a text.
func TestAnotherReader(t *testing.T) {
	list, random := seeds(t), rand.New(rand.NewPCG(3, 4))
	texts := slices.Clone(list)
	count := 6000
	if testing.Short() {
		count = 2000
	}
	for range count {
		texts = append(texts, mangled(random, list))
	}
	compared, lines, near := 0, 0, 0
	for _, text := range texts {
		if !utf8.ValidString(text) || otherFaults.MatchString(text) {
			continue
		}
		stream, err := Parse(text, 1<<20)
		nodes, otherErr := otherDocuments(text)
		wrong, ok := errors.AsType[*SyntaxError](err)
		other, otherOK := errors.AsType[*v4.LoadError](otherErr)
		switch {
		case ok && otherOK:
			lines++
			line := 1 + strings.Count(LineFeeds(text)[:wrong.Offset], "\n")
			if distance := line - other.Mark.Line; -1 <= distance && distance <= 1 {
				near++
			}
		case err == nil && otherErr == nil && len(nodes) == len(stream.Documents):
			compared++
			for i, doc := range stream.Documents {
				if difference := differs(stream, doc.Root, nodes[i]); difference != "" {
					t.Errorf("%q: %s", text, difference)
				}
			}
		}
	}
	t.Logf("%d texts compared; errors within a line of each other: %d/%d", compared, near, lines)
	if compared < count/6 || lines < count/6 || near*5 < lines*4 {
		t.Error("too few")
	}
}

// otherDocuments returns the trees that the other parser builds from a text.
func otherDocuments(text string) (nodes []*v4.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it broke")
		}
	}()
	loader, err := v4.NewLoader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	for {
		var root v4.Node
		if err := loader.Load(&root); err != nil {
			if err.Error() == "EOF" {
				return nodes, nil
			}
			return nil, err
		}
		if len(root.Content) == 1 {
			nodes = append(nodes, root.Content[0])
		}
	}
}

// otherFaults are known faults of the other parser: a colon right behind a property ends a key to it, and a colon
// at its end is not part of an anchor (YAML 1.2.2 sections 7.3.3 and 6.9.2); it knows line breaks of YAML 1.1,
// byte-order marks at the beginning only, and no escapes of surrogates.
var otherFaults = regexp.MustCompile("[&!]\\S*\\s*:|[\u0085\u2028\u2029\uFEFF]|\\\\u[dD]")

// differs returns how two trees differ in kinds, anchors and what scalars say, or nothing.
func differs(s *Stream, n *Node, other *v4.Node) string {
	if (n.style == literal || n.style == folded) && n.indent == 0 {
		return "" // no marker ends it to the other reader (YAML 1.2.2 section 9.1.2)
	}
	kinds := map[v4.Kind]Kind{v4.SequenceNode: Sequence, v4.MappingNode: Mapping, v4.AliasNode: alias}
	kind := kinds[other.Kind]
	if n.Kind() != kind {
		return "another kind at " + s.raw(n)
	}
	if kind == Scalar && s.Value(n) != other.Value {
		return s.Value(n) + " is " + other.Value
	}
	if kind != alias && n.Anchor() != other.Anchor {
		return "anchor " + n.Anchor() + " is " + other.Anchor
	}
	child := n.First()
	for _, content := range other.Content {
		if child == nil {
			return "fewer children at " + s.raw(n)
		}
		if difference := differs(s, child, content); difference != "" {
			return difference
		}
		child = child.Next()
	}
	if child != nil {
		return "more children at " + s.raw(n)
	}
	return ""
}
