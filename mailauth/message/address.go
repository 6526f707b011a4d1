package message

import "strings"

// maxAddresses bounds the addresses read from one list; the rest is not read. Lists of recipients have up to some
// hundreds.
const maxAddresses = 1000

// An Address is one of a list, such as From and To (RFC 5322 section 3.4).
type Address struct {
	Name   string // display name, decoded; or the comment behind the address, as in old mail
	Local  string // left of the @, without quotation marks; empty if there is no @
	Domain string // right of the @ as written; may be an address literal such as [192.0.2.1]
	Group  string // name of the group that it is in
	Extra  string // further addresses in angle brackets
	Raw    string // as written, without white space around it
}

// IsZero reports whether there is no address, as in the list "undisclosed-recipients:;" or in "<>".
func (a Address) IsZero() bool { return a.Local == "" && a.Domain == "" }

// Addr returns the address without its name, such as alice@example.org.
func (a Address) Addr() string {
	if a.Domain == "" {
		return a.Local
	}
	return a.Local + "@" + a.Domain
}

// ParseAddresses reads a list of addresses: groups, routes, comments, quoted strings and encoded words, and common
// malformed variants: lists with semicolons, names with commas that are not quoted, several angle brackets, missing
// ones. An item without any address is kept with only its name.
func ParseAddresses(value string) []Address {
	p := addressParser{value: value}
	for p.pos < len(value) && len(p.list) < maxAddresses {
		p.step()
	}
	if len(p.list) < maxAddresses {
		p.finish(len(value))
	}
	return p.list
}

type addressParser struct {
	value string
	pos   int
	list  []Address
	group string

	begin    int      // of the item
	words    []span   // of the display name or the bare address
	glued    bool     // whether the last word continues without a blank
	hasAt    bool     // whether one of the words has an @
	angles   []string // contents of angle brackets
	comments []string
}

type span struct{ begin, end int }

func (p *addressParser) step() {
	s, c := p.value, p.value[p.pos]
	switch c {
	case ' ', '\t', '\r', '\n':
		p.pos++
		p.glued = false
	case '"':
		p.word(QuotedEnd(s, p.pos))
	case '(':
		end := CommentEnd(s, p.pos)
		p.comments = append(p.comments, strings.TrimSpace(Unquote(s[p.pos:end])))
		p.pos, p.glued = end, false
	case '<':
		p.angle()
	case '[':
		end := len(s)
		if i := strings.IndexAny(s[p.pos:], "]>,"); i >= 0 {
			end = min(p.pos+i+1, len(s))
			if s[end-1] != ']' {
				end--
			}
		}
		p.word(max(end, p.pos+1))
	case ',':
		p.finish(p.pos)
		p.pos++
		p.begin = p.pos
	case ';':
		p.finish(p.pos)
		p.pos++
		p.begin, p.group = p.pos, ""
	case ':':
		p.colon()
	default:
		end := p.pos + 1
		for end < len(s) && strings.IndexByte(" \t\r\n\"(<[,;:", s[end]) < 0 {
			end++
		}
		p.word(end)
	}
}

// word adds the text up to end to the words, or to the last one if no blank separates them.
func (p *addressParser) word(end int) {
	p.hasAt = p.hasAt || strings.IndexByte(p.value[p.pos:end], '@') >= 0
	// White space around an @ is obsolete, but valid (RFC 5322 section 4.4).
	at := p.value[p.pos] == '@' || p.pos > 0 && len(p.words) > 0 && p.value[p.words[len(p.words)-1].end-1] == '@'
	if n := len(p.words); (p.glued || at) && n > 0 {
		p.words[n-1].end = end
	} else {
		p.words = append(p.words, span{p.pos, end})
	}
	p.pos, p.glued = end, true
}

func (p *addressParser) texts() []string {
	texts := make([]string, len(p.words))
	for i, w := range p.words {
		texts[i] = p.value[w.begin:w.end]
	}
	return texts
}

