package route

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/message"
)

// A Received is one field Received (RFC 5321 section 4.4), as servers of all makes write it.
type Received struct {
	From     string // the text behind the word from: mostly the client's HELO name
	HELO     string // the client's HELO name
	RDNS     string // name of the client that the server found for its address
	IP       netip.Addr
	By       string
	Software string // comment behind by
	Via      string
	With     string
	ID       string
	For      string    // without angle brackets
	Time     time.Time // zero if missing or unreadable
	Encryption
}

// clauseWords are the words that begin a part of a Received field (RFC 5321 section 4.4), and further ones that
// servers write.
var clauseWords = []string{"from", "by", "via", "with", "id", "for", "tls", "envelope-from", "helo"}

// parse reads the value of a field Received. The result holds everything that could be read.
func parse(value string) Received {
	p := parser{s: value, clauses: []clause{{}}}
	p.split()
	for i := range p.clauses {
		p.interpret(&p.clauses[i])
	}
	p.detect(p.With, p.comments)
	return p.Received
}

// A clause is a word such as from or by, what follows it and the comments behind that.
type clause struct {
	word     string
	values   []string
	comments []string
}

type parser struct {
	Received
	s        string
	clauses  []clause
	comments []string // of all clauses, in order
}

// The bounds of one field. Real ones have up to ten clauses.
const (
	maxClauses = 50
	maxTime    = 200 // bytes of the time at the end, with comments and white space
)

// split cuts the field. The time follows the last semicolon, near the end; without a semicolon it is the last words.
func (p *parser) split() {
	semicolon := -1
	for i := 0; i < len(p.s); {
		switch p.s[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case ';':
			semicolon = i
			i++
		case '(':
			end := message.CommentEnd(p.s, i)
			text := strings.Join(strings.Fields(message.Unquote(p.s[i:end])), " ")
			last := &p.clauses[len(p.clauses)-1]
			last.comments, p.comments = append(last.comments, text), append(p.comments, text)
			i = end
		default:
			end := wordEnd(p.s, i)
			if semicolon < 0 || len(p.s)-semicolon >= maxTime {
				p.word(p.s[i:end])
			}
			i = end
		}
	}
	if semicolon >= 0 {
		p.time(p.s[semicolon+1:])
		return
	}
	words := strings.Fields(p.s)
	for n := min(7, len(words)-1); n >= 5 && p.Time.IsZero(); n-- {
		p.time(strings.Join(words[len(words)-n:], " "))
	}
}

// wordEnd returns the end of the word that begins at s[i]; a quoted string or an address in angle brackets is one
// word.
func wordEnd(s string, i int) int {
	switch s[i] {
	case '"':
		return message.QuotedEnd(s, i)
	case '<':
		if end := strings.IndexAny(s[i:], "> \t"); end > 0 && s[i+end] == '>' {
			return i + end + 1
		}
	}
	for i++; i < len(s) && strings.IndexByte(" \t\r\n(;", s[i]) < 0; i++ {
	}
	return i
}

// word adds a word to the current clause, or begins another. A repeated clause word does not begin a clause, as in
// "for <b> from <a>" behind another from; only with may occur twice, as in "with ESMTP with STARTTLS".
func (p *parser) word(w string) {
	lower := strings.ToLower(w)
	again := lower != "with" && slices.ContainsFunc(p.clauses, func(c clause) bool { return c.word == lower })
	if slices.Contains(clauseWords, lower) && len(p.clauses) < maxClauses && !again {
		p.clauses = append(p.clauses, clause{word: lower})
		return
	}
	last := &p.clauses[len(p.clauses)-1]
	last.values = append(last.values, w)
}

func (p *parser) time(text string) {
	if d, err := message.ParseDate(text); err == nil && d.Time.Year() >= 1970 {
		p.Time = d.Time
	}
}

