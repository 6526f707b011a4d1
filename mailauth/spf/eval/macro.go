package eval

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// macros is a macro-string: text and macros in turn (RFC 7208 section 7.1).
type macros []macro

// A macro is a literal text or a macro expansion.
type macro struct {
	text       string // the text itself, if letter is 0
	quoted     bool   // the text was written as one of %% %_ %-
	letter     byte   // in lower case
	escape     bool   // a capital letter: reserved characters are escaped (section 7.3)
	keep       int    // parts that are kept, from the right; 0 keeps all
	reverse    bool
	delimiters string // at which the value is split; empty means a dot
}

// maxParts bounds the number of parts in a macro: no name has more than 127 labels, and RFC 7208 section
// 7.1 wants 127 at least.
const maxParts = 128

// letters are the macro letters allowed in domain names; explanations also allow c, r and t.
const (
	letters            = "slodiphv"
	explanationLetters = letters + "crt"
)

type macroFault struct {
	offset, length int
	text           string // empty if missing
}

// parseMacros reads a macro-string, which may hold blanks only in an explanation.
func parseMacros(s string, explanation bool) (macros, macroFault) {
	m := make(macros, 0, 1+2*strings.Count(s, "%"))
	begin := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '%':
			if i > begin {
				m = append(m, macro{text: s[begin:i]})
			}
			one, n, fault := parseMacro(s[i:], explanation)
			if fault != "" {
				return nil, macroFault{i, min(max(n, 1), len(s)-i), fault}
			}
			m = append(m, one)
			i += n
			begin = i
		case c > 0x20 && c < 0x7f || c == ' ' && explanation:
			i++
		default:
			return nil, macroFault{i, 1, "the character " + strconv.QuoteToASCII(s[i:i+1]) + " is not allowed there"}
		}
	}
	if begin < len(s) {
		m = append(m, macro{text: s[begin:]})
	}
	return m, macroFault{}
}

// ExplanationFault returns the fault in the text of an explanation, and its byte offset; empty if valid.
func ExplanationFault(text string) (offset int, fault string) {
	_, f := parseMacros(text, true)
	return f.offset, f.text
}

func parseMacro(s string, explanation bool) (m macro, n int, fault string) {
	if len(s) < 2 {
		return m, 1, "a percent sign is alone; write %%"
	}
	switch s[1] {
	case '%':
		return macro{text: "%", quoted: true}, 2, ""
	case '_':
		return macro{text: " ", quoted: true}, 2, ""
	case '-':
		return macro{text: "%20", quoted: true}, 2, ""
	case '{':
	default:
		return m, 2, "a percent sign is followed by " + strconv.QuoteToASCII(s[1:2]) + ", not by one of { % _ -"
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return m, len(s), "a macro has no closing brace"
	}
	m, fault = parseBody(s[2:end], explanation)
	return m, end + 1, fault
}

// parseBody parses the text between the braces:
//
//	macro-letter *DIGIT [ "r" ] *delimiter
func parseBody(body string, explanation bool) (m macro, fault string) {
	if body == "" {
		return m, "a macro is empty"
	}
	m.letter, m.escape = lower(body[0]), body[0] < 'a'
	switch known := strings.IndexByte(explanationLetters, m.letter) >= 0; {
	case !known:
		return m, "there is no macro " + strconv.QuoteToASCII(body[:1])
	case !explanation && strings.IndexByte(letters, m.letter) < 0:
		return m, "the macro " + strconv.Quote(body[:1]) + " is for explanations only"
	}
	rest := strings.TrimLeft(body[1:], "0123456789")
	if digits := body[1 : len(body)-len(rest)]; digits != "" {
		for _, c := range []byte(digits) { // of which there may be very many
			m.keep = min(10*m.keep+int(c-'0'), maxParts)
		}
		if m.keep == 0 { // section 7.1: MUST be nonzero
			return m, "the number of parts in a macro is 0"
		}
	}
	if rest != "" && lower(rest[0]) == 'r' {
		m.reverse, rest = true, rest[1:]
	}
	if strings.Trim(rest, ".-+,/_=") != "" {
		quoted := strings.Trim(strconv.QuoteToASCII(body), `"`)
		return m, "the macro %{" + quoted + "} is not a letter, a number, an r and delimiters"
	}
	m.delimiters = rest
	return m, ""
}

// maxExpansion bounds the expansion of macros, in bytes: an explanation is sent in an SMTP reply, which is short, and
// names are shorter still.
const maxExpansion = 64 << 10

func (m macros) expand(value func(letter byte) string) string {
	b := make([]byte, 0, 128)
	for i := 0; i < len(m) && len(b) <= maxExpansion; i++ {
		if m[i].letter == 0 {
			b = append(b, m[i].text...)
		} else {
			b = m[i].appendTo(b, value(m[i].letter))
		}
	}
	return string(b)
}

// appendTo splits a value, reverses and cuts it, joins it with dots and escapes it (section 7.3).
func (m *macro) appendTo(b []byte, value string) []byte {
	begin, delimiters := len(b), m.delimiters
	if delimiters == "" {
		delimiters = "."
	}
	if m.keep > 0 {
		value = m.kept(value, delimiters)
	}
	switch {
	case m.reverse:
		for i := 0; i >= 0; value = value[:max(i, 0)] {
			i = strings.LastIndexAny(value, delimiters)
			b = append(append(b, value[i+1:]...), '.')
		}
		b = b[:len(b)-1]
	default:
		b = append(b, value...)
		for i := begin; i < len(b); i++ {
			if strings.IndexByte(m.delimiters, b[i]) >= 0 {
				b[i] = '.'
			}
		}
	}
	if m.escape {
		return appendEscaped(b[:begin], string(b[begin:]))
	}
	return b
}

