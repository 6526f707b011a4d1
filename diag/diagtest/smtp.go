package diagtest

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Actions in place of a reply, for the scripts of [SMTP] and [World.Whois].
const (
	NoReply = "\x00nothing" // the server stays silent, until the client gives up
	HangUp  = "\x00close"   // the server closes the connection
)

// SMTP configures a mail server (RFC 5321). With only Host set, it offers STARTTLS with a valid certificate
// and accepts every message.
type SMTP struct {
	Host       string      // gets an address unless it has one
	Port       uint16      // 0 means 25, or 465 with TLS from the start
	Extensions []string    // what EHLO lists in addition to STARTTLS, such as "SIZE 1000000"
	Encrypted  []string    // what EHLO lists over TLS; nil means Extensions
	Cert       Cert        // what is wrong with the certificate
	TLS        *tls.Config // if set, used instead of a configuration with a certificate of that kind
	NoStartTLS bool        // does not offer STARTTLS (RFC 3207)
	Implicit   bool        // TLS from the start (RFC 8314)
	Injectable bool        // answers over TLS the commands sent in plain text after STARTTLS (CVE-2011-0411)
	// Replies replace the usual replies. A key is the beginning of a command in any letter case: "RCPT"
	// matches all recipients, "RCPT TO:<root@" some; the longest match counts. "CONNECT" is the greeting,
	// "DATA." the reply after a message. Several lines are separated by "\n".
	Replies map[string]string
	// Delays are pauses before replies, with the same keys.
	Delays map[string]time.Duration
}

// Mail is a message that a mail server accepted.
type Mail struct {
	From string   // as in MAIL FROM, without the brackets
	To   []string // likewise
	Data string   // with CRLF line endings, without dot-stuffing
	TLS  bool     // received over TLS
}

// An SMTPServer is a running mail server of the world.
type SMTPServer struct {
	SMTP
	world    *World
	commands journal[string]
	mails    journal[Mail]
}

// SMTP opens a mail server on all addresses of its host.
func (w *World) SMTP(s SMTP) *SMTPServer {
	server := &SMTPServer{SMTP: s, world: w}
	if s.Port == 0 {
		server.Port = map[bool]uint16{false: 25, true: 465}[s.Implicit]
	}
	if s.TLS == nil {
		cert := w.Certificate(CertSpec{Names: []string{s.Host}, Cert: s.Cert})
		server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}
	}
	w.Serve(net.JoinHostPort(s.Host, strconv.Itoa(int(server.Port))), func(c net.Conn) {
		session := &smtpSession{server: server, conn: c}
		if s.Implicit {
			session.conn, session.encrypted = tls.Server(c, server.TLS), true
		}
		defer func() { session.conn.Close() }()
		session.run()
	})
	return server
}

// Commands lists the commands of all clients so far, as received.
func (s *SMTPServer) Commands() []string { return s.commands.all() }

// Mails lists the messages that were accepted.
func (s *SMTPServer) Mails() []Mail { return s.mails.all() }

// match returns the value whose key is the longest beginning of the command.
func match[T any](table map[string]T, command string) (value T, ok bool) {
	best := -1
	for key, v := range table {
		if len(key) > best && len(key) <= len(command) && strings.EqualFold(key, command[:len(key)]) {
			value, ok, best = v, true, len(key)
		}
	}
	return value, ok
}

// An smtpSession is the conversation with one client.
type smtpSession struct {
	server    *SMTPServer
	conn      net.Conn
	reader    *bufio.Reader
	encrypted bool
	mail      Mail
	begun     bool // by a MAIL that was accepted
}

func (s *smtpSession) run() {
	s.reader = bufio.NewReader(s.conn)
	if _, ok := s.reply("CONNECT", "220 "+s.server.Host+" ESMTP"); !ok {
		return
	}
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.server.commands.add(line)
		if !s.command(line) {
			return
		}
	}
}

// reply sends the scripted reply to a command, or else the usual one, and returns the code.
func (s *smtpSession) reply(command, usual string) (code string, ok bool) {
	pause, _ := match(s.server.Delays, command)
	if s.server.world.wait(s.server.world.ctx, pause) != nil {
		return "", false
	}
	text, scripted := match(s.server.Replies, command)
	if !scripted {
		text = usual
	}
	switch text {
	case NoReply:
		io.Copy(io.Discard, s.conn)
		return "", false
	case HangUp:
		return "", false
	}
	text = strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
	if _, err := io.WriteString(s.conn, text); err != nil {
		return "", false
	}
	return text[:min(3, len(text))], true
}

func (s *smtpSession) command(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		return s.say(line, s.greeting())
	case "HELO":
		return s.say(line, "250 "+s.server.Host)
	case "STARTTLS":
		return s.startTLS(line)
	case "MAIL", "RCPT":
		return s.envelope(line)
	case "DATA":
		code, ok := s.reply(line, "354 go ahead")
		return ok && (code != "354" || s.data())
	case "RSET":
		s.mail, s.begun = Mail{}, false
		return s.say(line, "250 ok")
	case "NOOP":
		return s.say(line, "250 ok")
	case "QUIT":
		s.reply(line, "221 bye")
		return false
	}
	return s.say(line, "500 unknown command")
}

