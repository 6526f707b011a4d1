package registry

import (
	"cmp"
	"slices"
	"strings"
)

// A card holds the data of a contact in a jCard (RFC 7095).
type card struct {
	name, organization, kind string
	emails, phones           []string // no fax numbers
	country, url             string
	redacted                 bool // a value says that it is left out
	faults                   int  // properties that break the rules
}

// parseCard reads a jCard: ["vcard", [[name, parameters, type, value…], …]] (RFC 7095 section 3).
// A property that breaks the rules is skipped and counted; it never spoils the others.
func parseCard(n node) card {
	var c card
	if n.v == nil {
		return c
	}
	array, ok := n.v.([]any)
	if !ok || len(array) < 2 || n.at(0).text() != "vcard" {
		c.faults++
		return c
	}
	properties, ok := array[1].([]any)
	if !ok {
		c.faults++
		return c
	}
	for _, p := range properties[:min(len(properties), maxList)] {
		if !c.property(node{p}) {
			c.faults++
		}
	}
	return c
}

// property reads one property, and reports whether it is well formed.
func (c *card) property(p node) bool {
	array, _ := p.v.([]any)
	name, ok := p.at(0).v.(string)
	if len(array) < 4 || !ok {
		return false
	}
	if _, ok := p.at(1).v.(map[string]any); !ok {
		return false
	}
	if _, ok := p.at(2).v.(string); !ok { // RFC 7095 section 3.3
		return false
	}
	value := p.at(3)
	switch strings.ToLower(name) {
	case "fn":
		c.fill(&c.name, value)
	case "org":
		c.fill(&c.organization, value)
	case "kind":
		c.kind = strings.ToLower(value.text())
	case "email":
		c.email(value.text())
	case "tel":
		c.tel(p.at(1), value.text())
	case "url", "contact-uri":
		c.link(name, value.text())
	case "adr":
		c.address(p.at(1), value)
	}
	return true
}

// fill sets a text unless it is set; a structured value is joined (RFC 7095 section 3.3.1.3).
func (c *card) fill(field *string, value node) {
	text := strings.Join(value.texts(), ", ")
	switch {
	case isRedaction(text):
		c.redacted = true
	case *field == "":
		*field = text
	}
}

func (c *card) email(text string) {
	text = strings.TrimPrefix(text, "mailto:")
	switch {
	case isRedaction(text):
		c.redacted = true
	case strings.Contains(text, "@") && !strings.Contains(text, " "):
		c.emails = addOnce(c.emails, text)
	}
}

// tel adds a telephone number, in the text form or the URI of RFC 3966.
func (c *card) tel(parameters node, text string) {
	if isRedaction(text) {
		c.redacted = true
		return
	}
	for _, kind := range parameters.get("type").list() {
		if strings.EqualFold(kind.text(), "fax") {
			return
		}
	}
	number, rest, _ := strings.Cut(strings.TrimPrefix(text, "tel:"), ";")
	if digits(number) < 5 {
		return
	}
	if extension, ok := strings.CutPrefix(rest, "ext="); ok && extension != "" {
		number += " ext. " + extension
	}
	c.phones = addOnce(c.phones, number)
}

func digits(s string) int {
	count := 0
	for _, r := range s {
		if '0' <= r && r <= '9' {
			count++
		}
	}
	return count
}

// link sets the address of a web page. A contact-uri replaces a redacted mail address (RFC 8605 section 2.1).
func (c *card) link(property, text string) {
	if address, ok := strings.CutPrefix(text, "mailto:"); ok {
		c.email(address)
		return
	}
	if strings.EqualFold(property, "url") && c.url == "" && !isRedaction(text) {
		c.url = text
	}
}

// address sets the country: the code of the parameter cc (RFC 8605 section 3.1), or the last part of
// the address (RFC 6350 section 6.3.1), or the last line of its label.
func (c *card) address(parameters, value node) {
	country := cmp.Or(parameters.get("cc").text(), value.at(6).text())
	if label, ok := parameters.get("label").v.(string); ok && country == "" {
		parts := lines(strings.TrimSpace(label))
		country = oneLine(parts[len(parts)-1])
	}
	switch {
	case isRedaction(country):
		c.redacted = true
	case c.country == "":
		c.country = country
	}
}

var redactions = []string{"redacted", "not disclosed", "withheld for privacy", "data protected", "statutory masking",
	"gdpr masked", "gdpr redacted", "non-public data", "not shown, please visit",
	"personal data, can not be publicly disclosed", "please query the rdds service", "select request email form",
	"hidden upon user request", "private person"}

// isRedaction reports whether a value says that it is left out.
func isRedaction(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(redactions, func(r string) bool { return strings.Contains(text, r) })
}

// roleOfKey returns the role that a key or section of a WHOIS answer is about, or nothing.
func roleOfKey(s string) Role {
	for _, w := range []struct {
		word string
		role Role
	}{
		{"registrant", Registrant}, {"holder", Registrant}, {"owner", Registrant}, {"admin", Admin},
		{"tech", Tech}, {"billing", Billing},
	} {
		if strings.HasPrefix(s, w.word) || strings.HasPrefix(s, "domain "+w.word) {
			return w.role
		}
	}
	return ""
}

// readContacts reads the people of a WHOIS answer: from keys such as "Registrant Country", or from
// paragraphs under headings such as "Registrant".
func readContacts(fields []field) []Contact {
	var list []Contact
	for _, f := range fields {
		role, what := roleOfKey(f.key), f.key
		if role == "" || headings[f.key] {
			role = roleOfKey(f.section)
		}
		if role == "" || strings.Contains(f.key, "country code") {
			continue
		}
		c := contactOf(&list, role)
		c.take(what, f)
	}
	return list
}

// contactOf returns the contact with a role, adding it if needed.
func contactOf(list *[]Contact, role Role) *Contact {
	for i := range *list {
		if (*list)[i].Role == role {
			return &(*list)[i]
		}
	}
	*list = append(*list, Contact{Role: role})
	return &(*list)[len(*list)-1]
}

// take sets a property of a contact from a field. The first value counts.
func (c *Contact) take(key string, f field) {
	var target *string
	switch last := key[strings.LastIndexByte(key, ' ')+1:]; {
	case last == "name" || f.bare && headings[key]:
		target = &c.Name
	case last == "organization" || last == "organisation" || last == "org":
		target = &c.Organization
	case last == "country":
		target = &c.Country
	case last == "email" || last == "e-mail":
		target = &c.Email
	case headings[key]:
		target = &c.Name
	default:
		c.Redacted = c.Redacted || isRedaction(f.value)
		return
	}
	switch {
	case isRedaction(f.value):
		c.Redacted = true
	case target == &c.Email && !strings.Contains(f.value, "@"):
	case *target == "":
		*target = f.value
	}
}
