package spf

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
)

// mend returns the record that a text was probably meant to be: one without errors in its syntax that
// names the same senders, and whether an include without its domain was left out, of which nobody knows whom it meant.
// It returns nothing where the record is not known, such as for a length of prefix out of bounds.
func mend(text string) (record string, lost bool) {
	rest, ok := cutVersion(cleaned(text))
	if !ok {
		return "", false
	}
	words := slices.DeleteFunc(strings.Fields(rest), func(w string) bool { return strings.EqualFold(w, "and") || w == "&" })
	record = version + " " + strings.Join(joinWords(splitWords(words)), " ")
	for range 4 { // one error may hide another
		next, changed, left := mendTerms(record)
		lost = lost || left
		if !changed {
			break
		}
		if record = next; record == "" {
			return "", false
		}
	}
	return valid(record), lost
}

// dropped are quotation marks, and what word processors and forms put around a text.
const dropped = "\"'`\\\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\ufeff"

// replaced are characters that look like others.
var replaced = strings.NewReplacer("\u00a0", " ", "\uff1a", ":", "\uff1d", "=", "\uff1b", ";", "\uff0c", ",",
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2212", "-", "\\;", ";", "\\ ", " ")

// backslash is one that stands for the slash before a length of prefix.
var backslash = diag.Regexp(`([0-9a-fA-F:.])\\([0-9]{1,3})\b`)

// cleaned leaves out what cannot be seen, and quotation marks, and makes blanks of other white space.
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

// versions are ways in which the beginning of a record is written by mistake.
var versions = diag.Regexp(`(?i)^(v(?:ersion)?\s*[=:.-]*\s*(?:spf|sfp|fsp|psf|sp1)[\s_.-]*v?1?|` +
	`spf\s*=?\s*v?\s*1)(.*)$`)

// cutVersion cuts the version from the beginning of a text, also where it is misspelled or missing.
func cutVersion(text string) (rest string, ok bool) {
	if m := versions().FindStringSubmatch(text); m != nil && (m[2] == "" || !isDigit(m[2][0])) {
		return strings.TrimLeft(m[2], " ;:,."), true
	}
	return text, isFragment(text)
}

// isFragment reports whether a text consists of terms, though it does not begin with a version.
func isFragment(text string) bool {
	if strings.TrimSpace(text) == "" {
		return false
	}
	record, faults := Parse(version + " " + text)
	certain := false
	for i := range record.Terms {
		t := &record.Terms[i]
		if t.Name == "" {
			return false
		}
		certain = certain || t.Name == All && t.Raw != "all" || t.Name == ip4 || t.Name == ip6 || t.Name == Include
	}
	return len(faults) == 0 && certain
}

// splitWords splits lists with commas or semicolons into terms. What follows without a name of its own
// is meant for the mechanism before it.
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
			case familyOf(bare(part)) == 0 && colon && spelled(head) != "":
				name = head
			case name != "" && isValue(part):
				part = name + ":" + part
			}
			list = append(list, part)
		}
	}
	return list
}

// bare returns the address of a network that may have a length.
func bare(s string) string {
	address, _, _ := strings.Cut(s, "/")
	return address
}

// isValue reports whether a word can only be the value of a term: an address or a name.
func isValue(s string) bool {
	if familyOf(bare(s)) != 0 {
		return true
	}
	return strings.Contains(s, ".") && !strings.ContainsAny(s, ":=,;") && strings.IndexByte("+-~?/", s[0]) < 0
}

// joinWords joins what a blank has torn apart, such as "ip4: 192.0.2.1", "include example.com" and "- all".
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
		case name == "" && isAlpha(w[0]): // a sign alone
			*last += w
		case (strings.HasSuffix(name, ":") || strings.HasSuffix(name, "=")) && isValue(w):
			*last += w
		case w[0] == ':' || w[0] == '=' || w[0] == '/' && strings.Contains(name, ":"):
			*last += w
		case isValue(w) && needsValue(spelled(name)):
			*last += separator(spelled(name)) + w
		default:
			list = append(list, w)
		}
	}
	if n := len(list); n > 0 && len(list[n-1]) == 1 && strings.Contains("-~?", list[n-1]) {
		list[n-1] += string(All)
	}
	return list
}

func needsValue(n Name) bool {
	return slices.Contains([]Name{Include, Exists, ip4, ip6, Redirect, Exp}, n)
}

func separator(n Name) string {
	if n == Redirect || n == Exp {
		return "="
	}
	return ":"
}