func (s *smtpSession) say(line, usual string) bool {
	_, ok := s.reply(line, usual)
	return ok
}

func (s *smtpSession) greeting() string {
	extensions := s.server.Extensions
	if s.encrypted && s.server.Encrypted != nil {
		extensions = s.server.Encrypted
	}
	lines := append([]string{s.server.Host}, extensions...)
	if !s.server.NoStartTLS && !s.encrypted {
		lines = append(lines, "STARTTLS")
	}
	for i := range lines {
		lines[i] = string("- "[min(1, (i+1)/len(lines))]) + lines[i]
	}
	return "250" + strings.Join(lines, "\n250")
}

// startTLS begins anew over an encrypted connection (RFC 3207 section 4.2).
func (s *smtpSession) startTLS(line string) bool {
	usual := "220 go ahead"
	if s.server.NoStartTLS || s.encrypted {
		usual = "502 not here"
	}
	code, ok := s.reply(line, usual)
	if !ok || code != "220" {
		return ok
	}
	s.conn, s.encrypted, s.mail, s.begun = tls.Server(s.conn, s.server.TLS), true, Mail{}, false
	behind := ""
	if s.server.Injectable {
		text, _ := s.reader.Peek(s.reader.Buffered())
		behind = string(text)
	}
	s.reader = bufio.NewReader(io.MultiReader(strings.NewReader(behind), s.conn))
	return true
}

// envelope notes sender and recipients, whose order is enforced (RFC 5321 section 3.3).
func (s *smtpSession) envelope(line string) bool {
	recipient := strings.EqualFold(line[:4], "RCPT")
	if recipient && !s.begun {
		_, err := io.WriteString(s.conn, "503 5.5.1 MAIL first\r\n")
		return err == nil
	}
	code, ok := s.reply(line, "250 ok")
	if !ok || !strings.HasPrefix(code, "2") {
		return ok
	}
	_, rest, _ := strings.Cut(line, "<")
	address, _, _ := strings.Cut(rest, ">")
	if !recipient {
		s.mail, s.begun = Mail{From: address}, true
	} else {
		s.mail.To = append(s.mail.To, address)
	}
	return true
}

// data reads a message up to the line with a single dot (RFC 5321 section 4.5.2).
func (s *smtpSession) data() bool {
	var b strings.Builder
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			return false
		}
		if strings.TrimRight(line, "\r\n") == "." {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	code, ok := s.reply("DATA.", "250 queued")
	if strings.HasPrefix(code, "2") {
		mail := s.mail
		mail.Data, mail.TLS = b.String(), s.encrypted
		s.server.mails.add(mail)
	}
	s.mail, s.begun = Mail{}, false
	return ok
}

// A WhoisServer is a running WHOIS server of the world (RFC 3912).
type WhoisServer struct{ queries journal[string] }

// Whois opens a WHOIS server. Answers maps queries, in any letter case, to replies; a query with options
// before the name, such as "-T dn example.de", also matches the name alone, and the key "" matches all other
// queries. A reply may be [NoReply] or [HangUp].
func (w *World) Whois(host string, answers map[string]string) *WhoisServer {
	s := &WhoisServer{}
	w.Serve(net.JoinHostPort(host, "43"), func(c net.Conn) {
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return
		}
		query := strings.TrimSpace(line)
		s.queries.add(query)
		switch text := whoisAnswer(answers, query); text {
		case NoReply:
			io.Copy(io.Discard, c)
		case HangUp:
		default:
			io.WriteString(c, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
		}
	})
	return s
}

func whoisAnswer(answers map[string]string, query string) string {
	name := query
	if fields := strings.Fields(query); len(fields) > 0 {
		name = fields[len(fields)-1]
	}
	for _, q := range []string{query, name} {
		for key, text := range answers {
			if strings.EqualFold(key, q) {
				return text
			}
		}
	}
	return cmp.Or(answers[""], "No match.\n")
}

// Queries lists the queries so far.
func (s *WhoisServer) Queries() []string { return s.queries.all() }

// RDAP opens an RDAP server (RFC 7480). Answers maps the path of a request, such as "/domain/example.com", in
// any letter case, to JSON. An answer with an "errorCode" is returned with that status (RFC 9083 section 6),
// one that begins with "https://" or "http://" is a redirect, and other paths are not found.
func (w *World) RDAP(host string, answers map[string]string) { w.HTTPS(host, rdapHandler(answers)) }

func rdapHandler(answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"errorCode": 404, "title": "Not Found"}`
		for path, text := range answers {
			if strings.EqualFold(path, r.URL.Path) {
				body = text
			}
		}
		if strings.HasPrefix(body, "https://") || strings.HasPrefix(body, "http://") {
			http.Redirect(w, r, body, http.StatusFound)
			return
		}
		var head struct {
			ErrorCode int `json:"errorCode"`
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		if json.Unmarshal([]byte(body), &head) == nil && 300 <= head.ErrorCode && head.ErrorCode <= 599 {
			w.WriteHeader(head.ErrorCode)
		}
		io.WriteString(w, body)
	})
}
