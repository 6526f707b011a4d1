package authres

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The layout of a field: the column that no line passes if it can be broken before it (RFC 5322 section 2.1.1), the
// width of the field's name with what follows it, and the column at which further lines begin.
const (
	maxColumn   = 78
	nameWidth   = len("Authentication-Results: ")
	indentWidth = 8
)

// maxText bounds a value or a comment in bytes, so that a line that cannot be broken has fewer than the 998 octets of
// RFC 5322 section 2.1.1 even if each byte is escaped. An address has 320.
const maxText = 400

// Add appends the result of a method. Its properties are pairs of a name and a value: "header.d", "example.org". It
// panics if a value is missing.
func (h *Header) Add(method, value string, properties ...string) {
	r := Result{Method: method, Value: value}
	for i := 0; i < len(properties); i += 2 {
		typ, name, ok := strings.Cut(properties[i], ".")
		if !ok {
			typ, name = "", typ
		}
		r.Properties = append(r.Properties, Property{typ, name, properties[i+1]})
	}
	h.Results = append(h.Results, r)
}

// String returns the header as the value of its field, folded to follow the name, a colon and a space:
//
//	fmt.Fprintf(w, "Authentication-Results: %s\r\n", &header)
//
// Without results the value says none; with an instance it is that of ARC-Authentication-Results. Values that are not
// tokens, addresses or domains are quoted (RFC 8601 section 2.2). They may come from strangers: control characters
// become question marks, values and comments are cut at 400 bytes, and characters that keywords cannot have become
// hyphens. Faults and Raw are not written.
func (h *Header) String() string {
	w := writer{column: nameWidth}
	if h.Instance > 0 {
		w.word("i=" + strconv.Itoa(h.Instance) + ";")
	}
	w.word(quoteUnlessPlain(h.AuthservID))
	if h.Version != "" {
		w.word(keyword(h.Version))
	}
	for _, p := range h.Properties {
		w.next()
		w.word(p.String())
	}
	for i := range h.Results {
		w.next()
		w.result(&h.Results[i])
	}
	if len(h.Results)+len(h.Properties) == 0 {
		w.b.WriteByte(';')
		w.word("none")
	}
	return w.b.String()
}

// String returns the property as written in the field.
func (p Property) String() string {
	name := keyword(p.Name)
	if p.Type != "" {
		name = keyword(p.Type) + "." + name
	}
	return name + "=" + quoteUnlessPlain(p.Value)
}

// A writer folds a field.
type writer struct {
	b      strings.Builder
	column int
}

// next ends a clause, so that the next one begins a line.
func (w *writer) next() {
	w.b.WriteString(";\r\n\t")
	w.column = indentWidth
}

// word appends a word that is not broken. It leaves a column for a semicolon.
func (w *writer) word(s string) {
	width := utf8.RuneCountInString(s)
	switch text := w.b.String(); {
	case text == "" || strings.HasSuffix(text, "\t"):
	case w.column+1+width >= maxColumn:
		w.b.WriteString("\r\n\t")
		w.column = indentWidth
	default:
		w.b.WriteByte(' ')
		w.column++
	}
	w.b.WriteString(s)
	w.column += width
}

func (w *writer) result(r *Result) {
	method := keyword(r.Method)
	if r.Version != "" {
		method += "/" + keyword(r.Version)
	}
	w.word(method + "=" + quoteUnlessPlain(r.Value))
	for _, c := range r.Comments {
		for _, s := range strings.Fields("(" + escape(clean(c), `\()`) + ")") {
			w.word(s)
		}
	}
	if r.Reason != "" {
		w.word("reason=" + quote(r.Reason))
	}
	for _, p := range r.Properties {
		w.word(p.String())
	}
}

// clean replaces what a field cannot hold: control characters, and bytes that are not UTF-8 (RFC 6532 section 3).
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

func quote(s string) string { return `"` + escape(clean(s), `\"`) + `"` }

// escape writes a backslash before each of some characters.
func escape(s, special string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func quoteUnlessPlain(s string) string {
	if isPlain(s) {
		return s
	}
	return quote(s)
}

// isPlain reports whether a value needs no quotation marks: it is a token (RFC 2045 section 5.1), or an address or
// domain (RFC 8601 section 2.2).
func isPlain(s string) bool {
	const tspecials = `()<>@,;:\"/[]?=`
	at := strings.LastIndexByte(s, '@')
	switch {
	case s == "" || len(s) > maxText:
		return false
	case at < 0:
		return strings.IndexFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune(tspecials, r)
		}) < 0
	}
	return (at == 0 || isDotted(s[:at], "!#$%&'*+-/=?^_`{|}~")) && isDotted(s[at+1:], "-")
}

// isDotted reports whether s is words joined by dots, of letters, digits and further characters.
func isDotted(s, further string) bool {
	return !strings.Contains("."+s+".", "..") && strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && !isAlphanumeric(r) && !strings.ContainsRune(further, r)
	}) < 0
}

// keyword replaces what names cannot have. Dots and underscores are in names that large providers use.
func keyword(s string) string {
	return strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, s)
}

func isAlphanumeric(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' }
