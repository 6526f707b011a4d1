package header

import (
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/message"
)

// A received is one field Received (RFC 5321 section 4.4), as servers of all makes write it.
type received struct {
	from     string // what stands behind the word from: mostly what the client called itself (HELO)
	helo     string // what the client called itself
	rdns     string // name of the client that the server found for its address
	ip       netip.Addr
	by       string
	software string // comment behind by
	via      string
	with     string
	id       string
	rcpt     string // behind for, without angle brackets

	tls        tlsUse
	tlsVersion string
	tlsCipher  string

	time     time.Time // zero if there is none that can be read
	dateFlaw message.Date
	comments []string // all, in order
}

// A tlsUse says whether a hop was encrypted, as far as its field tells.
type tlsUse int

const (
	tlsUnknown tlsUse = 0
	tlsYes     tlsUse = 1
	tlsNo      tlsUse = 2
)

// clauseWords are what begins a part of a field Received (RFC 5321 section 4.4), and what servers write besides.
var clauseWords = []string{"from", "by", "via", "with", "id", "for", "tls", "envelope-from", "helo"}

// parseReceived reads the value of a field Received. Whatever it holds, the result is what could be read of it.
func parseReceived(value string) received {
	var r received
	p := receivedParser{r: &r, s: value}
	p.parse()
	r.interpret(p.clauses)
	return r
}

// A clause is a word such as from or by, what follows it and the comments behind that.
type clause struct {
	word     string
	values   []string
	comments []string
}

// A receivedParser cuts a field into clauses.
type receivedParser struct {
	r       *received
	s       string
	clauses []clause
}

// maxClauses bounds the clauses of one field; real ones have up to ten.
const maxClauses = 50

func (p *receivedParser) parse() {
	p.clauses = []clause{{}}
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
			last.comments = append(last.comments, text)
			p.r.comments = append(p.r.comments, text)
			i = end
		default:
			end := wordEnd(p.s, i)
			if semicolon < 0 || !p.timeFollows(semicolon) {
				p.word(p.s[i:end])
			}
			i = end
		}
	}
	p.time(semicolon)
}

// wordEnd is the end of the word that begins at s[i]; a quoted string or an address in angle brackets is one word.
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

// timeFollows reports whether the time may stand behind a semicolon: near the end of the field.
func (p *receivedParser) timeFollows(semicolon int) bool { return len(p.s)-semicolon < maxTime }

// maxTime bounds the time at the end of a field with comments and white space, in bytes.
const maxTime = 200

// word adds a word to the clause at hand, or begins another.
func (p *receivedParser) word(w string) {
	lower := strings.ToLower(w)
	for _, c := range clauseWords {
		if lower == c && len(p.clauses) < maxClauses && !p.has(c) {
			p.clauses = append(p.clauses, clause{word: c})
			return
		}
	}
	last := &p.clauses[len(p.clauses)-1]
	last.values = append(last.values, w)
}

// has reports whether a clause was there before: one server writes "for <b> from <a>" behind another from. Only the
// word with may stand twice, as in "with ESMTP with STARTTLS".
func (p *receivedParser) has(word string) bool {
	for i := range p.clauses {
		if p.clauses[i].word == word && word != "with" {
			return true
		}
	}
	return false
}

// time reads what stands behind the last semicolon; without one, the last words.
func (p *receivedParser) time(semicolon int) {
	text := ""
	switch {
	case semicolon >= 0:
		text = strings.TrimSpace(p.s[semicolon+1:])
	default:
		words := strings.Fields(p.s)
		for n := 7; n >= 5 && p.r.time.IsZero(); n-- {
			if len(words) > n {
				p.setTime(strings.Join(words[len(words)-n:], " "))
			}
		}
		return
	}
	if text != "" {
		p.setTime(text)
	}
}

func (p *receivedParser) setTime(text string) bool {
	d, err := message.ParseDate(text)
	if err != nil || d.Time.Year() < 1970 {
		return false
	}
	p.r.time, p.r.dateFlaw = d.Time, d
	return true
}

// interpret makes sense of the clauses.
func (r *received) interpret(clauses []clause) {
	for i := range clauses {
		c := &clauses[i]
		first := ""
		if len(c.values) > 0 {
			first = strings.TrimSuffix(c.values[0], ",")
		}
		switch c.word {
		case "from":
			r.client(first, c)
		case "by":
			r.by = hostName(first)
			if len(c.comments) > 0 {
				r.software = c.comments[0]
			}
		case "via":
			r.via = first
		case "with":
			protocol := strings.Join(c.values, " ")
			if r.with == "" {
				r.with = protocol
			} else if strings.EqualFold(protocol, "STARTTLS") {
				r.tls = tlsYes
			}
		case "id":
			r.id = strings.Trim(first, "<>")
		case "for":
			r.rcpt = strings.Trim(first, "<>,")
		case "tls":
			r.tls, r.tlsCipher = tlsYes, first
		case "helo":
			r.helo = hostName(first)
		}
	}
	r.encryption()
}

// client reads who handed the message over.
func (r *received) client(name string, c *clause) {
	r.from = hostName(name)
	literal := addrIn(name)
	for _, comment := range c.comments {
		r.clientComment(comment)
	}
	if !r.ip.IsValid() {
		r.ip = literal
	}
	if r.helo == "" {
		r.helo = r.from
	} else if r.rdns == "" && !literal.IsValid() && !strings.EqualFold(r.from, "unknown") {
		r.rdns = r.from // the client's own name stands in a comment, so this is the one that was found
	}
}

// clientComment reads a comment behind from, such as "mail.example.org [192.0.2.25]", "HELO mail.example.org",
// "[192.0.2.25] helo=mail.example.org" and "203.0.113.44".
func (r *received) clientComment(comment string) {
	words := strings.FieldsFunc(comment, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' })
	if isTLSComment(comment) {
		return
	}
	for i, w := range words {
		lower := strings.ToLower(w)
		if ip := addrIn(w); ip.IsValid() && !r.ip.IsValid() {
			r.ip = ip
			if i > 0 && r.rdns == "" && isHostName(words[i-1]) && !strings.EqualFold(words[0],
				"helo") && !strings.EqualFold(words[0], "ehlo") {
				r.rdns = hostName(words[i-1])
			}
			continue
		}
		switch {
		case (lower == "helo" || lower == "ehlo") && i+1 < len(words):
			r.helo = hostName(words[i+1])
		case strings.HasPrefix(lower, "helo=") || strings.HasPrefix(lower, "ehlo="):
			r.helo = hostName(w[len("helo="):])
		}
	}
	if len(words) == 1 && r.rdns == "" && !r.ip.IsValid() && isHostName(words[0]) && strings.Contains(words[0], ".") {
		r.rdns = hostName(words[0])
	}
}

// addrIn returns the address that a word holds: [192.0.2.25], [IPv6:2001:db8::1], 192.0.2.25, user@192.0.2.25,
// [192.0.2.25]:4711.
func addrIn(word string) netip.Addr {
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
	ip, err := netip.ParseAddr(word)
	if err != nil {
		return netip.Addr{}
	}
	return ip.WithZone("").Unmap()
}

// maxAddr bounds a word that may hold an address, in bytes.
const maxAddr = 300

// hostName is a name as written, without what servers put around it.
func hostName(s string) string { return strings.TrimSuffix(strings.Trim(s, "<>,;\""), ".") }

// isHostName reports whether a word looks like the name of a host, and not like "unknown".
func isHostName(s string) bool {
	s = hostName(s)
	return s != "" && !strings.EqualFold(s, "unknown") && !strings.ContainsAny(s, "=[]@:/")
}
