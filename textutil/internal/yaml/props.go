package yaml

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// coreTag is the prefix that "!!" abbreviates (YAML 1.2.2 section 6.8.2.1).
const coreTag = "tag:yaml.org,2002:"

// tagPrefixes are the prefixes of handles without a directive (YAML 1.2.2 section 6.8.2.1).
var tagPrefixes = map[string]string{"!": "!", "!!": coreTag}

// properties reads the anchor and the tag of a node as far as they are on this line. It returns nil without any,
// and whether it crossed into another line.
func (p *parser) properties() (props *properties, crossed bool) {
	for !crossed && (p.at(0) == '&' || p.at(0) == '!') {
		props = p.property(props, false)
		crossed = p.separate()
	}
	return props, crossed
}

// property reads an anchor or a tag (YAML 1.2.2 section 6.9).
func (p *parser) property(props *properties, flow bool) *properties {
	begin := p.pos
	if props == nil {
		props = &properties{start: int32(begin)}
	}
	switch isTag := p.at(0) == '!'; {
	case isTag && props.tag != "":
		p.fail(begin, "the node has a tag already")
	case isTag:
		p.tag(props)
	case props.anchor != "":
		p.fail(begin, "the node has an anchor already")
	default:
		props.anchor = p.name("anchor")
		props.anchorEnd = int32(p.pos)
	}
	if c := p.at(0); !isSpace(c) && !(flow && isMark(c) && c != '[' && c != '{') {
		p.fail(p.pos, "%q cannot follow %.40s without a space", c, p.Text[begin:p.pos])
	}
	return props
}

// mergeProperties returns the properties of a node that are on several lines.
func (p *parser) mergeProperties(outer, inner *properties) *properties {
	switch {
	case outer == nil:
		return inner
	case inner == nil:
		return outer
	case outer.anchor != "" && inner.anchor != "":
		p.fail(int(inner.anchorEnd)-len(inner.anchor)-1, "the node has an anchor already")
	case outer.tag != "" && inner.tag != "":
		p.fail(int(inner.tagEnd)-len(inner.tagText), "the node has a tag already")
	}
	both := *outer
	if inner.anchor != "" {
		both.anchor, both.anchorEnd = inner.anchor, inner.anchorEnd
	} else {
		both.tag, both.tagText, both.tagEnd = inner.tag, inner.tagText, inner.tagEnd
	}
	return &both
}

// addProperties gives a node that has been read the properties on lines above it.
func (p *parser) addProperties(n *Node, outer *properties) {
	switch {
	case outer == nil:
		return
	case n.kind == alias:
		p.fail(int(outer.start), "an alias cannot have an anchor or a tag")
	}
	n.props = p.mergeProperties(outer, n.props)
	p.define(n)
}

// define makes a node the one that its anchor means, unless a later one has the same.
func (p *parser) define(n *Node) {
	if n.props == nil || n.props.anchor == "" {
		return
	}
	if p.anchors == nil {
		p.anchors = map[string]*Node{}
	}
	if other := p.anchors[n.props.anchor]; other == nil || other.props.start <= n.props.start {
		p.anchors[n.props.anchor] = n
	}
}

// alias reads an alias (YAML 1.2.2 section 7.1).
func (p *parser) alias(props *properties) *Node {
	begin := p.pos
	name := p.name("alias")
	if props != nil {
		p.fail(int(props.start), "an alias cannot have an anchor or a tag")
	}
	target := p.anchors[name]
	inside := target != nil && target.end < 0
	for _, around := range p.pending {
		inside = inside || around.anchor == name && (target == nil || target.props.start < around.start)
	}
	switch {
	case inside:
		p.fail(begin, "the alias %.40s is inside the node that it refers to", name)
	case target == nil:
		what := fmt.Sprintf("put text in quotes%s", p.quotedRest(begin))
		if anchorName().MatchString(name) {
			what = fmt.Sprintf("write &%.40s before what it means, or %s", name, what)
		}
		p.fail(begin, "the asterisk begins an alias, and no anchor before is called %.40q; %s", name, what)
	}
	p.doc.aliases, p.Aliases = true, true
	n := p.node(alias, Plain, begin, nil)
	n.first, n.end = target, int32(p.pos)
	return n
}

// anchorName matches the names that people give to anchors.
var anchorName = lazily(`^[-A-Za-z0-9_]+$`)