func (p *parser) interpret(c *clause) {
	first := ""
	if len(c.values) > 0 {
		first = strings.TrimSuffix(c.values[0], ",")
	}
	switch c.word {
	case "from":
		p.client(first, c.comments)
	case "by":
		p.By = hostName(first)
		if len(c.comments) > 0 {
			p.Software = c.comments[0]
		}
	case "via":
		p.Via = first
	case "with":
		protocol := strings.Join(c.values, " ")
		if p.With == "" {
			p.With = protocol
		} else if strings.EqualFold(protocol, "STARTTLS") {
			p.TLS = new(true)
		}
	case "id":
		p.ID = strings.Trim(first, "<>")
	case "for":
		p.For = strings.Trim(first, "<>,")
	case "tls":
		p.TLS, p.TLSCipher = new(true), first
	case "helo":
		p.HELO = hostName(first)
	}
}

func (p *parser) client(name string, comments []string) {
	p.From = hostName(name)
	literal := AddrIn(name)
	for _, comment := range comments {
		p.clientComment(comment)
	}
	if !p.IP.IsValid() {
		p.IP = literal
	}
	if p.HELO == "" {
		p.HELO = p.From
	} else if p.RDNS == "" && !literal.IsValid() && !strings.EqualFold(p.From, "unknown") {
		p.RDNS = p.From // the client's own name is in a comment, so this is the one that was found
	}
}

// clientComment reads a comment behind from, such as "mail.example.org [192.0.2.25]", "HELO mail.example.org",
// "[192.0.2.25] helo=mail.example.org" and "203.0.113.44".
func (p *parser) clientComment(comment string) {
	if isTLSComment(comment) {
		return
	}
	words := strings.FieldsFunc(comment, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' })
	greets := func(w string) bool { return strings.EqualFold(w, "helo") || strings.EqualFold(w, "ehlo") }
	for i, w := range words {
		switch ip := AddrIn(w); {
		case ip.IsValid() && !p.IP.IsValid():
			p.IP = ip
			if i > 0 && p.RDNS == "" && isHostName(words[i-1]) && !greets(words[0]) {
				p.RDNS = hostName(words[i-1])
			}
		case greets(w) && i+1 < len(words):
			p.HELO = hostName(words[i+1])
		case len(w) > 4 && greets(w[:4]) && w[4] == '=':
			p.HELO = hostName(w[5:])
		}
	}
	if len(words) == 1 && p.RDNS == "" && !p.IP.IsValid() && isHostName(words[0]) && strings.Contains(words[0], ".") {
		p.RDNS = hostName(words[0])
	}
}

const maxAddr = 300

// AddrIn returns the address in a word: [192.0.2.25], [IPv6:2001:db8::1], 192.0.2.25, user@192.0.2.25,
// [192.0.2.25]:4711.
func AddrIn(word string) netip.Addr {
	if len(word) > maxAddr {
		return netip.Addr{}
	}
	if i := strings.IndexByte(word, '['); i >= 0 {
		if end := strings.IndexByte(word[i:], ']'); end > 0 {
			word = word[i+1 : i+end]
		}
	} else {
		word = word[strings.LastIndexByte(word, '@')+1:]
	}
	if len(word) > 5 && strings.EqualFold(word[:5], "IPv6:") { // RFC 5321 section 4.1.3
		word = word[5:]
	}
	ip, _ := netip.ParseAddr(word)
	return ip.WithZone("").Unmap()
}

func hostName(s string) string { return strings.TrimSuffix(strings.Trim(s, "<>,;\""), ".") }

// isHostName reports whether a word looks like the name of a host, and not like "unknown".
func isHostName(s string) bool {
	s = hostName(s)
	return s != "" && !strings.EqualFold(s, "unknown") && !strings.ContainsAny(s, "=[]@:/")
}

// The protocols whose name states whether they were encrypted (RFC 3848 section 2, RFC 6531 section 4.3, and further
// ones that servers write). LMTP and protocols other than SMTP mostly stay within one host, and are in neither list.
var (
	encryptedProtocols = kit.Words(`ESMTPS ESMTPSA SMTPS SMTPSA LMTPS LMTPSA HTTPS UTF8SMTPS UTF8SMTPSA UTF8LMTPS
		UTF8LMTPSA ASMTPS XESMTPS`)
	plainProtocols = kit.Words("SMTP ESMTP ESMTPA SMTPA UTF8SMTP UTF8SMTPA ASMTP")
)

// Encryption is the TLS information of a Received field.
type Encryption struct {
	TLS        *bool // whether the hop was encrypted; nil if the field does not say
	TLSVersion string
	TLSCipher  string
}

func (e *Encryption) detect(with string, comments []string) {
	for _, c := range comments {
		if isTLSComment(c) {
			e.TLS = new(true)
			e.details(c)
		}
	}
	protocol := strings.ToUpper(with)
	// Cisco has "ESMTP/TLS/ECDHE-RSA-AES256-GCM-SHA384".
	if name, rest, ok := strings.Cut(protocol, "/TLS"); ok && strings.HasSuffix(name, "SMTP") {
		e.TLS, e.TLSCipher = new(true), strings.Trim(rest, "/")
		return
	}
	protocol, _, _ = strings.Cut(protocol, " ")
	switch {
	case e.TLS != nil:
	case encryptedProtocols()[protocol]:
		e.TLS = new(true)
	case plainProtocols()[protocol], microsoft(with):
		e.TLS = new(false)
	}
}

// microsoft reports whether a protocol is that of Exchange and Microsoft 365.
func microsoft(with string) bool {
	return strings.HasPrefix(strings.ToLower(with), "microsoft smtp server")
}

// isTLSComment reports whether a comment describes an encrypted connection: "using TLSv1.3 with cipher …",
// "version=TLS1_3 cipher=…", "TLS1.3", "AUTH: LOGIN x, TLS: TLSv1/SSLv3,256bits,AES256-SHA", "Using TLS".
func isTLSComment(c string) bool {
	c = strings.ToLower(c)
	begins := func(mark string) bool { return strings.HasPrefix(c, mark) }
	if begins("no client certificate") || begins("client did not present") {
		return false
	}
	marks := []string{"using tls", "using ssl", "version=tls", "version=ssl", "tls: ", "tls="}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(c, mark) }) ||
		begins("tls") && len(c) <= len("TLSv1.3") || begins("tlsv1") || begins("tls1.")
}