func (p *addressParser) angle() {
	s := p.value
	for i := p.pos + 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = QuotedEnd(s, i) - 1
		case '>':
			p.angles = append(p.angles, s[p.pos+1:i])
			p.pos, p.glued = i+1, false
			return
		}
	}
	p.angles = append(p.angles, s[p.pos+1:])
	p.pos, p.glued = len(s), false
}

// colon begins a group (RFC 5322 section 3.4), unless it is in an address or follows one.
func (p *addressParser) colon() {
	if p.group != "" || len(p.angles) > 0 || p.hasAt || len(p.words) == 0 {
		p.word(p.pos + 1)
		return
	}
	p.group = DecodeText(unquoteWords(p.texts()))
	p.pos++
	p.words, p.begin, p.glued = nil, p.pos, false
}

func (p *addressParser) finish(end int) {
	a := Address{Group: p.group, Raw: strings.TrimSpace(p.value[min(p.begin, end):end])}
	words, angles, comments := p.texts(), p.angles, p.comments
	p.words, p.angles, p.comments, p.glued, p.hasAt = nil, nil, nil, false, false
	switch {
	case len(angles) > 0:
		last := angles[len(angles)-1]
		a.Local, a.Domain = splitAddr(last)
		a.Extra = strings.Join(angles[:len(angles)-1], ", ")
		p.join(&a, &words)
		a.Name = DecodeText(unquoteWords(words))
	case len(words) > 0:
		i := addressWord(words)
		if i < 0 {
			a.Name = DecodeText(unquoteWords(words))
			break
		}
		a.Local, a.Domain = splitAddr(words[i])
		a.Name = DecodeText(unquoteWords(append(words[:i:i], words[i+1:]...)))
	default:
		if a.Raw == "" {
			return
		}
	}
	if a.Name == "" && len(comments) > 0 {
		a.Name = DecodeText(strings.Join(comments, " ")) // as in mail before RFC 822
	}
	p.list = append(p.list, a)
}

// join puts items without an address in front of one that has one: a name with a comma that is not quoted, such as
// Doe, Jane <jane@example.org>.
func (p *addressParser) join(a *Address, words *[]string) {
	if n := len(p.list); n > 0 && len(*words) > 0 && p.list[n-1].IsZero() && p.list[n-1].Name != "" &&
		p.list[n-1].Group == a.Group && len(p.list[n-1].Raw)+len(a.Raw) < maxWord {
		before := p.list[n-1]
		p.list = p.list[:n-1]
		*words = append([]string{before.Raw + ","}, *words...)
		a.Raw = before.Raw + ", " + a.Raw
	}
}

func addressWord(words []string) int {
	for i := len(words) - 1; i >= 0; i-- {
		if strings.LastIndexByte(words[i], '@') > 0 {
			return i
		}
	}
	return -1
}

// splitAddr splits an address at its last @, without a route before it (RFC 5322 section 4.4:
// @relay.example,@other.example:alice@example.org) and without white space.
func splitAddr(s string) (local, domain string) {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(s, "mailto:")
	if strings.HasPrefix(s, "@") {
		if _, behind, ok := strings.Cut(s, ":"); ok {
			s = behind
		}
	}
	if strings.IndexByte(s, '(') >= 0 {
		s, _ = Comments(s)
	}
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return unquoteLocal(s), ""
	}
	return unquoteLocal(s[:i]), strings.TrimSuffix(strings.Join(strings.Fields(s[i+1:]), ""), ".")
}

func unquoteLocal(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) {
		return Unquote(s)
	}
	return strings.Join(strings.Fields(s), "")
}

func unquoteWords(words []string) string {
	plain := make([]string, len(words))
	for i, w := range words {
		if plain[i] = w; strings.HasPrefix(w, `"`) {
			plain[i] = Unquote(w)
		}
	}
	return strings.TrimSpace(strings.Join(plain, " "))
}
