package textutil

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxYAMLDepth bounds how deep collections may lie in one another. What reads and writes them calls
// itself for each level; nobody reads a document that is deeper.
const maxYAMLDepth = 256

// maxYAMLKey bounds a key without "?", in characters (YAML 1.2.2 section 7.4.2).
const maxYAMLKey = 1024

// maxYAMLValues bounds the nodes of a text, in what one of a block collection takes: some 200 bytes at
// the library and 100 here. A mebibyte as people write it has fewer.
const maxYAMLValues = 160_000

// maxYAMLTags bounds the bytes of all tags of a text when their handles are written out: a prefix of a
// thousand bytes behind a handle of three would make much of little.
const maxYAMLTags = 8 << 20

// A yamlDocument is a document of a stream.
type yamlDocument struct {
	tree       *yaml.Node
	root       *yamlNode // the tree with its places in the text, if it was asked for
	directives []string  // as written
	handles    map[string]string
	start      int  // where the document's first directive or content is
	marker     int  // where "---" is, or the content
	explicit   bool // it begins with "---", behind the directives
	versioned  bool // it has a %YAML directive
	aliases    bool // it has any
}

// A yamlComment is a comment of a stream, from its "#" to the end of the line.
type yamlComment struct {
	start, end int32
	own        bool // nothing else is on its line
}

// A yamlStream is a text that was read.
type yamlStream struct {
	text     string // with line feeds for all line breaks, and without a byte-order mark
	docs     []*yamlDocument
	tokens   []yamlToken
	comments []yamlComment
	edits    []yamlEdit
	masked   bool // scalars hold escapes of [yamlMask]
	depth    int
	closers  []int // offsets of closing brackets that stand as far left as the collection around
	dashes   []int // offsets of values that are a dash
}

// A yamlError is where and why a text is no YAML.
type yamlError struct {
	offset  int
	message string
}

func (e *yamlError) Error() string { return e.message }

// position returns the line and the column of an offset, in characters, both from 1.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// yamlTokenKind is what a token is for.
type yamlTokenKind uint8

const (
	yamlDash          yamlTokenKind = 0 // "-"
	yamlQuestion      yamlTokenKind = 1 // "?"
	yamlColon         yamlTokenKind = 2 // ":"
	yamlComma         yamlTokenKind = 3 // ","
	yamlAnchorToken   yamlTokenKind = 4
	yamlTagToken      yamlTokenKind = 5
	yamlOpen          yamlTokenKind = 6 // "[" or "{"
	yamlClose         yamlTokenKind = 7 // "]" or "}"
	yamlAliasToken    yamlTokenKind = 8
	yamlPlainToken    yamlTokenKind = 9
	yamlSingleToken   yamlTokenKind = 10
	yamlDoubleToken   yamlTokenKind = 11
	yamlLiteralToken  yamlTokenKind = 12
	yamlFoldedToken   yamlTokenKind = 13
	yamlDocumentToken yamlTokenKind = 14 // "---", or the place where a document begins without it
)

// content reports whether the token is a scalar, an alias, or the end of a flow collection.
func (k yamlTokenKind) content() bool { return k >= yamlClose && k <= yamlFoldedToken }

// property reports whether the token is an anchor or a tag.
func (k yamlTokenKind) property() bool { return k == yamlAnchorToken || k == yamlTagToken }

// A yamlToken is a piece of the text that means something.
type yamlToken struct {
	start, end int32
	indent     int32 // spaces before each line of a block scalar
	kind       yamlTokenKind
}

// span returns where the content of a node is, without its properties.
func (s *yamlStream) span(n *yaml.Node) (start, end int) {
	first, start := s.tokenOf(n)
	if first < 0 {
		return start, start
	}
	if s.tokens[first].kind == yamlOpen && n.Kind != yaml.ScalarNode {
		return start, s.closed(first)
	}
	for len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0 {
		n = n.Content[len(n.Content)-1]
	}
	last, end := s.tokenOf(n)
	if last < 0 {
		return start, max(start, end)
	}
	if s.tokens[last].kind == yamlOpen {
		return start, s.closed(last)
	}
	return start, max(start, int(s.tokens[last].end))
}

// tokenOf returns the first token of the content of a node, or -1 if nothing is written for it, and where
// it is.
func (s *yamlStream) tokenOf(n *yaml.Node) (token, start int) {
	start = s.offset(n.Line, n.Column)
	if emptyYAML(n) {
		return -1, start
	}
	i := s.tokenAt(start)
	for i < len(s.tokens) && (s.tokens[i].kind.property() || s.tokens[i].kind == yamlDocumentToken) {
		i++
	}
	if i == len(s.tokens) {
		return -1, start
	}
	return i, int(s.tokens[i].start)
}

// tokenAt returns the index of the first token that begins at the offset or behind it.
func (s *yamlStream) tokenAt(offset int) int {
	low, high := 0, len(s.tokens)
	for low < high {
		if middle := (low + high) / 2; int(s.tokens[middle].start) < offset {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// closed returns where the flow collection ends that the token opens.
func (s *yamlStream) closed(i int) int {
	level := 0
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].kind {
		case yamlOpen:
			level++
		case yamlClose:
			if level--; level == 0 {
				return int(s.tokens[i].end)
			}
		}
	}
	return len(s.text)
}
