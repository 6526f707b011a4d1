package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A syntax is how a language writes the values of JSON.
type syntax struct {
	object, list [2]string // before and after the members
	empty        string    // an object without members
	colon        string
	words        map[any]string // true, false and nil
	key, quote   func(string) string
}

var (
	python = syntax{[2]string{"{", "}"}, [2]string{"[", "]"}, "{}", ": ",
		map[any]string{true: "True", false: "False", nil: "None"}, quote, quote}
	javascript = syntax{[2]string{"{ ", " }"}, [2]string{"[", "]"}, "{}", ": ",
		map[any]string{true: "true", false: "false", nil: "null"}, javascriptKey, quote}
	php = syntax{[2]string{"[", "]"}, [2]string{"[", "]"}, "new stdClass()", " => ",
		map[any]string{true: "true", false: "false", nil: "null"}, quotePHP, quotePHP}
)

// literal writes a value of JSON, whose members keep their order.
func (s syntax) literal(value string) (string, error) {
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	var b strings.Builder
	err := s.write(&b, d)
	return b.String(), err
}

func (s syntax) write(b *strings.Builder, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return s.writeMembers(b, d, token == '{')
	case string:
		b.WriteString(s.quote(token))
	case json.Number:
		b.WriteString(token.String())
	default:
		b.WriteString(s.words[token])
	}
	return nil
}

func (s syntax) writeMembers(b *strings.Builder, d *json.Decoder, isObject bool) error {
	brackets := s.list
	if isObject {
		brackets = s.object
	}
	if !d.More() && isObject {
		brackets = [2]string{s.empty, ""}
	}
	b.WriteString(brackets[0])
	for n := 0; d.More(); n++ {
		if n > 0 {
			b.WriteString(", ")
		}
		if isObject {
			name, err := d.Token()
			if err != nil {
				return err
			}
			b.WriteString(s.key(fmt.Sprint(name)) + s.colon)
		}
		if err := s.write(b, d); err != nil {
			return err
		}
	}
	b.WriteString(brackets[1])
	_, err := d.Token() // the end
	return err
}

// quote is a text in double quotes, as JSON, Python and JavaScript read it.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // every text has a form in JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quotePHP is a text in single quotes, or in double quotes where it has more than one line.
func quotePHP(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		var b strings.Builder
		b.WriteByte('"')
		for _, r := range text {
			switch {
			case r == '"' || r == '\\' || r == '$':
				b.WriteString(`\` + string(r))
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\r':
				b.WriteString(`\r`)
			case r == '\t':
				b.WriteString(`\t`)
			case r < ' ' || r == 0x7f:
				fmt.Fprintf(&b, `\x%02x`, r)
			default:
				b.WriteRune(r)
			}
		}
		return b.String() + `"`
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

func javascriptKey(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quote(name)
}
