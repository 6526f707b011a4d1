package phishing

import (
	"strings"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
)

// elsewhere are schemes that do not lead to a page, with their meaning and what to give instead.
var elsewhere = map[string]string{
	"mailto":     "a mail address is not a page; give the URL of a page, or examine the message with mail/header-analyze",
	"tel":        "a phone number is not a page; give the URL of a page",
	"sms":        "a phone number is not a page; give the URL of a page",
	"javascript": "a script is not a page; give the URL of the page that it is on",
	"data":       "a document in a URL is on no site; give the URL of the page that links to it",
	"file":       "a local file is on no site; give an http or https URL",
	"about":      "a page of the browser is on no site; give an http or https URL",
	"blob":       "an object in a browser is on no site; give the URL of the page that made it",
}

// The ways in which reports defang URLs, and a scheme that was pasted in front
// of a URL that has one.
var (
	defangedScheme = kit.Regexp(`(?i)^h(?:xx|\*\*|__|xt|tx)p(s?)(?:\[:?//\]|\[?:\]?/{2}|:?//)`)
	bracketScheme  = kit.Regexp(`(?i)^(https?)(?:\[:\]/{2}|\[:?//\]|:\[//\])`)
	defangedDot    = kit.Regexp(`(?i)[ \t]?(?:\[(?:\.|dot)\]|\((?:\.|dot)\)|\{(?:\.|dot)\})[ \t]?`)
	noColon        = kit.Regexp(`(?i)^(https?)//`)
	secondScheme   = kit.Regexp(`(?i)^(?:https?(?::/{0,2}|//))+(https?)(?::/{1,2}|//)`)
)

// correct undoes what people do to a URL when they report it, and what goes wrong when one is copied, and notes it.
// The error is an InputError for what leads to no page.
func (a *anatomy) correct(text string) (string, error) {
	s := strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	scheme, rest, _ := strings.Cut(s, ":")
	if what := elsewhere[strings.ToLower(scheme)]; what != "" && !strings.HasPrefix(rest, "//") {
		return "", input.Invalid("url", "%.300q is not a URL to fetch: %s", s, what)
	}
	if plain := refanged(s); plain != s {
		a.corrected = append(a.corrected, "it was defanged, as reports write URLs so that nobody follows them")
		s = plain
	}
	if m := secondScheme().FindStringSubmatch(s); m != nil {
		a.corrected = append(a.corrected, "its scheme was written twice")
		s = m[1] + "://" + s[len(m[0]):]
	} else if m := noColon().FindStringSubmatch(s); m != nil {
		a.corrected = append(a.corrected, "its scheme had no colon")
		s = m[1] + "://" + s[len(m[0]):]
	}
	return s, nil
}

// refanged undoes the notation of reports: in the scheme, in the host, and in the path of a URL that has it there.
func refanged(s string) string {
	plain := defangedScheme().ReplaceAllString(s, "http$1://")
	plain = bracketScheme().ReplaceAllString(plain, "$1://")
	end := strings.IndexAny(plain, "?#")
	if end < 0 {
		end = len(plain)
	}
	host := end
	if scheme, rest, ok := strings.Cut(plain[:end], "://"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			host = len(scheme) + len("://") + i
		}
	} else if i := strings.IndexByte(plain[:end], '/'); i >= 0 {
		host = i
	}
	if plain == s && !defangedDot().MatchString(plain[:host]) {
		return s
	}
	before, after := plain[:end], plain[end:]
	for defangedDot().MatchString(before) {
		before = defangedDot().ReplaceAllString(before, ".")
	}
	return before + after
}