// name reads the name behind "&" or "*" (YAML 1.2.2 section 6.9.2): anything but white space and the
// marks of flow collections.
func (p *parser) name(what string) string {
	p.pos++
	begin := p.pos
	for !isSpace(p.at(0)) && !isMark(p.at(0)) {
		p.pos++
	}
	if p.pos == begin {
		p.fail(begin-1, "the %s has no name; put text in quotes%s", what, p.quotedRest(begin-1))
	}
	return p.Text[begin:p.pos]
}

// tag reads a tag (YAML 1.2.2 section 6.9.1).
func (p *parser) tag(props *properties) {
	begin := p.pos
	if p.at(1) == '<' {
		props.tag = p.verbatimTag()
	} else {
		for !isSpace(p.at(0)) && !isMark(p.at(0)) {
			p.pos++
		}
		props.tag = p.shortTag(begin, p.Text[begin:p.pos])
	}
	props.tagText, props.tagEnd = p.Text[begin:p.pos], int32(p.pos)
}

// shortTag returns the tag that a shorthand, without angle brackets, resolves to.
func (p *parser) shortTag(begin int, text string) string {
	if tag, ok := p.tags[text]; ok {
		return tag
	}
	if i := strings.IndexFunc(text, notURI); i >= 0 {
		p.fail(begin+i, "a tag cannot have this character; write it as %%XX, or put text in quotes%s", p.quotedRest(begin))
	}
	if text == "!" {
		return text
	}
	handle, suffix := "!", text[1:]
	if i := strings.IndexByte(suffix, '!'); i >= 0 {
		handle, suffix = text[:i+2], suffix[i+1:]
	}
	if !tagHandle().MatchString(handle) || suffix == "" || strings.Contains(suffix, "!") {
		p.fail(begin, "%.40q is not a tag; put text in quotes%s", text, p.quotedRest(begin))
	}
	decoded := p.decodeTag(suffix, begin, "tag", text)
	prefix, ok := p.doc.handles[handle]
	if !ok {
		prefix, ok = tagPrefixes[handle]
	}
	if !ok {
		p.fail(begin, "no %%TAG directive of this document tells what %.40s means", handle)
	}
	if p.tagged += len(prefix) + len(decoded); p.tagged > maxTags {
		p.refuseLimit("has tags of more than %d bytes when their handles are written out", maxTags)
	}
	if p.tags == nil {
		p.tags = map[string]string{}
	}
	p.tags[text] = prefix + decoded
	return p.tags[text]
}

// verbatimTag reads a tag between "!<" and ">".
func (p *parser) verbatimTag() string {
	begin := p.pos
	uri, _, closed := strings.Cut(p.Text[begin+len("!<"):], ">")
	if !closed || strings.ContainsAny(uri, " \t\n") {
		p.fail(begin, "the tag is not closed by >")
	}
	if i := strings.IndexFunc(uri, notURI); i >= 0 {
		p.fail(begin+2+i, "a tag cannot have this character; write it as %%XX")
	}
	p.pos += len("!<") + len(uri) + len(">")
	decoded, err := url.PathUnescape(uri)
	if err != nil || !utf8.ValidString(decoded) || decoded == "" || decoded == "!" {
		p.fail(begin, "%.40q is not a tag", p.Text[begin:p.pos])
	}
	return decoded
}

// tagHandle matches a tag handle (YAML 1.2.2 section 6.8.2.1).
var tagHandle = lazily(`^!([-0-9A-Za-z]*!)?$`)

// notURI reports whether a character is not allowed in tags (YAML 1.2.2 section 5.6).
func notURI(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' || strings.ContainsRune("%-#;/?:@&=+$,_.!~*'()[]", r))
}

// decodeTag returns a part of a tag, or of a prefix of tags, with its escapes decoded.
func (p *parser) decodeTag(part string, begin int, what, whole string) string {
	text, err := url.PathUnescape(part)
	switch {
	case err != nil:
		p.fail(begin, "the %s %.40s has a %% without two hexadecimal digits", what, whole)
	case !utf8.ValidString(text):
		p.fail(begin, "the %s %.40s has an escape that is not a character", what, whole)
	}
	return text
}

// Hex returns the value of exactly n hexadecimal digits at the beginning of s.
func Hex(s string, n int) (uint32, bool) {
	if len(s) < n {
		return 0, false
	}
	value, err := strconv.ParseUint(s[:n], 16, 32)
	return uint32(value), err == nil
}
