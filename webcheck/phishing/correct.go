package phishing

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// elsewhere are schemes of what is no page, with what it is and what to give instead.
var elsewhere = map[string]string{
	"mailto":     "a mail address is not a page; give the URL of a page, or examine the message with mail/header-analyze",
	"tel":        "a phone number is not a page; give the URL of a page",
	"sms":        "a phone number is not a page; give the URL of a page",
	"javascript": "a script is not a page; give the URL of the page that it stands on",
	"data":       "a document in a URL is on no site; give the URL of the page that links to it",
	"file":       "a local file is on no site; give an http or https URL",
	"about":      "a page of the browser is on no site; give an http or https URL",
	"blob":       "an object in a browser is on no site; give the URL of the page that made it",
}

// The ways in which reports write URLs so that nobody follows them by accident, and a scheme that was pasted in front
// of a URL that has one.
var (
	defangedScheme = diag.Regexp(`(?i)^h(?:xx|\*\*|__|xt|tx)p(s?)(?:\[:?//\]|\[?:\]?/{2}|:?//)`)
	bracketScheme  = diag.Regexp(`(?i)^(https?)(?:\[:\]/{2}|\[:?//\]|:\[//\])`)
	defangedDot    = diag.Regexp(`(?i)[ \t]?(?:\[(?:\.|dot)\]|\((?:\.|dot)\)|\{(?:\.|dot)\})[ \t]?`)
	secondScheme   = diag.Regexp(`(?i)^(?:https?(?::/{0,2}|//))+(https?)(?::/{1,2}|//)`)
)

// correct undoes what people do to a URL when they report it, and what goes wrong when one is copied, and notes it.
// The error is an InputError for what leads to no page.
func (a *anatomy) correct(input string) (string, error) {
	s := strings.TrimFunc(input, func(r rune) bool { return r <= ' ' })
	scheme, rest, _ := strings.Cut(s, ":")
	if what := elsewhere[strings.ToLower(scheme)]; what != "" && !strings.HasPrefix(rest, "//") {
		return "", diag.Invalid("url", "%.300q is not a URL to fetch: %s", s, what)
	}
	if plain := refanged(s); plain != s {
		a.corrected = append(a.corrected, "it was defanged, as reports write URLs so that nobody follows them")
		s = plain
	}
	if single := secondScheme().ReplaceAllString(s, "$1://"); single != s {
		a.corrected = append(a.corrected, "its scheme was written twice")
		s = single
	}
	return s, nil
}

// refanged undoes the notation of reports, in front of the query.
func refanged(s string) string {
	s = defangedScheme().ReplaceAllString(s, "http$1://")
	s = bracketScheme().ReplaceAllString(s, "$1://")
	end := strings.IndexAny(s, "?#")
	if end < 0 {
		end = len(s)
	}
	return defangedDot().ReplaceAllString(s[:end], ".") + s[end:]
}
