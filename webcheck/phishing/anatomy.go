package phishing

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"golang.org/x/net/publicsuffix"
)

// An anatomy is a URL taken apart. It is made without network access.
type anatomy struct {
	input    string
	url      diag.URL // as browsers read it, without user name and password
	explicit bool     // whether the scheme was written
	userinfo string   // what stood before an at sign, if anything
	written  string   // the host as it was written, in lower case
	tricks   []string // what browsers repair in silence, in words

	domain     diag.Domain // zero for an address
	unicode    string      // of the host
	labels     []string    // of the host in ASCII
	registered string      // registrable domain; empty without one
	suffix     string      // public suffix
	below      []string    // labels to the left of the registrable domain

	path     string   // with its escapes undone, in lower case
	query    string   // likewise
	tail     string   // path, query and fragment, without what a signature or a protocol of signing in explains
	segments []string // of the path, without empty ones
	words    []string // of path, query and fragment, in lower case

	raw       string   // path, query and fragment as written in the URL
	corrected []string // what was corrected of the input before it was read, as clauses
	proxied   bool     // whether a proxy put the name of another host in front of its own
	wrapped   *anatomy // of the URL that the host rewrote, or nil: what a filter of mail or a proxy leads to

	owner *lookalike.Target // the brand to which the host belongs, or nil
	match *lookalike.Match  // the brand that the host imitates, or nil
	names []mention         // brands that path or query name
}

// A mention is a brand's name in a URL.
type mention struct {
	target *lookalike.Target
	text   string // verbatim
	domain bool   // whether it is a whole domain of the brand
}

// dissect takes what users paste apart, as browsers read it: spaces around it and line breaks in it are
// dropped, backslashes are slashes, and user name and password are not part of the host (url.spec.whatwg.org,
// "basic URL parser"). The error is an InputError.
func dissect(input string, targets *lookalike.Targets) (*anatomy, error) {
	a := &anatomy{input: input}
	text, err := a.correct(input)
	if err != nil {
		return nil, err
	}
	u, err := diag.ParseURL(a.repair(text))
	if err != nil {
		return nil, err
	}
	a.url = u
	a.dissectTail(strings.TrimPrefix(u.String(), u.Origin()))
	if d, ok := u.Host().Domain(); ok {
		a.nameParts(d)
		a.owner, a.match = targets.Owner(d.String()), targets.Find(d)
		a.exemptProxy()
	}
	if inner := a.unwrap(); inner != "" {
		if a.wrapped, err = dissect(inner, targets); err == nil {
			a.wrapped.input, a.wrapped.wrapped = input, nil
			a.tail, a.query, a.words = "/", "", nil // which say where the wrapped URL leads
			return a, nil
		}
	}
	a.names = mentions(a.tail, targets, a.owner)
	return a, nil
}

// dissectTail takes apart what follows the host.
func (a *anatomy) dissectTail(tail string) {
	a.raw, a.tail = tail, explained(tail)
	path, query, _ := strings.Cut(a.tail, "?")
	path, _, _ = strings.Cut(path, "#")
	a.path, a.query = plain(path), plain(query)
	a.segments = strings.FieldsFunc(a.path, func(r rune) bool { return r == '/' })
	a.words = words(plain(a.tail))
}

