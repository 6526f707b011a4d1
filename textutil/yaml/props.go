package yaml

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// coreTag is what "!!" stands for (YAML 1.2.2 section 6.8.2.1).
const coreTag = "tag:yaml.org,2002:"

// properties reads the anchor and the tag of a node as far as they are on this line. It returns nil if there
// is none, and whether it came to another line behind.
func (p *parser) properties() (props *properties, crossed bool, err error) {
	for !crossed && (p.at(0) == '&' || p.at(0) == '!') {
		if props, err = p.property(props, false); err != nil {
			return nil, false, err
		}
		crossed = p.separate()
	}
	return props, crossed, nil
}

// property reads an anchor or a tag (YAML 1.2.2 section 6.9).
func (p *parser) property(props *properties, flow bool) (*properties, error) {
	begin, read, what := p.pos, p.anchor, "an anchor"
	if props == nil {
		props = &properties{start: int32(begin)}
	}
	known := props.anchor != ""
	if p.at(0) == '!' {
		read, what, known = p.tag, "a tag", props.tag != ""
	}
	if known {
		return nil, p.fail(begin, "the node has %s already", what)
	}
	if err := read(props); err != nil {
		return nil, err
	}
	if c := p.at(0); !isSpace(c) && !(flow && isMark(c) && c != '[' && c != '{') {
		return nil, p.fail(p.pos, "%q cannot follow %.40s without a space", c, p.Text[begin:p.pos])
	}
	return props, nil
}

// merged returns the properties of a node that stand on several lines.
func (p *parser) merged(outer, inner *properties) (*properties, error) {
	switch {
	case outer == nil:
		return inner, nil
	case inner == nil:
		return outer, nil
	case outer.anchor != "" && inner.anchor != "":
		return nil, p.fail(int(inner.anchorEnd)-len(inner.anchor)-1, "the node has an anchor already")
	case outer.tag != "" && inner.tag != "":
		return nil, p.fail(int(inner.tagEnd)-len(inner.tagText), "the node has a tag already")
	}
	both := *outer
	if inner.anchor != "" {
		both.anchor, both.anchorEnd = inner.anchor, inner.anchorEnd
	} else {
		both.tag, both.tagText, both.tagEnd = inner.tag, inner.tagText, inner.tagEnd
	}
	return &both, nil
}

