package registry

import (
	"strings"
)

// roleOfKey returns the role that a key or section of a WHOIS answer is about, or nothing.
func roleOfKey(s string) Role {
	for _, w := range []struct {
		word string
		role Role
	}{
		{"registrant", registrant}, {"holder", registrant}, {"owner", registrant}, {"admin", admin},
		{"tech", tech}, {"billing", billing},
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

// contactOf returns the contact with a role, which it adds if there is none.
func contactOf(list *[]Contact, role Role) *Contact {
	for i := range *list {
		if (*list)[i].Role == role {
			return &(*list)[i]
		}
	}
	*list = append(*list, Contact{Role: role})
	return &(*list)[len(*list)-1]
}

// take takes what a field says of a contact. The first value counts.
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
