package fetch

import (
	"bytes"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

// A foreignError is an answer that is not HTTP.
type foreignError struct {
	begin []byte // at most 200 bytes
}

// Error implements error.
func (e *foreignError) Error() string {
	text := "the answer is not HTTP"
	if who := speaker(e.begin); who != "" {
		text += ", but that of " + who
	}
	line, _, _ := bytes.Cut(e.begin, []byte("\n"))
	return text + ": it begins with " + quoted(strings.TrimRight(string(line), "\r"))
}

// quoted shows untrusted bytes.
func quoted(s string) string { return `"` + phrase.Quote(strings.ToValidUTF8(s, "\uFFFD")) + `"` }

// greetings are how servers of other protocols begin to speak, by themselves or when they meet what they do not
// understand.
var greetings = []struct{ begin, contains, server string }{
	{"SSH-", "", "an SSH server"},           // RFC 4253 section 4.2
	{"220", "FTP", "an FTP server"},         // RFC 959 section 5.4
	{"220", "SMTP", "a mail server (SMTP)"}, // RFC 5321 section 4.2
	{"220", "", "a mail server (SMTP) or an FTP server"},
	{"421", "", "a mail server (SMTP) or an FTP server"},
	{"554", "", "a mail server (SMTP)"},
	{"+OK", "", "a POP3 server"},   // RFC 1939 section 3
	{"* OK", "", "an IMAP server"}, // RFC 9051 section 7.1.1
	{"* BYE", "", "an IMAP server"},
	{"RTSP/", "", "an RTSP server"}, // RFC 7826 section 8
	{"SIP/", "", "a SIP server"},    // RFC 3261 section 7.2
	{"RFB ", "", "a VNC server"},    // RFC 6143 section 7.1.1
	{"ICY ", "", "a SHOUTcast server"},
	{"-ERR", "", "a Redis server"},
	{"@RSYNCD:", "", "an rsync server"},
	{"AMQP", "", "an AMQP server"},
	{"\x15\x03", "", "a TLS server"}, // RFC 8446 section 5.1: an alert
	{"\x16\x03", "", "a TLS server"},
	{"<", "", "a server that sends a document without a status line, as HTTP/0.9 did"},
}

// speaker names the server that begins like this, or nothing.
func speaker(begin []byte) string {
	text := string(begin)
	for _, g := range greetings {
		if strings.HasPrefix(text, g.begin) && strings.Contains(strings.ToUpper(text), g.contains) {
			return g.server
		}
	}
	switch {
	case len(begin) > 5 && begin[3] == 0 && begin[4] == '\n': // protocol version 10, packet 0
		return "a MySQL server"
	case len(begin) >= 9 && begin[0] == 0 && begin[3] == 4: // RFC 9113 section 6.5: SETTINGS
		return "a server that speaks HTTP/2 without having agreed on it"
	}
	return ""
}
