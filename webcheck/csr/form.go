package csr

import (
	"encoding/base64"
	"encoding/pem"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// pemLabels are those under which authorities read requests: that of RFC 7468 section 7, and the one of older programs
// that parsers may accept in its place.
var pemLabels = []string{"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"}

// maxLine bounds the lines of a PEM file, in characters. Writers stop at 64 (RFC 7468 section 2); readers that are as
// old as RFC 1421 take what MIME allows, and some fail at more.
const maxLine = 76

// isPEM reports whether authorities can read a request in a text as it is: in Base64 between lines BEGIN and END that
// have nothing beside them (RFC 7468 section 3). Lines may end with CRLF and white space, and other text is allowed
// before and after the request.
func isPEM(text string, der []byte) bool {
	for _, label := range pemLabels {
		_, rest, ok := strings.Cut("\n"+text, "\n-----BEGIN "+label+"-----")
		body, after, ended := strings.Cut(rest, "\n-----END "+label+"-----")
		first, body, _ := strings.Cut(body, "\n")
		last, _, _ := strings.Cut(after, "\n")
		if !ok || !ended || strings.Trim(first+last, lineEnd) != "" {
			continue
		}
		var data strings.Builder
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimRight(line, lineEnd)
			if line == "" || len(line) > maxLine {
				return false
			}
			data.WriteString(line)
		}
		decoded, err := base64.StdEncoding.DecodeString(data.String())
		return err == nil && slices.Equal(decoded, der)
	}
	return false
}

// lineEnd is the white space that may follow a line.
const lineEnd = " \t\r"

// cleanPEM is the request alone, as it should be handed in.
func cleanPEM(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: pemLabels[0], Bytes: der}))
}

// A repair takes back what mail, chat, web forms and word processors do to a text.
type repair struct {
	damage string // what they did, as a clause; empty if it does no harm
	undo   func(string) string
}

