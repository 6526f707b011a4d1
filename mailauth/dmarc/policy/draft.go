package policy

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// A Draft is a record in the making: tags in order.
type Draft []Setting

// A Setting is a tag and its value.
type Setting struct{ Tag, Value string }

// NewDraft starts a record with its version and p.
func NewDraft(p Policy) Draft { return Draft{{"v", Format.Version}, {"p", string(p)}} }

// DraftOf starts with the tags of a list, the first of each name.
func DraftOf(l *taglist.List) Draft {
	var d Draft
	for _, t := range l.Tags {
		if !t.Repeated {
			d = append(d, Setting{t.Name, t.Value})
		}
	}
	return d
}

func (d Draft) index(name string) int {
	return slices.IndexFunc(d, func(s Setting) bool { return strings.EqualFold(s.Tag, name) })
}

// Get returns the value of a tag.
func (d Draft) Get(name string) (value string, ok bool) {
	if i := d.index(name); i >= 0 {
		return d[i].Value, true
	}
	return "", false
}

// Set gives a tag a value, in its place if it has one, else at the end.
func (d *Draft) Set(name, value string) {
	if i := d.index(name); i >= 0 {
		(*d)[i].Value = value
		return
	}
	*d = append(*d, Setting{name, value})
}

// SetFirst gives a tag a value and puts it at a position, such as p behind the version.
func (d *Draft) SetFirst(position int, name, value string) {
	d.Remove(name)
	*d = slices.Insert(*d, min(position, len(*d)), Setting{name, value})
}

// Remove removes a tag, if present.
func (d *Draft) Remove(name string) {
	if i := d.index(name); i >= 0 {
		*d = slices.Delete(*d, i, i+1)
	}
}

// String prints the record.
func (d Draft) String() string {
	return strings.Join(kit.Map(d, func(s Setting) string { return s.Tag + "=" + s.Value }), "; ")
}

// The ways in which the scheme of a mail address is written by mistake: misspelt, which [isMailto] knows, with another
// sign than a colon behind it, and more than once.
var (
	schemeLike = kit.Regexp(`(?i)(^|[\s,<])([a-z_-]{3,9})\s*([:.])`)
	mailtoLike = kit.Regexp(`(?i)(?:[\s,]*mailto\s*[:=]+\s*(?://)?<?)+`)
)

// RestoreURIs returns the destinations that a text was meant to name, whatever separates them, without size limits:
// bare addresses become mailto URIs, and words that mean no destination are left out. It reports false if one cannot
// be read.
func RestoreURIs(value string) (list []string, ok bool) {
	ok = true
	value = schemeLike().ReplaceAllStringFunc(value, func(found string) string {
		m := schemeLike().FindStringSubmatch(found)
		if isMailto(m[2]) && (m[3] == ":" || strings.EqualFold(m[2], "mailto")) {
			return m[1] + "mailto:"
		}
		return found
	})
	value = mailtoLike().ReplaceAllString(value, " mailto:")
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == ',' }) {
		part = strings.Trim(part, "<>()[]{}.")
		address := strings.TrimPrefix(strings.TrimPrefix(part, "mailto"), ":")
		if part == "" || address == "" || nowhere(address) {
			continue
		}
		u := ParseURI(part)
		for _, again := range []string{"mailto:" + part, escapedMark(part), asciiDomain(part)} {
			if u.Valid() {
				break
			}
			u = ParseURI(again)
		}
		if ok = ok && u.Valid(); u.Valid() {
			list = append(list, u.URI)
		}
	}
	return list, ok
}

// withSemicolon finds a scheme of mail addresses with a semicolon behind it, which ends the tag.
var withSemicolon = kit.Regexp(`(?i)([=,\s])([a-z_-]{3,9})\s*;\s*([^\s;,@=:]+@)`)

// RestoreColons replaces the semicolon after a mailto scheme, a common typing error, by a colon.
func RestoreColons(record string) string {
	return withSemicolon().ReplaceAllStringFunc(record, func(found string) string {
		m := withSemicolon().FindStringSubmatch(found)
		if isMailto(m[2]) {
			return m[1] + "mailto:" + m[3]
		}
		return found
	})
}

// isMailto reports whether a word is the scheme of mail addresses, or probably meant as that.
func isMailto(word string) bool {
	word = strings.ToLower(word)
	return slices.Contains([]string{"mailto", "email", "e-mail", "mail", "mail-to"}, word) ||
		phrase.Nearest(word, "mailto") != ""
}

// nowhere reports whether a word means that there is no destination.
func nowhere(word string) bool {
	return slices.Contains([]string{"none", "no", "null", "nil", "n/a", "na", "off", "false", "-", "0"},
		strings.ToLower(word))
}

// escapedMark writes exclamation marks before the at sign as URIs must (RFC 9989 section 4.8).
func escapedMark(uri string) string {
	local, domain, _ := strings.Cut(uri, "@")
	return strings.ReplaceAll(local, "!", "%21") + "@" + domain
}

func asciiDomain(uri string) string {
	local, domain, _ := strings.Cut(uri, "@")
	d, err := diag.ParseDomain(domain)
	if err != nil {
		return uri
	}
	return local + "@" + d.String()
}

// UniqueURIs removes duplicates from a list.
func UniqueURIs(list []string) []string {
	var kept []string
	for _, s := range list {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.EqualFold(k, s) }) {
			kept = append(kept, s)
		}
	}
	return kept
}
