package crawl

import "strings"

// A webLink is a link of a Link header field (RFC 8288 section 3).
type webLink struct {
	target string
	rel    []string // in lower case
	anchor string   // what the link is about; the page itself if absent
}

// The bounds of Link fields.
const (
	maxWebLinks = 200
	maxRels     = 20
)

// parseLinks reads the values of Link fields (RFC 8288 appendix B). What cannot be read ends a value.
func parseLinks(values []string) (list []webLink) {
	for _, s := range values {
		for len(list) < maxWebLinks {
			s = strings.TrimLeft(s, " \t,")
			rest, ok := strings.CutPrefix(s, "<")
			if !ok {
				break
			}
			l := webLink{}
			if l.target, s, ok = strings.Cut(rest, ">"); !ok {
				break
			}
			seen := map[string]bool{}
			for {
				var name, value string
				if name, value, s, ok = cutParameter(s); !ok {
					break
				}
				switch { // of several the first counts
				case seen[name]:
				case name == "rel":
					l.rel = strings.Fields(strings.ToLower(value))
					l.rel = l.rel[:min(len(l.rel), maxRels)]
				case name == "anchor":
					l.anchor = value
				}
				seen[name] = true
			}
			list = append(list, l)
			if s = strings.TrimLeft(s, " \t"); !strings.HasPrefix(s, ",") {
				break
			}
		}
	}
	return list
}

// cutParameter reads a parameter at the beginning of a text, a semicolon before it; the name is in lower case.
func cutParameter(s string) (name, value, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	after, ok := strings.CutPrefix(s, ";")
	if !ok {
		return "", "", s, false
	}
	after = strings.TrimLeft(after, " \t")
	end := strings.IndexAny(after, " \t=;,")
	if end < 0 {
		end = len(after)
	}
	name, s = strings.ToLower(after[:end]), strings.TrimLeft(after[end:], " \t")
	if after, ok = strings.CutPrefix(s, "="); !ok {
		return name, "", s, true
	}
	after = strings.TrimLeft(after, " \t")
	if quoted, ok := strings.CutPrefix(after, `"`); ok {
		value, rest = cutQuoted(quoted)
		return name, value, rest, true
	}
	if end = strings.IndexAny(after, ";,"); end < 0 {
		end = len(after)
	}
	return name, strings.TrimRight(after[:end], " \t"), after[end:], true
}

// cutQuoted reads a quoted string behind its first quotation mark (RFC 9110 section 5.6.4).
func cutQuoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