// misspelled are names as they are often written.
var misspelled = map[string]Name{
	"ipv4": ip4, "ip-4": ip4, "ip": ip4, "ip4address": ip4, "ipv6": ip6, "ip-6": ip6, "incl": Include, "inc": Include,
	"exist": Exists, "mxs": MX, "al": All, "any": All, "aaaa": a, "redir": Redirect,
	"lp4": ip4, "1p4": ip4, "lp6": ip6, "1p6": ip6, "a11": All, "a1l": All, "al1": All,
}

// spelled returns the mechanism or modifier that a name is, or is a slip of the pen away from.
func spelled(name string) Name {
	name = strings.ToLower(strings.Trim(strings.TrimLeft(name, "+-~?"), "."))
	known := append(slices.Clone(mechanisms), Redirect, Exp)
	if i := slices.Index(known, Name(name)); i >= 0 {
		return known[i]
	}
	if n, ok := misspelled[name]; ok {
		return n
	}
	for _, n := range known {
		if len(n) > 3 && len(name) > 4 && slipped(name, string(n)) || n == All && name == "alll" {
			return n
		}
	}
	return ""
}

// slipped reports whether a and b differ by one letter too many, missing or wrong, or two swapped.
func slipped(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 0:
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i == len(a) || a[i+1:] == b[i+1:] || swapped
	case 1:
		return a[i+1:] == b[i:]
	default:
		return false
	}
}

// mendTerms replaces the terms of a record that are not valid, or whose names cannot exist, and leaves out those that
// say nothing: a second exp, and an include without its domain, which is lost. It returns nothing if it is not known by
// what to replace them.
func mendTerms(text string) (mended string, changed, lost bool) {
	record, faults := Parse(text)
	suggested := map[int]string{}
	for i := range faults {
		if f := &faults[i]; suggested[f.term] == "" {
			suggested[f.term] = f.Suggested
		}
	}
	list := []string{version}
	for i := range record.Terms {
		t := &record.Terms[i]
		if head, tail, ok := swallowed(record, t); ok {
			list, changed = append(list, head, tail), true
			continue
		}
		if t.Valid && t.targetFault() == "" {
			list = append(list, t.Raw)
			continue
		}
		changed = true
		s := suggested[t.Offset]
		if s == "" {
			s = mendTerm(t.Raw)
		}
		void := t.Name == Include && t.Value == ""
		switch {
		case void || t.Name == Exp && repeated(faults, t):
			lost = lost || void
		case s == "" || s == t.Raw:
			return "", true, false
		default:
			list = append(list, s)
		}
	}
	return strings.Join(list, " "), changed, lost
}

// repeated reports whether a term may stand only once, and stands before.
func repeated(faults []SyntaxError, t *Term) bool {
	return slices.ContainsFunc(faults, func(f SyntaxError) bool { return f.Kind == repeatedTerm && f.term == t.Offset })
}

// targetFault says why the name of a term never exists, if that can be told without a mail.
func (t *Term) targetFault() string {
	if !t.Valid || len(t.spec) != 1 || t.spec[0].letter != 0 {
		return ""
	}
	return targetFault(t.Value)
}

// bareMacro is a macro without its braces.
var bareMacro = diag.Regexp(`%([slodiphvSLODIPHV])`)

// mendTerm returns what one term was probably meant to be, which may be several terms, or nothing.
func mendTerm(raw string) string {
	sign := raw[:len(raw)-len(strings.TrimLeft(raw, "+-~?"))]
	if len(sign) > 1 {
		sign = sign[len(sign)-1:]
	}
	rest := strings.TrimRight(strings.TrimLeft(raw, "+-~?"), ".,;")
	if name := strings.TrimRight(rest, "+-~?"); name != rest && sign == "" && spelled(name) == All {
		sign, rest = rest[len(name):][:1], name // it stands behind
	}
	end := strings.IndexAny(rest, ":=/")
	if end < 0 {
		end = len(rest)
	}
	name := spelled(rest[:end])
	switch {
	case name == "" && familyOf(bare(rest)) != 0:
		return mendNetwork(sign, rest)
	case name == "":
		return ""
	}
	value := strings.TrimLeft(rest[end:], ":=")
	if strings.HasPrefix(rest[end:], "/") {
		value = rest[end:]
	}
	value = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(value, "https://"), "http://"), "<>[]()")
	switch {
	case name == Redirect || name == Exp:
		return term(string(name) + "=" + hostOf(value))
	case name == All || value == "":
		return term(sign + string(name))
	case name == ip4 || name == ip6:
		return mendNetwork(sign, strings.TrimLeft(value, "/"))
	case strings.Contains(value, "%"):
		return term(sign + string(name) + ":" + bareMacro().ReplaceAllString(value, "%{$1}"))
	case (name == a || name == MX) && !strings.HasPrefix(value, "/"):
		host, length, _ := strings.Cut(value, "/")
		if s := term(sign + string(name) + ":" + hostOf(host) + "/" + length); s != "" {
			return s
		}
		return term(sign + string(name) + ":" + hostOf(host))
	default:
		return term(sign + string(name) + ":" + hostOf(value))
	}
}