func (e *Encryption) details(c string) {
	words := strings.FieldsFunc(c, func(ch rune) bool { return ch == ' ' || ch == ',' || ch == ';' })
	// Exim of old has "TLS1.2:ECDHE_RSA_AES_256_GCM_SHA384:256", also behind X= or "TLSv1.2:".
	if parts := strings.Split(c, ":"); len(words) == 1 && len(parts) > 1 &&
		strings.HasPrefix(strings.ToLower(parts[0]), "tls") {
		e.TLSVersion, e.TLSCipher = tlsVersion(parts[0]), parts[1]
		return
	}
	for i, w := range words {
		lower := strings.ToLower(w)
		switch {
		case strings.HasPrefix(lower, "version="):
			e.TLSVersion = tlsVersion(w[len("version="):])
		case strings.HasPrefix(lower, "cipher="):
			e.TLSCipher = strings.Trim(w[len("cipher="):], `"`)
		case lower == "cipher" && i+1 < len(words):
			e.TLSCipher = words[i+1]
		case e.TLSVersion == "" && isTLSVersion(lower):
			e.TLSVersion = tlsVersion(w)
		}
	}
}

func isTLSVersion(w string) bool {
	return strings.HasPrefix(w, "tlsv1") || strings.HasPrefix(w, "sslv") || strings.HasPrefix(w, "tls1")
}

// tlsVersion normalizes the TLS version: TLSv1.3 for TLS1_3, TLS1.3 and TLSv1.3.
func tlsVersion(s string) string {
	s, _, _ = strings.Cut(strings.Trim(s, `"`), "/") // as in TLSv1/SSLv3, the family of OpenSSL
	v := strings.ReplaceAll(s, "_", ".")
	digits := strings.TrimLeft(v, "TLSVtlsv")
	switch {
	case digits == "" || len(digits) > 3:
		return s
	case digits == "1":
		digits = "1.0"
	}
	if strings.HasPrefix(strings.ToUpper(v), "SSL") {
		return "SSLv" + strings.TrimSuffix(digits, ".0")
	}
	return "TLSv" + digits
}

// WeakTLS reports whether the version of TLS is one that must not be used any more (RFC 8996, RFC 7568).
func (e *Encryption) WeakTLS() bool {
	return strings.HasPrefix(e.TLSVersion, "SSL") || e.TLSVersion == "TLSv1.0" || e.TLSVersion == "TLSv1.1"
}
