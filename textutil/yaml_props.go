package textutil

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// property reads an anchor or a tag (YAML 1.2.2 section 6.9).
func (s *yamlScanner) property(c byte, flow bool) error {
	kind, what, values := yamlAnchorToken, "an anchor", 1
	read := s.anchor
	if c == '!' {
		kind, what, values, read = yamlTagToken, "a tag", 0, s.tag
	}
	begin := s.pos
	if s.props&(1<<kind) != 0 {
		return s.fail(begin, "the node has %s already", what)
	}
	if err := read(); err != nil {
		return err
	}
	s.props |= 1 << kind
	if c := s.at(0); !yamlSpace(c) && !(flow && yamlFlowMark(c) && c != '[' && c != '{') {
		return s.fail(s.pos, "%q cannot follow %.40s without a space", c, s.text[begin:s.pos])
	}
	return s.emit(kind, begin, s.pos, values)
}

// checkProperties refuses a node with two properties of a kind on several lines, and an alias with any. The
// node begins with the token, and is no key: before a key, those on a line above belong to the mapping.
func (s *yamlScanner) checkProperties(token int) error {
	first := token
	for first > 0 && s.tokens[first-1].kind.property() {
		first--
	}
	if first == token {
		return nil
	}
	if s.tokens[token].kind == yamlAliasToken {
		return s.fail(int(s.tokens[first].start), "an alias cannot have an anchor or a tag")
	}
	var seen yamlTokenBits
	for _, t := range s.tokens[first:token] {
		switch {
		case seen&(1<<t.kind) == 0:
			seen |= 1 << t.kind
		case t.kind == yamlTagToken:
			return s.fail(int(t.start), "the node has a tag already")
		default:
			return s.fail(int(t.start), "the node has an anchor already")
		}
	}
	return nil
}

// anchor reads an anchor (YAML 1.2.2 section 6.9.2). One with characters that the library does not take
// gets a number in place of its name.
func (s *yamlScanner) anchor() error {
	begin := s.pos
	name, err := s.name("anchor")
	if err != nil || plainName(name) {
		return err
	}
	if s.anchors == nil {
		s.anchors = map[string]int{}
	}
	if _, ok := s.anchors[name]; !ok {
		s.anchors[name] = len(s.anchors)
	}
	s.replace(begin+1, s.pos, otherName(s.anchors[name]))
	return nil
}

// alias reads an alias (YAML 1.2.2 section 7.1).
func (s *yamlScanner) alias() error {
	begin := s.pos
	name, err := s.name("alias")
	if err != nil {
		return err
	}
	if !plainName(name) {
		number, ok := s.anchors[name]
		if !ok {
			return s.fail(begin, "no anchor before is called %.40q", name)
		}
		s.replace(begin+1, s.pos, otherName(number))
	}
	s.doc.aliases = true
	return s.emit(yamlAliasToken, begin, s.pos, 1)
}

// name reads the name behind "&" or "*" (YAML 1.2.2 section 6.9.2): anything but white space and the
// marks of flow collections.
func (s *yamlScanner) name(what string) (string, error) {
	s.pos++
	begin := s.pos
	for !yamlSpace(s.at(0)) && !yamlFlowMark(s.at(0)) {
		s.pos++
	}
	if s.pos == begin {
		return "", s.fail(begin-1, "the %s has no name", what)
	}
	return s.text[begin:s.pos], nil
}

// plainName reports whether the library takes the name of an anchor as it is. Names that begin with a
// dash are those that others are replaced by.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if !(c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return name[0] != '-'
}

func otherName(number int) string { return "-" + strconv.Itoa(number) }

// tag reads a tag (YAML 1.2.2 section 6.9.1).
func (s *yamlScanner) tag() error {
	begin := s.pos
	if s.at(1) == '<' {
		return s.verbatimTag()
	}
	for c := s.at(0); !yamlSpace(c) && !yamlFlowMark(c); c = s.at(0) {
		s.pos++
	}
	text := s.text[begin:s.pos]
	if i := strings.IndexFunc(text, notURI); i >= 0 {
		return s.fail(begin+i, "a tag cannot have this character; write it as %%XX")
	}
	if text == "!" {
		return nil
	}
	handle, suffix := "!", text[1:]
	if i := strings.IndexByte(suffix, '!'); i >= 0 {
		handle, suffix = text[:i+2], suffix[i+1:]
	}
	if !yamlHandle(handle) || suffix == "" || strings.Contains(suffix, "!") {
		return s.fail(begin, "%.40q is no tag", text)
	}
	switch decoded, ok := percentDecoded(suffix); {
	case !ok:
		return s.fail(begin, "the tag %.40s has a %% without two hexadecimal digits", text)
	case !utf8.ValidString(decoded):
		return s.fail(begin, "the tag %.40s has an escape that is no character", text)
	}
	prefix, ok := s.doc.handles[handle]
	switch {
	case ok:
	case handle == "!!":
		prefix = yamlTagPrefix
	case handle != "!":
		return s.fail(begin, "no %%TAG directive of this document tells what %.40s means", handle)
	}
	return s.countTag(begin, len(prefix)+len(suffix))
}

// verbatimTag reads a tag between "!<" and ">".
func (s *yamlScanner) verbatimTag() error {
	begin := s.pos
	end := begin
	for end < len(s.text) && s.text[end] != '>' && !yamlSpace(s.text[end]) {
		end++
	}
	if end == len(s.text) || s.text[end] != '>' {
		return s.fail(begin, "the tag is not closed by >")
	}
	uri := s.text[begin+2 : end]
	if i := strings.IndexFunc(uri, notURI); i >= 0 {
		return s.fail(begin+2+i, "a tag cannot have this character; write it as %%XX")
	}
	decoded, ok := percentDecoded(uri)
	if !ok || !utf8.ValidString(decoded) || decoded == "" || decoded == "!" {
		return s.fail(begin, "%.40q is no tag", s.text[begin:end+1])
	}
	s.pos = end + 1
	return s.countTag(begin, len(uri))
}

// countTag counts the bytes of a tag, and makes the library see it in a form that it takes.
func (s *yamlScanner) countTag(begin, size int) error {
	if s.tags += size; s.tags > maxYAMLTags {
		return invalid("text", "has tags of more than %d bytes when their handles are written out; that is the most",
			maxYAMLTags)
	}
	if text := s.text[begin:s.pos]; strings.Contains(text, "#") {
		s.replace(begin, s.pos, yamlTagText(text))
	}
	return nil
}

// yamlTagText returns a tag or a prefix of tags with an escape for the one character of tags that the
// library does not know.
func yamlTagText(text string) string { return strings.ReplaceAll(text, "#", "%23") }

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