// term returns a text if it is one term or several without an error.
func term(text string) string {
	record, faults := Parse(version + " " + text)
	if len(faults) > 0 {
		return ""
	}
	for i := range record.Terms {
		if record.Terms[i].targetFault() != "" {
			return ""
		}
	}
	return text
}

// hostOf cuts from a name what is not part of it: a local part, a path, dots in front; and turns U-labels
// into A-labels.
func hostOf(value string) string {
	value = value[strings.LastIndexByte(value, '@')+1:]
	value, _, _ = strings.Cut(value, "/")
	return aLabels(strings.Trim(value, "."))
}

// mendNetwork returns the terms for a network that is written in another way than SPF has it.
func mendNetwork(sign, value string) string {
	address, length, slash := strings.Cut(value, "/")
	address = strings.Trim(address, ".[]")
	if from, to, ok := strings.Cut(address, "-"); ok && !slash && familyOf(from) != 0 {
		return addressRange(sign, from, to)
	}
	if parts := strings.Split(address, "."); !slash && len(parts) == 4 && (parts[3] == "*" || parts[3] == "x") {
		address, length, slash = strings.Join(parts[:3], ".")+".0", "24", true
	}
	if host, port, ok := strings.Cut(address, ":"); ok && familyOf(host) == 4 && strings.Trim(port, "0123456789") == "" {
		address = host // a port
	}
	if mask, err := netip.ParseAddr(length); err == nil && mask.Is4() {
		bits := strings.Count(binary(mask), "1")
		if strings.Contains(binary(mask), "01") {
			return ""
		}
		length = netip.PrefixFrom(mask, bits).String()[len(mask.String())+1:]
	}
	if trimmed := strings.TrimLeft(strings.TrimRight(length, "."), "0"); trimmed != "" {
		length = trimmed
	}
	slash = slash && length != ""
	switch family := familyOf(address); {
	case family == 4 && slash:
		return term(sign + "ip4:" + address + "/" + length)
	case family == 4:
		return term(sign + "ip4:" + address)
	case family == 6 && slash:
		return term(sign + "ip6:" + address + "/" + length)
	case family == 6:
		return term(sign + "ip6:" + address)
	case isHost(address) && isRecordName(address):
		return term(sign + "include:" + address)
	case isHost(address):
		return term(sign + "a:" + aLabels(value))
	default:
		return ""
	}
}

// binary writes the bits of an IPv4 address.
func binary(a netip.Addr) string {
	var b strings.Builder
	for _, c := range a.As4() {
		for bit := 7; bit >= 0; bit-- {
			b.WriteByte('0' + c>>bit&1)
		}
	}
	return b.String()
}

// maxRange bounds the terms that take the place of a range of addresses.
const maxRange = 8

// addressRange writes a range of addresses as networks. The end may be its last number only.
func addressRange(sign, from, to string) string {
	if familyOf(to) == 0 && strings.Contains(from, ".") {
		to = from[:strings.LastIndexByte(from, '.')+1] + to
	}
	first, err1 := netip.ParseAddr(from)
	last, err2 := netip.ParseAddr(to)
	if err1 != nil || err2 != nil || first.Is4() != last.Is4() || last.Less(first) {
		return ""
	}
	list := appendPrefixes(nil, span{numberOf(first), numberOf(last)}, first.Is4())
	if len(list) > maxRange {
		return ""
	}
	var words []string
	for _, p := range list {
		words = append(words, sign+networkTerm(p))
	}
	return strings.Join(words, " ")
}

// networkTerm writes a network as a mechanism, without the length of a single address.
func networkTerm(p netip.Prefix) string {
	name := "ip4:"
	if p.Addr().Is6() {
		name = "ip6:"
	}
	if p.IsSingleIP() {
		return name + p.Addr().String()
	}
	return name + p.String()
}

// isHost reports whether a text could be a name of two labels at least whose last is no number.
func isHost(s string) bool {
	return term("a:"+aLabels(s)) != "" && strings.Trim(s[strings.LastIndexByte(s, '.')+1:], "0123456789*x") != ""
}

// isRecordName reports whether a name looks like that of a record to include, not of a host.
func isRecordName(s string) bool {
	return strings.HasPrefix(s, "_") || strings.HasPrefix(strings.ToLower(s), "spf.") || providerOf(s) != ""
}
