package dmarc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// maxLocalPart is how long the part of an address before the at sign can be (RFC 5321 section 4.5.3.1.1).
const maxLocalPart = 64

// destinations reads the report addresses of a request. The error is a *[diag.InputError] that names the item.
func destinations(field string, list []string, style Style) ([]policy.URI, error) {
	const most = 10 // CONTRACT 3.3.4
	if len(list) > most {
		return nil, diag.Invalid(field, "must have at most %d items", most)
	}
	var all []policy.URI
	for i, text := range list {
		field := fmt.Sprintf("%s[%d]", field, i)
		u, reason := readDestination(strings.TrimSpace(text))
		switch {
		case reason != "":
			return nil, diag.Invalid(field, "%s", reason)
		case u.HasSizeLimit && style != styleRFC7489: // RFC 9989 section 4.8
			return nil, diag.Invalid(field, "has a size limit, which does not exist in RFC 9989: write %s", diag.Quote(u.URI))
		case !slices.ContainsFunc(all, func(o policy.URI) bool { return strings.EqualFold(o.URI, u.URI) }):
			all = append(all, u)
		}
	}
	return all, nil
}

func readDestination(text string) (u policy.URI, reason string) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return u, "is empty: give a mail address"
	case strings.EqualFold(scheme, "mailto"):
		if i := strings.IndexAny(rest, ",; \t"); i >= 0 {
			return u, fmt.Sprintf("has the character %q: give one address per item; in a URI the character is written %%%02X",
				rest[i:i+1], rest[i])
		}
		u = policy.ParseURI("mailto:" + rest)
	case strings.Contains(text, "://"):
		return u, "is not a mail address: receivers need to support no other way of sending reports"
	default:
		if u, reason = bareDestination(text); reason != "" {
			return u, reason
		}
	}
	if !u.Valid() {
		return u, fmt.Sprintf("%s: give an address such as dmarc@example.com", u.Problem())
	}
	return u, ""
}

// bareDestination makes a URI of an address (RFC 6068 section 2).
func bareDestination(text string) (u policy.URI, reason string) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return u, "is not a mail address: give one such as dmarc@example.com"
	}
	local := text[:at]
	domain, err := diag.ParseDomain(text[at+1:])
	foreign := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>()[]\,:;@`, r) }
	switch {
	case err != nil:
		return u, "has no valid domain behind the at sign: give an address such as dmarc@example.com"
	case len(local) > maxLocalPart:
		return u, fmt.Sprintf("has more than %d characters before the at sign", maxLocalPart)
	case strings.ContainsFunc(local, foreign):
		return u, "has a character before the at sign that senders of reports need not support: give one plain address " +
			"per item"
	}
	return policy.ParseURI("mailto:" + escaped(local) + "@" + domain.String()), ""
}

// escaped writes the local part of an address as in a URI, in which commas and exclamation marks are encoded, too
// (RFC 9989 section 4.8).
func escaped(local string) string {
	var b strings.Builder
	for _, c := range []byte(local) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if letter || '0' <= c && c <= '9' || strings.IndexByte("-._~+*'$", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