// repairs are made one after the other: what was done last is taken back first.
var repairs = []repair{
	{"it has backslash escapes", func(text string) string {
		return escape().ReplaceAllStringFunc(text, unescape)
	}},
	{"it is URL-encoded", func(text string) string {
		if plusForSpace().MatchString(text) {
			text = strings.ReplaceAll(text, "+", " ")
		}
		return percent().ReplaceAllStringFunc(text, func(s string) string {
			octet, _ := url.PathUnescape(s)
			return octet
		})
	}},
	{"it is a data URL", func(text string) string { return dataURL().ReplaceAllString(text, "") }}, // RFC 2397
	{"it is encoded as quoted-printable", func(text string) string {
		if !strings.Contains(text, "=3D") && len(softBreak().FindAllString(text, 2)) < 2 {
			return text // "=3D" is padding, and a single equals sign at the end of a line may be it
		}
		return strings.NewReplacer("=\r\n", "", "=\n", "", "=3D", "=", "=20", " ").Replace(text)
	}},
	{"it has HTML tags or entities", func(text string) string {
		return htmlTag().ReplaceAllString(html.UnescapeString(html.UnescapeString(text)), "\n") // some are escaped twice
	}},
	{"", strings.NewReplacer("\r\n", "\n").Replace},
	{"its line ends are neither LF nor CRLF", strings.NewReplacer("\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace},
	{"it has invisible characters or special spaces", strings.NewReplacer("\x00", "", "\ufeff", "", "\u200b", "",
		"\u200c", "", "\u200d", "", "\u2060", "", "\u00ad", "", "\u00a0", " ", "\u2007", " ", "\u202f", " ",
		"\u3000", " ").Replace},
	{"its hyphens were replaced with dashes", strings.NewReplacer("\u2010", "-", "\u2011", "-", "\u2012", "--",
		"\u2013", "--", "\u2014", "--", "\u2015", "--", "\u2212", "-", "\uff0d", "-", "\u0096", "--",
		"\u0097", "--", "â€“", "--", "â€”", "--").Replace}, // the last four were read in a wrong character set
	{"it was quoted, as mail programs do", func(text string) string {
		return quoted().ReplaceAllString(text, "")
	}},
	{"it is in quotation marks", func(text string) string {
		return quotes().ReplaceAllString(text, "")
	}},
	{"its hyphens are escaped, as in signed mail", func(text string) string { // RFC 9580 section 7.2
		return dashEscape().ReplaceAllString(text, "--")
	}},
}

var (
	escape       = kit.Regexp(`\\+(?:u00[0-9A-Fa-f]{2}|[nrt])?`)
	percent      = kit.Regexp(`%[0-9A-Fa-f]{2}`)
	plusForSpace = kit.Regexp(`(?i)(?:BEGIN|END)\+(?:[A-Z]+\+)*REQUEST`)
	softBreak    = kit.Regexp(`[A-Za-z0-9+/]=\r?\n[A-Za-z0-9+/]`)
	dataURL      = kit.Regexp(`data:[A-Za-z0-9/+.;=-]*;base64,`)
	htmlTag      = kit.Regexp(`</?[A-Za-z][A-Za-z0-9:]*(?:\s[^<>]*)?/?>`)
	quoted       = kit.Regexp(`(?m)^[ \t]*(?:(?:[>|#:»]|[0-9]{1,3}[:.)|][ \t])[ \t]*)+`)
	quotes       = kit.Regexp("(?m)[\"'`“”„‘’‚«»]+[ \t,;+]*$|^[ \t]*[\"'`“”„‘’‚«»]+")
	dashEscape   = kit.Regexp(`(?m)^- --`)
)

func unescape(s string) string {
	switch s = strings.TrimLeft(s, `\`); {
	case s == "n" || s == "r":
		return "\n"
	case s == "t":
		return " "
	case s != "":
		octet, _ := url.PathUnescape("%" + s[len("u00"):])
		return octet
	}
	return ""
}

// restored takes back all damage.
func restored(text string) string {
	for _, r := range repairs {
		text = r.undo(text)
	}
	return text
}

// layouts are faults of a text on which there was nothing to repair.
var layouts = []struct {
	damage  string // as a clause
	pattern func() *regexp.Regexp
}{
	{"it lost its line breaks", kit.Regexp(`(?i)BEGIN[ A-Z0-9]+-{2,}[ \t]*[A-Za-z0-9+/]{20}`)},
	{"its lines are indented", kit.Regexp(`(?m)^[ \t]+(?:-+[ \t]*BEGIN|[A-Za-z0-9+/]{20})`)},
	{"the lines BEGIN and END do not have 5 hyphens on each side", kit.Regexp(
		`(?im)(?:^|[^-])(?:-{0,4}|-{6,})(?:BEGIN|END) [ A-Z0-9]*REQUEST|REQUEST(?:-{0,4}|-{6,})(?:[^-]|$)`)},
	{"other text is on the lines BEGIN and END", kit.Regexp(`(?im)[^-\s][ \t]*-{2,}BEGIN|REQUEST-+[ \t]*[^-\s]`)},
	{"it has blank lines", kit.Regexp(`\n[ \t]*\n`)},
	{"spaces are within its lines", kit.Regexp(`(?m)^[A-Za-z0-9+/]+ [A-Za-z0-9+/ ]+=*$`)},
	{"its lines are longer than 76 characters", kit.Regexp(`[A-Za-z0-9+/]{77}`)},
}

// between is the part of a text from the line BEGIN to the line END.
var between = kit.Regexp(`(?is)[^\n]*BEGIN[^\n]{1,40}(?:CERTIFICATE|REQUEST).*` +
	`END[^\n]{1,40}(?:CERTIFICATE|REQUEST)[^\n]*`)

// endLine is the last line of a block of any kind.
var endLine = kit.Regexp(`(?i)-[ \t]*END[ \t][^\n]*-`)

// damages says how a request was altered in a text that is not a PEM file, as clauses. It is empty if the text is
// the Base64 encoding of a request without lines BEGIN and END, as some control panels give it.
func damages(text, label string) (list []string) {
	part := between().FindString(text)
	switch {
	case part != "":
		text = part
	case label != "" && !endLine().MatchString(restored(text)):
		return []string{"the line END is missing"}
	}
	for _, r := range repairs {
		before := text
		if text = r.undo(text); text != before && r.damage != "" {
			list = append(list, r.damage)
		}
	}
	if len(list) > 0 || part == "" {
		return list
	}
	for _, l := range layouts {
		if l.pattern().MatchString(text) {
			return []string{l.damage}
		}
	}
	return nil
}