// adopt gives a node that has been read the properties on lines above it.
func (p *parser) adopt(n *Node, outer *properties) error {
	props, err := p.merged(outer, n.props)
	if outer == nil || err != nil {
		return err
	}
	if n.kind == alias {
		return p.fail(int(outer.start), "an alias cannot have an anchor or a tag")
	}
	n.props = props
	p.define(n)
	return nil
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

// anchor reads an anchor (YAML 1.2.2 section 6.9.2).
func (p *parser) anchor(props *properties) (err error) {
	props.anchor, err = p.name("anchor")
	props.anchorEnd = int32(p.pos)
	return err
}

// alias reads an alias (YAML 1.2.2 section 7.1).
func (p *parser) alias(props *properties) (*Node, error) {
	begin := p.pos
	name, err := p.name("alias")
	if err != nil {
		return nil, err
	}
	if props != nil {
		return nil, p.fail(int(props.start), "an alias cannot have an anchor or a tag")
	}
	target := p.anchors[name]
	inside := target != nil && target.end < 0
	for _, around := range p.pending {
		inside = inside || around.anchor == name && (target == nil || target.props.start < around.start)
	}
	switch {
	case inside:
		return nil, p.fail(begin, "the alias %.40s stands inside the node that it means", name)
	case target == nil:
		return nil, p.fail(begin, "no anchor before is called %.40q", name)
	}
	p.doc.aliases, p.Aliases = true, true
	n, err := p.node(alias, Plain, begin, nil)
	if err == nil {
		n.first, n.end = target, int32(p.pos)
	}
	return n, err
}

// name reads the name behind "&" or "*" (YAML 1.2.2 section 6.9.2): anything but white space and the
// marks of flow collections.
func (p *parser) name(what string) (string, error) {
	p.pos++
	begin := p.pos
	for !isSpace(p.at(0)) && !isMark(p.at(0)) {
		p.pos++
	}
	if p.pos == begin {
		return "", p.fail(begin-1, "the %s has no name", what)
	}
	return p.Text[begin:p.pos], nil
}

// tag reads a tag (YAML 1.2.2 section 6.9.1).
func (p *parser) tag(props *properties) (err error) {
	begin := p.pos
	if p.at(1) == '<' {
		props.tag, err = p.verbatimTag()
	} else {
		for !isSpace(p.at(0)) && !isMark(p.at(0)) {
			p.pos++
		}
		props.tag, err = p.shortTag(begin, p.Text[begin:p.pos])
	}
	props.tagText, props.tagEnd = p.Text[begin:p.pos], int32(p.pos)
	return err
}

// shortTag returns the tag that a text without angles stands for.
func (p *parser) shortTag(begin int, text string) (string, error) {
	if tag, ok := p.tags[text]; ok {
		return tag, nil
	}
	if i := strings.IndexFunc(text, notURI); i >= 0 {
		return "", p.fail(begin+i, "a tag cannot have this character; write it as %%XX")
	}
	if text == "!" {
		return text, nil
	}
	handle, suffix := "!", text[1:]
	if i := strings.IndexByte(suffix, '!'); i >= 0 {
		handle, suffix = text[:i+2], suffix[i+1:]
	}
	if !isHandle(handle) || suffix == "" || strings.Contains(suffix, "!") {
		return "", p.fail(begin, "%.40q is no tag", text)
	}
	decoded, ok := percentDecoded(suffix)
	switch {
	case !ok:
		return "", p.fail(begin, "the tag %.40s has a %% without two hexadecimal digits", text)
	case !utf8.ValidString(decoded):
		return "", p.fail(begin, "the tag %.40s has an escape that is no character", text)
	}
	prefix, ok := p.doc.handles[handle]
	switch {
	case ok:
	case handle == "!!":
		prefix = coreTag
	case handle == "!":
		prefix = "!"
	default:
		return "", p.fail(begin, "no %%TAG directive of this document tells what %.40s means", handle)
	}
	if p.tagged += len(prefix) + len(decoded); p.tagged > maxTags {
		return "", p.beyond("has tags of more than %d bytes when their handles are written out", maxTags)
	}
	if p.tags == nil {
		p.tags = map[string]string{}
	}
	p.tags[text] = prefix + decoded
	return p.tags[text], nil
}

// verbatimTag reads a tag between "!<" and ">".
func (p *parser) verbatimTag() (string, error) {
	begin := p.pos
	end := begin
	for end < len(p.Text) && p.Text[end] != '>' && !isSpace(p.Text[end]) {
		end++
	}
	if end == len(p.Text) || p.Text[end] != '>' {
		return "", p.fail(begin, "the tag is not closed by >")
	}
	uri := p.Text[begin+2 : end]
	if i := strings.IndexFunc(uri, notURI); i >= 0 {
		return "", p.fail(begin+2+i, "a tag cannot have this character; write it as %%XX")
	}
	decoded, ok := percentDecoded(uri)
	if !ok || !utf8.ValidString(decoded) || decoded == "" || decoded == "!" {
		return "", p.fail(begin, "%.40q is no tag", p.Text[begin:end+1])
	}
	p.pos = end + 1
	return decoded, nil
}

// isHandle reports whether s is a tag handle: "!", "!!" or "!name!" (YAML 1.2.2 section 6.8.2.1).
func isHandle(s string) bool {
	if s == "!" {
		return true
	}
	if len(s) < 2 || s[0] != '!' || s[len(s)-1] != '!' {
		return false
	}
	return strings.IndexFunc(s[1:len(s)-1], func(r rune) bool { return r != '-' && notAlphanumeric(r) }) < 0
}

func notAlphanumeric(r rune) bool { return !('0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') }

// notURI reports whether a character is none of those that tags are made of (YAML 1.2.2 section 5.6).
func notURI(r rune) bool {
	return notAlphanumeric(r) && !strings.ContainsRune("%-#;/?:@&=+$,_.!~*'()[]", r)
}

// percentDecoded replaces each %XX by the byte it stands for.
func percentDecoded(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		value, ok := Hex(s[i+1:], 2)
		if !ok {
			return "", false
		}
		b.WriteByte(byte(value))
		i += 2
	}
	return b.String(), true
}

// Hex returns the value of exactly n hexadecimal digits at the beginning of s.
func Hex(s string, n int) (uint32, bool) {
	if len(s) < n {
		return 0, false
	}
	value, err := strconv.ParseUint(s[:n], 16, 32)
	return uint32(value), err == nil
}