// kept returns the parts of a value that the macro keeps: the last ones, or the first if they are then reversed.
func (m *macro) kept(value, delimiters string) string {
	left := m.keep
	for i := range len(value) {
		at := len(value) - 1 - i
		if m.reverse {
			at = i
		}
		if strings.IndexByte(delimiters, value[at]) < 0 {
			continue
		}
		if left--; left == 0 && m.reverse {
			return value[:at]
		} else if left == 0 {
			return value[at+1:]
		}
	}
	return value
}

// appendEscaped escapes all but the unreserved characters of RFC 3986 section 2.3.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range []byte(s) {
		if isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

// dotted returns the value of the macro i: the address as labels (section 7.3).
func dotted(ip netip.Addr) string {
	if ip.Is4() {
		return ip.String()
	}
	const hex = "0123456789abcdef"
	b := make([]byte, 0, 64)
	for _, c := range ip.As16() {
		b = append(b, hex[c>>4], '.', hex[c&15], '.')
	}
	return string(b[:63])
}

// maxPTR is how many host names of the client are evaluated (RFC 7208 section 4.6.4).
const maxPTR = 10

type mail struct {
	*Lookups
	ip         netip.Addr
	local      string // of the sender
	sender     string // its domain
	asciiLocal bool   // whether local is ASCII
	helo       string
	receiver   string

	hosts []string // names of the client that resolve back to it
	known bool     // whether hosts are
}

// setSender stores local part and domain of a sender. Without a sender it is the postmaster of the HELO name, without
// a local part that of the domain (RFC 7208 sections 2.4 and 4.3).
func (m *mail) setSender(sender string) {
	i := strings.LastIndexByte(sender, '@')
	m.local, m.sender = sender[:max(i, 0)], ALabels(sender[i+1:])
	if m.local == "" {
		m.local = "postmaster"
	}
	if sender == "" {
		m.sender = m.helo
	}
	m.asciiLocal = isASCII(m.local)
}

func (m *mail) target(t *Term, domain string) string {
	return t.Expand(domain, func(letter byte) string { return m.value(letter, domain) })
}

// value returns the value of a macro in the record of a domain (RFC 7208 section 7.2).
func (m *mail) value(letter byte, domain string) string {
	switch letter {
	case 's':
		return m.local + "@" + m.sender
	case 'l':
		return m.local
	case 'o':
		return m.sender
	case 'd':
		return domain
	case 'i':
		return dotted(m.ip)
	case 'p':
		return m.validatedName(domain)
	case 'v':
		if m.ip.Is4() {
			return "in-addr"
		}
		return "ip6"
	case 'h':
		return m.helo
	case 'c':
		return m.ip.String()
	case 'r':
		return m.receiver
	case 't':
		return strconv.FormatInt(m.env.Now().Unix(), 10)
	default:
		return ""
	}
}

// addresses looks up the addresses of a host in the family of the client. It returns their number, and whether the
// client is in a network that the term forms around one.
func (m *mail) addresses(name string, t *Term) (found int, hit bool, err error) {
	look := func(b []byte) {
		if ip, ok := netip.AddrFromSlice(b); ok {
			found++
			hit = hit || t.Around(ip).Contains(m.ip)
		}
	}
	if m.ip.Is4() {
		answer := Ask[*dns.A](m.Lookups, name)
		for _, r := range answer.Records[:min(len(answer.Records), MaxAddresses)] {
			look(r.A.To4())
		}
		return found, hit, AnswerError(answer)
	}
	answer := Ask[*dns.AAAA](m.Lookups, name)
	for _, r := range answer.Records[:min(len(answer.Records), MaxAddresses)] {
		look(r.AAAA.To16())
	}
	return found, hit, AnswerError(answer)
}

// askAll looks up the addresses of hosts concurrently if the resolver is slow, and reports whether it did.
func (m *mail) askAll(hosts []string) bool {
	if !m.slow() {
		return false
	}
	var g diag.Group
	for _, host := range hosts {
		g.Go(func() { _, _, _ = m.addresses(host, &Term{}) })
	}
	g.Wait()
	return true
}

func (m *mail) reverse() *diag.Answer[*dns.PTR] {
	return Ask[*dns.PTR](m.Lookups, strings.TrimSuffix(diag.IP{Addr: m.ip}.Reverse(), "."))
}

// validated returns the host names of the client that resolve back to it, in DNS order. Only the first ten are
// evaluated (RFC 7208 section 4.6.4).
func (m *mail) validated() []string {
	if m.known {
		return m.hosts
	}
	m.known = true
	answer := m.reverse()
	var names []string
	for _, r := range answer.Records[:min(len(answer.Records), maxPTR)] {
		if name := Unescape(r.Ptr); name != "" && NameFault(name) == "" {
			names = append(names, name)
		}
	}
	asked := false
	for i, name := range names {
		asked = asked || m.askAll(names[i:])
		if _, leadsBack, _ := m.addresses(name, &Term{}); leadsBack {
			m.hosts = append(m.hosts, name)
		}
	}
	return m.hosts
}

// validatedName returns the value of the macro p: the domain itself if it is a validated name of the client, else one
// below it, else any, else "unknown" (RFC 7208 section 7.3).
func (m *mail) validatedName(domain string) string {
	name := "unknown"
	for i, host := range m.validated() {
		switch {
		case strings.EqualFold(host, domain):
			return host
		case i == 0 || Below(host, domain) && !Below(name, domain):
			name = host
		}
	}
	return name
}
