package spf

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// dropped are quotation marks, and characters that word processors and forms put around a text.
const dropped = "\"'`\\\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\ufeff"

var replaced = strings.NewReplacer("\u00a0", " ", "\uff1a", ":", "\uff1d", "=", "\uff1b", ";", "\uff0c", ",",
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2212", "-", "\\;", ";", "\\ ", " ")

var backslash = kit.Regexp(`([0-9a-fA-F:.])\\([0-9]{1,3})\b`)

var bareTXTLine = kit.Regexp(`(?i)^\s*TXT\s*[("]`)

// pasted returns the character-strings of a text, which may be a line of a zone file, also without a name.
func pasted(text string) []string {
	if bareTXTLine().MatchString(text) {
		text = "@ " + text
	}
	parts, _ := dnsmsg.PastedTXT(text)
	return parts
}

// cleaned removes invisible characters and quotation marks, and turns other white space into blanks.
func cleaned(text string) string {
	text = backslash().ReplaceAllString(text, "$1/$2")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(dropped, r):
			return -1
		default:
			return r
		}
	}, replaced.Replace(text)))
}

var versions = kit.Regexp(`(?i)^(v(?:ersion)?\s*[=:.-]*\s*(?:spf|sfp|fsp|psf|sp1)[\s_.-]*v?1?|` +
	`spf\s*=?\s*v?\s*1)(.*)$`)

// cutVersion cuts the version from the beginning of a text, also where it is misspelled or missing.
func cutVersion(text string) (rest string, ok bool) {
	if m := versions().FindStringSubmatch(text); m != nil && (m[2] == "" || strings.IndexByte("0123456789", m[2][0]) < 0) {
		return strings.TrimLeft(m[2], " ;:,."), true
	}
	return text, isFragment(text)
}

// isFragment reports whether a text consists of terms, though it does not begin with a version.
func isFragment(text string) bool {
	if strings.TrimSpace(text) == "" {
		return false
	}
	record, faults := eval.Parse(version + " " + text)
	certain := false
	for i := range record.Terms {
		t := &record.Terms[i]
		if t.Name == "" {
			return false
		}
		certain = certain || t.Name == eval.All && t.Raw != "all" ||
			t.Name == eval.IP4 || t.Name == eval.IP6 || t.Name == eval.Include
	}
	return len(faults) == 0 && certain
}

// splitWords splits lists with commas or semicolons into terms. A value without a name belongs to the preceding
// mechanism.
func splitWords(words []string) []string {
	var list []string
	for _, w := range words {
		if !strings.ContainsAny(w, ",;") || strings.Contains(w, "%{") {
			list = append(list, w)
			continue
		}
		name := ""
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return r == ',' || r == ';' }) {
			head, _, colon := strings.Cut(part, ":")
			switch {
			case familyOf(bare(part)) == 0 && colon && correctName(head) != "":
				name = head
			case name != "" && isValue(part):
				part = name + ":" + part
			}
			list = append(list, part)
		}
	}
	return list
}

func bare(s string) string {
	address, _, _ := strings.Cut(s, "/")
	return address
}

func isValue(s string) bool {
	if familyOf(bare(s)) != 0 {
		return true
	}
	return strings.Contains(s, ".") && !strings.ContainsAny(s, ":=,;") && strings.IndexByte("+-~?/", s[0]) < 0
}

// joinWords joins words that a blank has split, such as "ip4: 192.0.2.1", "include example.com" and "- all".
func joinWords(words []string) []string {
	var list []string
	for _, w := range words {
		if len(list) == 0 {
			list = append(list, w)
			continue
		}
		last := &list[len(list)-1]
		name := strings.TrimLeft(*last, "+-~?")
		switch {
		case name == "" && 'a' <= w[0]|0x20 && w[0]|0x20 <= 'z': // a sign alone
			*last += w
		case (strings.HasSuffix(name, ":") || strings.HasSuffix(name, "=")) && isValue(w):
			*last += w
		case w[0] == ':' || w[0] == '=' || w[0] == '/' && strings.Contains(name, ":"):
			*last += w
		case isValue(w) && needsValue(correctName(name)):
			*last += separator(correctName(name)) + w
		default:
			list = append(list, w)
		}
	}
	if n := len(list); n > 0 && len(list[n-1]) == 1 && strings.Contains("-~?", list[n-1]) {
		list[n-1] += string(eval.All)
	}
	return list
}

func needsValue(n eval.Name) bool {
	return slices.Contains([]eval.Name{eval.Include, eval.Exists, eval.IP4, eval.IP6, eval.Redirect, eval.Exp}, n)
}

func separator(n eval.Name) string {
	if n == eval.Redirect || n == eval.Exp {
		return "="
	}
	return ":"
}

// names are the mechanisms and the modifiers that RFC 7208 defines.
var names = []eval.Name{
	eval.All, eval.Include, eval.A, eval.MX, eval.PTR, eval.IP4, eval.IP6, eval.Exists, eval.Redirect, eval.Exp,
}

var misspelled = map[eval.Name]string{
	eval.IP4: "ipv4 ip-4 ip ip4address lp4 1p4", eval.IP6: "ipv6 ip-6 lp6 1p6",
	eval.Include: "incl inc", eval.Exists: "exist",
	eval.MX: "mxs", eval.All: "al any a11 a1l al1 alll", eval.A: "aaaa", eval.Redirect: "redir",
}

// correctName returns the mechanism or modifier that a name is, or that it misspells by one typo.
func correctName(name string) eval.Name {
	name = strings.ToLower(strings.Trim(strings.TrimLeft(name, "+-~?"), "."))
	if slices.Contains(names, eval.Name(name)) {
		return eval.Name(name)
	}
	i := slices.IndexFunc(names, func(n eval.Name) bool {
		return slices.Contains(strings.Fields(misspelled[n]), name) ||
			len(n) > 3 && len(name) > 4 && differsByTypo(name, string(n))
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// differsByTypo reports whether a and b differ by one letter too many, missing or wrong, or two swapped.
func differsByTypo(a, b string) bool {
	return -1 <= len(a)-len(b) && len(a)-len(b) <= 1 && phrase.Distance(a, b) <= 1
}
