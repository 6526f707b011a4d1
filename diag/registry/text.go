package registry

import (
	"iter"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The limits of what is read of a WHOIS answer. The longest seen has 500 lines of 300 bytes at most,
// terms of use aside.
const (
	maxLines = 5000
	maxLine  = 2000 // bytes
)

// A field is one statement of a WHOIS answer. Every server has a format of its own, but nearly all are
// made of keys with values, under headings or in paragraphs about one thing each.
type field struct {
	section string // heading of the lines around it, or first key of the paragraph, like a key
	key     string // in lower case, words separated by one space; of lines under a heading, the heading
	value   string // never empty
	bare    bool   // the line had no key
}

// headings are the keys without a value, with or without a colon, under which lines follow. Others may just be empty.
var headings = words(`domain|domain name|domain information|domain status|relevant dates|registration status|
	status information|data validation|dnssec|first registration date|name servers|nameservers|name server|
	domain name servers|domain nameservers|name servers information|domain servers in listed order|
	nameserver in listed order|primary name server|secondary name server|dns servers|registrar|registrant|
	registrant contact|registrant contact information|holder|domain holder|organisation|organization|
	organization using domain name|owner|owner contact|administrative|administrative contact|
	administrative contact information|administrative contact/agent|admin|admin contact|technical|technical contact|
	technical contact information|tech|tech contact|domain servers|name server information|
	name servers in the listed order|servidor(es) de nombres de dominio|billing contact|contact information|contact|
	abuse contact`)

var (
	// "key: value", "key....: value". A colon before two slashes is part of a URL.
	keyValue = diag.Regexp(`^(\pL[\pL\w .\-/()*&']{0,60}?)[. \t]*:+(?:[ \t]+(.*)|([^/ \t:].*)|(/[^/].*))?$`)
	// "[Key]  value", "a. [Key]  value", "a [Key]  value"
	bracketed = diag.Regexp(`^(?:[a-z](?:\. *| ))?\[([A-Z][^\]]{0,40})\](?:\s+(.*))?$`)
	// "Record created on 2026-01-01"
	onDate = diag.Regexp(`(?i)^((?:record |domain )(?:created|registered|expires|will expire|last updated) on|` +
		`registered on|created on):?\s+(\S.*)$`)
	// "Key of two    value" in columns, if the key is known
	columns = diag.Regexp(`^(\S+(?: +\S+)?) {2,}([^\s:].*)$`)
	// Numbers at the end of a key, and hints of plural.
	keyTail = diag.Regexp(`(?: \(dd/mm/yyyy\)|\(s\)|\(ac\)|[ _]?\d+)$`)
)

type scanner struct {
	fields  []field
	section string
	start   bool   // the next line begins a paragraph
	key     string // to which lines without a key belong, or empty
	indent  int    // of the line with that key
	heading bool   // that key is a heading, of which no line has come yet
}

// scan reads a WHOIS answer for domains. It never fails; of a text in an unknown format little comes.
func scan(text string) []field {
	s := scanner{start: true}
	for line := range someLines(text) {
		s.line(line)
	}
	return s.fields
}

// someLines yields the lines of an answer within the limits.
func someLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		count := 0
		for line := range strings.SplitSeq(text, "\n") {
			if count++; count > maxLines || !yield(clip(strings.TrimSuffix(line, "\r"), maxLine)) {
				return
			}
		}
	}
}

func (s *scanner) line(line string) {
	text := strings.TrimSpace(line)
	if marked := strings.TrimPrefix(text, "** "); marked != text {
		text = marked // "** Registrar:"
	}
	switch {
	case text == "":
		if !s.heading {
			s.start, s.key = true, ""
		}
		return
	case strings.ContainsRune("%#;>", rune(text[0])) || strings.Trim(text, "-=*_ ") == "":
		return // comments, notices, rules
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if key, value, ok := split(text, s.key); ok {
		s.pair(normalKey(key), oneLine(value), indent)
		return
	}
	if key := normalKey(text); headings[key] {
		s.head(key, indent)
		return
	}
	if s.key != "" {
		s.heading = false
		s.add(s.key, oneLine(text), true)
		return
	}
	s.start = false
}

func split(text, current string) (key, value string, ok bool) {
	if m := onDate().FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	if m := bracketed().FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	// A tab separates a key that is known from its value; other lines with tabs are host and address.
	if before, after, found := strings.Cut(text, "\t"); found && !strings.Contains(before, ":") && current == "" {
		if headings[normalKey(before)] {
			return before, after, true
		}
	}
	if m := columns().FindStringSubmatch(text); m != nil && ofDomain(normalKey(m[1])) {
		return m[1], m[2], true
	}
	// A host with an IPv6 address has colons as well.
	if host, _, more := strings.Cut(text, " "); more && strings.Contains(hostName(host), ".") {
		return "", "", false
	}
	if m := keyValue().FindStringSubmatch(text); m != nil {
		return m[1], m[2] + m[3] + m[4], true
	}
	return "", "", false
}

// ofDomain reports whether a key without a colon is one of those that say something of a domain.
func ofDomain(key string) bool {
	return domainKeys[key] || createdKeys[key] || expiresKeys[key] || updatedKeys[key] || serverKeys[key] || statusKeys[key]
}

// normalKey brings a key into one form: "Name Server 01", "ns_name_01" and "[Name Server]" become words
// in lower case without number. Of a key in two languages it is the second, which is English.
func normalKey(key string) string {
	if _, english, ok := strings.Cut(key, " / "); ok {
		key = english
	}
	key = strings.Trim(strings.ToLower(strings.TrimSpace(key)), ":. ")
	key = keyTail().ReplaceAllString(key, "")
	return strings.Join(strings.FieldsFunc(key, func(r rune) bool { return r == ' ' || r == '_' || r == '\t' }), " ")
}

func (s *scanner) pair(key, value string, indent int) {
	if value == "" && headings[key] {
		s.head(key, indent)
		return
	}
	if s.start && value != "" && !s.heading {
		s.section = key
	}
	s.start, s.heading = false, false
	s.key, s.indent = key, indent
	if value != "" {
		s.add(key, value, false)
	} else {
		s.key = ""
	}
}

func (s *scanner) head(key string, indent int) {
	s.section, s.key, s.indent = key, key, indent
	s.start, s.heading = false, true
}

func (s *scanner) add(key, value string, bare bool) {
	if value != "" {
		s.fields = append(s.fields, field{s.section, key, value, bare})
	}
}
