package policy

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// mailtoLike is how the scheme of a mail address is written by mistake.
var mailtoLike = diag.Regexp(`(?i)[\s,]*mailto\s*[:=]\s*(?://)?<?`)

// RestoreURIs reads the destinations that were meant by a text, whatever stands between them, without a
// size limit: bare addresses become URIs of mailto. It reports false if one cannot be read.
func RestoreURIs(value string) (list []string, ok bool) {
	ok = true
	value = mailtoLike().ReplaceAllString(value, " mailto:")
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == ',' }) {
		part = strings.Trim(part, "<>()[]{}.")
		if part == "" {
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

// UniqueURIs drops what stands in a list before.
func UniqueURIs(list []string) []string {
	var kept []string
	for _, s := range list {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.EqualFold(k, s) }) {
			kept = append(kept, s)
		}
	}
	return kept
}
