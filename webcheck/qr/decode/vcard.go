package decode

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/diagkit/diagkit/diag/kit"
)

// A property is one of a vCard: a name, parameters, and a value that may have several parts.
type property struct {
	name    string // in upper case, without the group that may precede it
	value   string // verbatim, without line breaks
	quoted  bool   // encoded as quoted-printable
	base64  bool
	charset string // of what is encoded; empty if none is named
	lists   bool   // commas separate the values of one part: version 3 and later
}

// parseVCard reads the first contact of a text, which may be of version 2.1, 3.0 (RFC 2426) or 4.0 (RFC 6350). A
// contact nested in it is left out.
func parseVCard(text string) (*Parsed, string) {
	p := &Parsed{}
	var formatted, structured string
	depth, ended := 0, false
	for _, f := range vcardProperties(text) {
		switch {
		case f.name == "BEGIN":
			depth++
		case f.name == "END":
			depth--
		case depth == 1 && f.name == "FN":
			formatted = cmp.Or(formatted, f.text(f.value))
		case depth == 1 && f.name == "N":
			structured = cmp.Or(structured, f.structuredName())
		case depth == 1:
			p.property(f)
		}
		if ended = depth <= 0; ended {
			break
		}
	}
	p.Name = cmp.Or(formatted, structured)
	if p.Name == "" && p.Organization == "" && len(p.Numbers)+len(p.Emails) == 0 {
		return nil, "has no name"
	}
	if !ended {
		return p, "does not end with END:VCARD"
	}
	return p, ""
}

// vcardProperties reads the lines of contacts. A line that begins with white space continues the one before; in
// version 2.1 that white space is part of the value. Quoted-printable values go on behind an equals sign.
func vcardProperties(text string) (list []property) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	lists := true
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		head, value, ok := cutValue(line)
		for !ok && len(lines) > 0 && isFolded(lines[0]) {
			line += lines[0][1:]
			lines = lines[1:]
			head, value, ok = cutValue(line)
		}
		if !ok {
			continue
		}
		p := newProperty(head)
		for len(lines) > 0 {
			if rest, soft := strings.CutSuffix(value, "="); soft && p.quoted {
				value = rest + lines[0]
			} else if !isFolded(lines[0]) {
				break
			} else if lists {
				value += lines[0][1:]
			} else {
				value += " " + strings.TrimLeft(lines[0], " \t")
			}
			lines = lines[1:]
		}
		p.value = strings.TrimSpace(value)
		lists = lists && !(p.name == "VERSION" && strings.HasPrefix(p.value, "2"))
		p.lists = lists
		list = append(list, p)
	}
	return list
}

func isFolded(line string) bool { return line != "" && (line[0] == ' ' || line[0] == '\t') }

// cutValue splits a line at its first colon outside of quotation marks.
func cutValue(line string) (head, value string, ok bool) {
	inQuotes := false
	for i := range len(line) {
		switch {
		case line[i] == '"':
			inQuotes = !inQuotes
		case line[i] == ':' && !inQuotes:
			return line[:i], line[i+1:], true
		}
	}
	return "", "", false
}

// newProperty reads name and parameters. In version 2.1 an encoding may be given alone, without ENCODING=.
func newProperty(head string) (p property) {
	for i, part := range strings.Split(head, ";") {
		part = strings.ToUpper(strings.TrimSpace(part))
		if i == 0 {
			p.name = part[strings.LastIndexByte(part, '.')+1:]
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value = strings.Trim(cmp.Or(value, name), ` "`)
		switch {
		case name == "CHARSET" && ok:
			p.charset = value
		case name != "ENCODING" && ok:
		case value == "QUOTED-PRINTABLE":
			p.quoted = true
		case value == "BASE64" || value == "B":
			p.base64 = true
		}
	}
	return p
}

// text decodes a value or a part of it, and undoes the escapes of RFC 6350 section 3.4.
func (p property) text(raw string) string {
	octets := raw
	switch {
	case p.quoted:
		octets = unquoted(raw)
	case p.base64:
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(raw), ""))
		if err != nil {
			return ""
		}
		octets = string(b)
	}
	if octets != raw {
		octets = p.decoded(octets)
	}
	return strings.TrimSpace(vcardEscapes.Replace(octets))
}

var vcardEscapes = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\:`, ":", `\\`, `\`)

// decoded reads octets in the character set that is named, or else as UTF-8 or Windows-1252.
func (p property) decoded(octets string) string {
	var set encoding.Encoding
	if p.charset != "" {
		set, _ = htmlindex.Get(p.charset)
	} else if !utf8.ValidString(octets) {
		set = charmap.Windows1252
	}
	if set != nil {
		if out, err := set.NewDecoder().String(octets); err == nil {
			octets = out
		}
	}
	return strings.ToValidUTF8(octets, "\uFFFD")
}

// unquoted decodes quoted-printable (RFC 2045 section 6.7), and leaves what is malformed.
func unquoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '=' && i+2 < len(s) {
			if octet, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.WriteByte(octet[0])
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// property takes what a phone keeps of a contact, beside its name.
func (p *Parsed) property(f property) {
	add := func(list *[]string, value string) {
		if value != "" && len(*list) < maxParts {
			*list = append(*list, value)
		}
	}
	value := f.text(f.value)
	switch f.name {
	case "ORG":
		p.Organization = cmp.Or(p.Organization, f.joined(", "))
	case "TITLE", "ROLE":
		p.Title = cmp.Or(p.Title, value)
	case "EMAIL":
		add(&p.Emails, withoutScheme(value, "mailto:"))
	case "TEL":
		add(&p.Numbers, withoutScheme(value, "tel:"))
	case "URL":
		add(&p.URLs, value)
	case "ADR":
		add(&p.Addresses, f.joined(", "))
	case "NOTE":
		p.Note = cmp.Or(p.Note, value)
	}
}

// withoutScheme takes what a URI names, without its parameters; other values are returned as they are.
func withoutScheme(value, scheme string) string {
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return value
	}
	value, _, _ = strings.Cut(unescaped(value[len(scheme):]), ";")
	return value
}

// joined joins the parts that are not empty.
func (p property) joined(separator string) string {
	parts := kit.Map(splitEscaped(p.value, ';'), p.text)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// structuredName joins prefix, given name, further names, family name and suffix. They are stored as family; given;
// further; prefix; suffix.
func (p property) structuredName() string {
	var parts [5]string
	for i, raw := range splitEscaped(p.value, ';') {
		if i < len(parts) && p.lists {
			parts[i] = words(kit.Map(splitEscaped(raw, ','), p.text)...)
		} else if i < len(parts) {
			parts[i] = p.text(raw)
		}
	}
	return words(parts[3], parts[1], parts[2], parts[0], parts[4])
}
