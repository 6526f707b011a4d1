package authres

import (
	"strings"

	"github.com/diagkit/diagkit/mailauth/message"
)

type scanner struct {
	s        string
	at       int
	comments []string // those passed since they were last taken
}

func (p *scanner) done() bool { return p.at >= len(p.s) }

// peek returns the next byte, or 0 at the end.
func (p *scanner) peek() byte {
	if p.done() {
		return 0
	}
	return p.s[p.at]
}

// skip passes white space and comments.
func (p *scanner) skip() {
	for !p.done() {
		switch p.s[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		case '(':
			end := message.CommentEnd(p.s, p.at)
			p.comments = append(p.comments, strings.Join(strings.Fields(message.Unquote(p.s[p.at:end])), " "))
			p.at = end
		default:
			return
		}
	}
}

// maxName bounds a name that is written with white space around its dots.
const maxName = 200

// pair reads name=value; white space and comments may surround the equals sign and the dot and the slash of the name
// (RFC 8601 section 2.2). Without an equals sign it returns the name alone. It always advances.
func (p *scanner) pair() (name, value string, ok bool) {
	begin := p.at
	for {
		name += p.until(" \t\r\n(;=\"")
		p.skip()
		joined := strings.HasSuffix(name, ".") || strings.HasSuffix(name, "/") || p.peek() == '.' || p.peek() == '/'
		if !joined || len(name) > maxName {
			break
		}
		if p.peek() == '=' || p.peek() == ';' || p.peek() == '"' || p.done() {
			break
		}
	}
	name = strings.ToLower(name)
	if p.peek() != '=' {
		if p.at == begin { // a quotation mark, or an equals sign without a name
			name = p.value()
		}
		return name, "", false
	}
	p.at++
	p.skip()
	return name, p.value(), true
}

func (p *scanner) value() string {
	begin := p.at
	for !p.done() {
		switch c := p.s[p.at]; c {
		case '"':
			p.at = message.QuotedEnd(p.s, p.at)
			continue
		case ' ', '\t', '\r', '\n', ';', '(':
			return unquote(p.s[begin:p.at])
		}
		p.at++
	}
	return unquote(p.s[begin:p.at])
}

func (p *scanner) until(stops string) string {
	begin := p.at
	for !p.done() && strings.IndexByte(stops, p.s[p.at]) < 0 {
		p.at++
	}
	return p.s[begin:p.at]
}

// unquote removes the quotation marks around a value, not those of the local part of an address.
func unquote(s string) string {
	if strings.HasPrefix(s, `"`) && message.QuotedEnd(s, 0) == len(s) {
		return message.Unquote(s)
	}
	return s
}
