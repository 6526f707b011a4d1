package textutil

import "strings"

// properties reads the anchor and the tag that are next, in any order (YAML 1.2.2 section 6.9). Within
// a flow collection they may stand on several lines; indent is that of the lines around.
func (p *yamlParser) properties(flow bool, indent int) (yamlProps, error) {
	props := yamlProps{start: int32(p.pos)}
	for {
		begin := p.pos
		switch p.at(0) {
		case '&':
			if props.anchor != "" {
				return props, p.fail(p.pos, "the node has an anchor already")
			}
			name, err := p.name("anchor")
			if err != nil {
				return props, err
			}
			props.anchor, props.anchorEnd = name, int32(p.pos)
		case '!':
			if props.tag != "" {
				return props, p.fail(p.pos, "the node has a tag already")
			}
			if err := p.tag(&props); err != nil {
				return props, err
			}
			props.tagEnd = int32(p.pos)
		default:
			return props, nil
		}
		if c := p.at(0); !yamlSpace(c) && !(flow && yamlFlowMark(c)) {
			return props, p.fail(p.pos, "%q cannot follow %.40s without a space", c, p.text[begin:p.pos])
		}
		if !flow {
			p.skipBlanks()
		} else if err := p.flowSeparate(indent); err != nil {
			return props, err
		}
	}
}

// name reads the name behind "&" or "*" (YAML 1.2.2 section 6.9.2): anything but white space and the
// marks of flow collections.
func (p *yamlParser) name(what string) (string, error) {
	p.pos++
	begin := p.pos
	for !yamlSpace(p.at(0)) && !yamlFlowMark(p.at(0)) {
		p.pos++
	}
	if p.pos == begin {
		return "", p.fail(begin-1, "the %s has no name", what)
	}
	return p.text[begin:p.pos], nil
}

// tag reads a tag and resolves it (YAML 1.2.2 section 6.9.1).
func (p *yamlParser) tag(props *yamlProps) error {
	begin := p.pos
	if p.at(1) == '<' {
		return p.verbatimTag(props)
	}
	for c := p.at(0); !yamlSpace(c) && !yamlFlowMark(c); c = p.at(0) {
		p.pos++
	}
	text := p.text[begin:p.pos]
	props.tagText = text
	if i := strings.IndexFunc(text, notURI); i >= 0 {
		return p.fail(begin+i, "a tag cannot have this character; write it as %%XX")
	}
	if text == "!" {
		props.tag = "!"
		return nil
	}
	handle, suffix := "!", text[1:]
	if i := strings.IndexByte(suffix, '!'); i >= 0 {
		handle, suffix = text[:i+2], suffix[i+1:]
	}
	if !yamlHandle(handle) || suffix == "" || strings.Contains(suffix, "!") {
		return p.fail(begin, "%.40q is no tag", text)
	}
	suffix, ok := percentDecoded(suffix)
	if !ok {
		return p.fail(begin, "the tag %.40s has a %% without two hexadecimal digits", text)
	}
	prefix, ok := p.doc.handles[handle]
	switch {
	case ok:
	case handle == "!":
		prefix = "!"
	case handle == "!!":
		prefix = yamlTagPrefix
	default:
		return p.fail(begin, "no %%TAG directive of this document tells what %.40s means", handle)
	}
	props.tag = prefix + suffix
	return nil
}

// verbatimTag reads a tag between "!<" and ">".
func (p *yamlParser) verbatimTag(props *yamlProps) error {
	begin := p.pos
	end := begin
	for end < len(p.text) && p.text[end] != '>' && !yamlSpace(p.text[end]) {
		end++
	}
	if end == len(p.text) || p.text[end] != '>' {
		return p.fail(begin, "the tag is not closed by >")
	}
	uri := p.text[begin+2 : end]
	if i := strings.IndexFunc(uri, notURI); i >= 0 {
		return p.fail(begin+2+i, "a tag cannot have this character; write it as %%XX")
	}
	uri, ok := percentDecoded(uri)
	if !ok || uri == "" || uri == "!" {
		return p.fail(begin, "%.40q is no tag", p.text[begin:end+1])
	}
	p.pos = end + 1
	props.tag, props.tagText = uri, p.text[begin:p.pos]
	return nil
}

// yamlHandle reports whether s is a tag handle: "!", "!!" or "!name!" (YAML 1.2.2 section 6.8.2.1).
func yamlHandle(s string) bool {
	if s == "!" {
		return true
	}
	if len(s) < 2 || s[0] != '!' || s[len(s)-1] != '!' {
		return false
	}
	for _, c := range []byte(s[1 : len(s)-1]) {
		if !(c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return true
}

// notURI reports whether a character is none of those that tags are made of (YAML 1.2.2 section 5.6).
func notURI(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') &&
		!strings.ContainsRune("%-#;/?:@&=+$,_.!~*'()[]", r)
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
		value, ok := hexValue(s[i+1:], 2)
		if !ok {
			return "", false
		}
		b.WriteByte(byte(value))
		i += 2
	}
	return b.String(), true
}