// repair does what browsers do before they read a URL, and notes what may deceive a reader.
func (a *anatomy) repair(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\r\n") {
		s = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(s)
		a.tricks = append(a.tricks, "line breaks or tabs, which browsers remove")
	}
	scheme, rest := "", s
	if before, after, ok := cutScheme(s); ok {
		scheme, rest, a.explicit = before+"://", after, true
	}
	end := strings.IndexAny(rest, "?#")
	if end < 0 {
		end = len(rest)
	}
	if strings.Contains(rest[:end], `\`) {
		a.tricks = append(a.tricks, "backslashes, which browsers take for slashes")
		rest = strings.ReplaceAll(rest[:end], `\`, "/") + strings.ReplaceAll(rest[end:], `\`, "%5C")
	} else {
		rest = strings.ReplaceAll(rest, `\`, "%5C")
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		a.userinfo, host = host[:at], host[at+1:]
	}
	a.written = strings.ToLower(host)
	if strings.Contains(host, "%") {
		a.tricks = append(a.tricks, "a host with percent-encoded characters")
	}
	return scheme + host + escapeLone(tail)
}

// cutScheme cuts http or https and all slashes behind it, of either kind, as browsers do.
func cutScheme(s string) (scheme, rest string, ok bool) {
	before, after, found := strings.Cut(s, ":")
	lower := strings.ToLower(before)
	if !found || lower != "http" && lower != "https" || after == "" || after[0] != '/' && after[0] != '\\' {
		if i := strings.Index(s, "://"); i > 0 && !strings.ContainsAny(s[:i], "/?#@.") {
			return s[:i], s[i+3:], true // a scheme that is refused
		}
		return "", s, false
	}
	return lower, strings.TrimLeft(after, `/\`), true
}

// escapeLone writes percent signs that encode nothing as such.
func escapeLone(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// plain undoes escapes, and brings a text into lower case.
func plain(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		s = decoded
	}
	return strings.ToLower(strings.ToValidUTF8(s, "\uFFFD"))
}

// falseStops are characters of other kinds that look like slashes, colons or dots.
const falseStops = "\u2044\u2215\u29f8\u2571\u3033\ua789\u2236\u2024\u2e31"

func (a *anatomy) nameParts(d diag.Domain) {
	a.domain, a.unicode = d, d.Unicode()
	if strings.ContainsAny(a.unicode, falseStops) {
		a.tricks = append(a.tricks, "a character in the host that looks like the end of it")
	}
	host := d.String()
	a.labels = strings.Split(host, ".")
	a.suffix, _ = publicsuffix.PublicSuffix(host)
	if registered, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil && len(a.labels) > 1 {
		a.registered = registered
		a.below = a.labels[:len(a.labels)-1-strings.Count(registered, ".")]
	}
}

// length is that of the URL, in characters, without what a signature or a protocol explains.
func length(a *anatomy) int { return len(a.url.Origin()) + len(a.tail) }

// label is the one that was registered: the leftmost of the registrable domain.
func (a *anatomy) label() string {
	label, _, _ := strings.Cut(a.registered, ".")
	return label
}

// private reports whether the host lies under a domain of a company that gives names below it to others.
func (a *anatomy) private() bool {
	_, official := publicsuffix.PublicSuffix(a.suffix)
	return strings.Contains(a.suffix, ".") && !official
}

// trusted reports whether the host belongs to a brand that does not let others put pages there.
func (a *anatomy) trusted() bool {
	return a.owner != nil && a.service() == nil && shortener(a.url.Host().Name()) == ""
}

// The bounds of the brands that one URL names, and of the words among which they are looked for.
const (
	maxMentions     = 5
	maxMentionWords = 200
)

// mentions lists the brands that a path or query names as a word or by their domain.
func mentions(tail string, targets *lookalike.Targets, owner *lookalike.Target) (list []mention) {
	separate := func(r rune) bool { return strings.ContainsRune("/?&=-_+,;:|!@()[]{}$~* #", r) }
	all := strings.FieldsFunc(plain(tail), separate)
	for _, word := range all[:min(len(all), maxMentionWords)] {
		m := mention{text: word}
		if strings.Contains(word, ".") {
			m.target, m.domain = targets.Domain(word), true
		}
		for _, part := range strings.Split(word, ".") {
			if m.target == nil {
				m.target, m.text, m.domain = targets.Label(idn.Fold(part)), part, false
			}
		}
		if m.target == nil {
			m.target, m.text = targets.Within(idn.Fold(word))
		}
		known := func(o mention) bool { return o.target == m.target }
		if m.target != nil && m.target != owner && len(m.text) > 3 && !slices.ContainsFunc(list, known) {
			if list = append(list, m); len(list) == maxMentions {
				break
			}
		}
	}
	return list
}

// entropy is that of the characters of a text, in bits for each (Shannon).
func entropy(s string) float64 {
	count, n := map[rune]int{}, 0
	for _, r := range s {
		count[r]++
		n++
	}
	bits := 0.0
	for _, c := range count {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}

// minToken is the length from which a text may be called random.
const minToken = 16

// random reports whether a text looks as if a machine had drawn it: long, with letters and digits mixed.
func random(s string) bool {
	if len(s) < minToken {
		return false
	}
	turns, hex := 0, true
	for i := range len(s) {
		hex = hex && isHex(s[i])
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			turns++
		}
	}
	return hex && turns >= 3 || turns >= 6 && entropy(s) >= 3.2
}

// digitsIn counts the decimal digits of a text.
func digitsIn(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// consonants is the length of the longest run of letters that are not vowels: no language has many in a row.
func consonants(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if c := s[i]; 'a' <= c && c <= 'z' && !strings.ContainsRune("aeiouy", rune(c)) {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// words cuts a text at what is neither letter nor digit.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// coded reports whether a word is a short code: small and capital letters and digits mixed.
func coded(s string) bool {
	kind := func(c byte) byte {
		switch {
		case isDigit(c):
			return '0'
		case 'a' <= c && c <= 'z':
			return 'a'
		case 'A' <= c && c <= 'Z':
			return 'A'
		}
		return '-'
	}
	count, turns := map[byte]int{}, 0
	for i := range len(s) {
		count[kind(s[i])]++
		if i > 0 && kind(s[i]) != kind(s[i-1]) {
			turns++
		}
	}
	return len(s) >= 6 && turns >= 3 && count['0'] > 0 && (count['A'] > 0 && count['a'] > 0 || turns >= 4)
}
