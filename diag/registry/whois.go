package registry

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// The limits of WHOIS.
const (
	whoisPort     = 43        // RFC 3912 section 2
	maxWhois      = 256 << 10 // bytes of an answer; the longest seen have 60 KiB
	maxReferrals  = 4         // servers that are asked in turn: IANA, a registry, another, a registrar
	maxReportText = 512 << 10 // bytes of raw answers in a report
)

// A whoisAnswer is the answer of a WHOIS server.
type whoisAnswer struct {
	host string
	text string // UTF-8
	err  error  // why there is no answer, or only a part of one
}

// askWhois puts a question to a WHOIS server (RFC 3912).
func askWhois(ctx context.Context, env *diag.Env, host, query string) whoisAnswer {
	ctx, cancel := diag.Within(ctx, whoisTimeout)
	defer cancel()
	text, err := exchange(ctx, env, host, query)
	if err == nil && strings.TrimSpace(text) == "" {
		err = fmt.Errorf("%s closed the connection without an answer", host)
	}
	return whoisAnswer{host, text, err}
}

func exchange(ctx context.Context, env *diag.Env, server, query string) (string, error) {
	host, port := endpoint(server)
	conn, err := env.DialHost(ctx, host, port, diag.WhoisPorts)
	if err != nil {
		return "", fetch.DialError(ctx, host, port, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // reading knows no context
	if _, err := io.WriteString(conn, query+"\r\n"); err != nil {
		return "", fmt.Errorf("asking %s: %s", host, diag.Reason(err))
	}
	data, err := io.ReadAll(io.LimitReader(conn, maxWhois))
	if len(data) > 0 && ctx.Err() == nil {
		err = nil // some servers break the connection instead of closing it
	}
	if err != nil {
		return decode(data), fmt.Errorf("reading the answer of %s: %s", host, diag.Reason(err))
	}
	return decode(data), nil
}

// decode returns a text in UTF-8. WHOIS knows no character sets (RFC 3912 section 4); what is not UTF-8 is nearly
// always ISO-8859-1 or its superset of Windows, and from Japan ISO-2022-JP (RFC 1468), which shows by its escapes.
func decode(data []byte) string {
	decoder := charmap.Windows1252.NewDecoder()
	switch {
	case strings.Contains(string(data), "\x1b$"):
		decoder = japanese.ISO2022JP.NewDecoder()
	case utf8.Valid(data):
		return string(data)
	}
	text, err := decoder.Bytes(data)
	if err != nil {
		text = data
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// domainQuery returns the question for a domain, in the syntax of the server.
func domainQuery(host, name string) string {
	switch host {
	case "whois.denic.de":
		return "-T dn,ace " + name // all data, the name in ASCII
	case "whois.jprs.jp":
		return name + "/e" // in English
	case "whois.verisign-grs.com", "ccwhois.verisign-grs.com", "whois.nic.name":
		return "domain " + name // not name servers of which the name is a part
	case "whois.punktum.dk", "whois.dk-hostmaster.dk":
		return "--charset=utf-8 " + name
	}
	return name
}

// addressQuery returns the question for an address, in the syntax of the server.
func addressQuery(host string, ip netip.Addr) string {
	switch host {
	case "whois.arin.net":
		return "n + " + ip.String() // networks, all details
	case "whois.ripe.net":
		return "-B " + ip.String() // with addresses for mail
	}
	return ip.String()
}

// follow asks one server after the other, each as the answer of the one before refers to it.
func follow(ctx context.Context, env *diag.Env, host string, query func(host string) string,
	next func(text string) string) []whoisAnswer {
	var answers []whoisAnswer
	asked := map[string]bool{}
	for host != "" && !asked[host] && len(answers) < maxReferrals && ctx.Err() == nil {
		asked[host] = true
		a := askWhois(ctx, env, host, query(host))
		answers = append(answers, a)
		host = ""
		if a.err == nil {
			host = next(a.text)
		}
	}
	return answers
}

// rawWhois joins answers as they came, each under the name of its server.
func rawWhois(answers []whoisAnswer) string {
	var b strings.Builder
	for _, a := range answers {
		if a.text != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n", a.host, strings.TrimRight(strings.ReplaceAll(a.text, "\r\n", "\n"), "\n"))
		}
	}
	return clip(b.String(), maxReportText)
}

// The limits of what is read of a WHOIS answer. The longest seen has 500 lines of 300 bytes at most,
// terms of use aside.
const (
	maxLines = 5000
	maxLine  = 2000 // bytes
)

// A field is one statement of a WHOIS answer. Every server has a format of its own, but nearly all are
// made of keys with values, under headings or in paragraphs about one thing each.
type field struct {
	section string // heading of the lines around it, or first key of the paragraph, like a key
	key     string // in lower case, words separated by one space; of lines under a heading, the heading
	value   string // never empty
	bare    bool   // the line had no key
}

// headings are the keys without a value, with or without a colon, under which lines follow. Others may just be empty.
var headings = words(`domain|domain name|domain information|domain status|relevant dates|registration status|
	status information|data validation|dnssec|first registration date|name servers|nameservers|name server|
	domain name servers|domain nameservers|name servers information|domain servers in listed order|
	nameserver in listed order|primary name server|secondary name server|dns servers|registrar|registrant|
	registrant contact|registrant contact information|holder|domain holder|organisation|organization|
	organization using domain name|owner|owner contact|administrative|administrative contact|
	administrative contact information|administrative contact/agent|admin|admin contact|technical|technical contact|
	technical contact information|tech|tech contact|domain servers|name server information|
	name servers in the listed order|servidor(es) de nombres de dominio|billing contact|contact information|contact|
	abuse contact`)

var (
	// "key: value", "key....: value". A colon before two slashes is part of a URL.
	keyValue = kit.Regexp(`^(\pL[\pL\w .\-/()*&']{0,60}?)[. \t]*:+(?:[ \t]+(.*)|([^/ \t:].*)|(/[^/].*))?$`)
	// "[Key]  value", "a. [Key]  value", "a [Key]  value"
	bracketed = kit.Regexp(`^(?:[a-z](?:\. *| ))?\[([A-Z][^\]]{0,40})\](?:\s+(.*))?$`)
	// "Record created on 2026-01-01"
	onDate = kit.Regexp(`(?i)^((?:record |domain )(?:created|registered|expires|will expire|last updated) on|` +
		`registered on|created on):?\s+(\S.*)$`)
	// "Key of two    value" in columns, if the key is known
	columns = kit.Regexp(`^(\S+(?: +\S+)?) {2,}([^\s:].*)$`)
	// Numbers at the end of a key, and hints of plural.
	keyTail = kit.Regexp(`(?: \(dd/mm/yyyy\)|\(s\)|\(ac\)|[ _]?\d+)$`)
)

type scanner struct {
	fields  []field
	section string
	start   bool   // the next line begins a paragraph
	key     string // to which lines without a key belong, or empty
	indent  int    // of the line with that key
	heading bool   // that key is a heading, of which no line has come yet
}

// scan reads a WHOIS answer for domains. It never fails; of a text in an unknown format little comes.
func scan(text string) []field {
	s := scanner{start: true}
	for line := range someLines(text) {
		s.line(line)
	}
	return s.fields
}

// someLines yields the lines of an answer within the limits.
func someLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		count := 0
		for line := range strings.SplitSeq(text, "\n") {
			if count++; count > maxLines || !yield(clip(strings.TrimSuffix(line, "\r"), maxLine)) {
				return
			}
		}
	}
}

func (s *scanner) line(line string) {
	text := strings.TrimSpace(line)
	if marked := strings.TrimPrefix(text, "** "); marked != text {
		text = marked // "** Registrar:"
	}
	switch {
	case text == "":
		if !s.heading {
			s.start, s.key = true, ""
		}
		return
	case strings.ContainsRune("%#;>", rune(text[0])) || strings.Trim(text, "-=*_ ") == "":
		return // comments, notices, rules
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if key, value, ok := split(text, s.key); ok {
		s.pair(normalKey(key), oneLine(value), indent)
		return
	}
	if key := normalKey(text); headings[key] {
		s.head(key, indent)
		return
	}
	if s.key != "" {
		s.heading = false
		s.add(s.key, oneLine(text), true)
		return
	}
	s.start = false
}

func split(text, current string) (key, value string, ok bool) {
	if m := onDate().FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	if m := bracketed().FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	// A tab separates a key that is known from its value; other lines with tabs are host and address.
	if before, after, found := strings.Cut(text, "\t"); found && !strings.Contains(before, ":") && current == "" {
		if headings[normalKey(before)] {
			return before, after, true
		}
	}
	if m := columns().FindStringSubmatch(text); m != nil && ofDomain(normalKey(m[1])) {
		return m[1], m[2], true
	}
	// A host with an IPv6 address has colons as well.
	if host, _, more := strings.Cut(text, " "); more && strings.Contains(hostName(host), ".") {
		return "", "", false
	}
	if m := keyValue().FindStringSubmatch(text); m != nil {
		return m[1], m[2] + m[3] + m[4], true
	}
	return "", "", false
}

// ofDomain reports whether a key without a colon is that of a property of a domain.
func ofDomain(key string) bool {
	return domainKeys[key] || createdKeys[key] || expiresKeys[key] || updatedKeys[key] || serverKeys[key] ||
		statusKeys[key]
}

// normalKey brings a key into one form: "Name Server 01", "ns_name_01" and "[Name Server]" become words
// in lower case without number. Of a key in two languages it is the second, which is English.
func normalKey(key string) string {
	if _, english, ok := strings.Cut(key, " / "); ok {
		key = english
	}
	key = strings.Trim(strings.ToLower(strings.TrimSpace(key)), ":. ")
	key = keyTail().ReplaceAllString(key, "")
	return strings.Join(strings.FieldsFunc(key, func(r rune) bool { return r == ' ' || r == '_' || r == '\t' }), " ")
}

func (s *scanner) pair(key, value string, indent int) {
	if value == "" && headings[key] {
		s.head(key, indent)
		return
	}
	if s.start && value != "" && !s.heading {
		s.section = key
	}
	s.start, s.heading = false, false
	s.key, s.indent = key, indent
	if value != "" {
		s.add(key, value, false)
	} else {
		s.key = ""
	}
}

func (s *scanner) head(key string, indent int) {
	s.section, s.key, s.indent = key, key, indent
	s.start, s.heading = false, true
}

func (s *scanner) add(key, value string, bare bool) {
	if value != "" {
		s.fields = append(s.fields, field{s.section, key, value, bare})
	}
}
