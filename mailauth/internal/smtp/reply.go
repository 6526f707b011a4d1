package smtp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag/phrase"
)

// A Reply is the answer of a server (RFC 5321 section 4.2).
type Reply struct {
	Code  int      // 200 to 599; 0 without a reply
	Lines []string // the texts behind the codes; at least one
}

// String returns the reply on one line, for use in a sentence: "550 5.7.1 relaying denied".
func (r Reply) String() string {
	return phrase.Quote(strings.TrimSpace(strconv.Itoa(r.Code) + " " + strings.Join(r.Lines, " ")))
}

// Text returns the first line without its code.
func (r Reply) Text() string {
	if len(r.Lines) == 0 {
		return ""
	}
	return r.Lines[0]
}

// OK reports whether the code means success.
func (r Reply) OK() bool { return r.Code >= 200 && r.Code < 300 }

// Temporary reports whether the code says that the command may succeed later.
func (r Reply) Temporary() bool { return r.Code >= 400 && r.Code < 500 }

// Status returns the enhanced status code of the reply, such as "5.7.1", or "" (RFC 2034 section 4).
func (r Reply) Status() string {
	first, _, _ := strings.Cut(r.Text(), " ")
	parts := strings.Split(first, ".")
	if len(parts) != 3 || parts[0] != strconv.Itoa(r.Code/100) {
		return ""
	}
	for _, p := range parts {
		if p == "" || len(p) > 3 || strings.Trim(p, "0123456789") != "" {
			return ""
		}
	}
	return first
}

func (r Reply) failure(step Step) error {
	switch {
	case r.OK():
		return nil
	case r.Temporary():
		return &Error{Step: step, Kind: Deferred, Reply: r}
	default:
		return &Error{Step: step, Kind: Rejected, Reply: r}
	}
}

var errNotReply = errors.New("not a reply of SMTP")

// parseLine reads one line of a reply, without its line end: three digits, then nothing or a space in the last line,
// a "-" in all others, and a text (RFC 5321 section 4.2). Servers that send the code alone must be accepted (same
// section).
func parseLine(line string) (code int, text string, last bool, err error) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' {
		return 0, "", false, errNotReply
	}
	if code, err = strconv.Atoi(line[:3]); err != nil {
		return 0, "", false, errNotReply
	}
	if len(line) == 3 {
		return code, "", true, nil
	}
	if line[3] != ' ' && line[3] != '-' {
		return 0, "", false, errNotReply
	}
	return code, line[4:], line[3] == ' ', nil
}

// add appends a line to a reply, and reports whether it is the last. All have the same code.
func (r *Reply) add(line string) (last bool, err error) {
	code, text, last, err := parseLine(line)
	if err != nil || r.Code != 0 && r.Code != code {
		return false, errNotReply
	}
	r.Code, r.Lines = code, append(r.Lines, strings.ToValidUTF8(text, "\uFFFD"))
	return last, nil
}

// A Hello is the answer of a server to EHLO or HELO.
type Hello struct {
	Reply      Reply
	Extended   bool        // came for EHLO, not for HELO
	Domain     string      // the name that the server gives itself, as sent
	Extensions []Extension // in the order sent
}

// An Extension is a capability of a server beyond the basic protocol (RFC 5321 section 2.2).
type Extension struct {
	Name   string   // in upper case
	Params []string // as sent
}

// parseHello reads the lines of a reply to EHLO (RFC 5321 section 4.1.1.1).
func parseHello(r Reply, extended bool) Hello {
	h := Hello{Reply: r, Extended: extended, Extensions: []Extension{}}
	if fields := strings.Fields(r.Text()); len(fields) > 0 {
		h.Domain = fields[0]
	}
	if !extended || len(r.Lines) == 0 {
		return h
	}
	for _, line := range r.Lines[1:] {
		if fields := strings.Fields(line); len(fields) > 0 {
			h.Extensions = append(h.Extensions, Extension{strings.ToUpper(fields[0]), fields[1:]})
		}
	}
	return h
}

func (h Hello) extension(name string) (Extension, bool) {
	i := slices.IndexFunc(h.Extensions, func(e Extension) bool { return e.Name == name })
	if i < 0 {
		return Extension{}, false
	}
	return h.Extensions[i], true
}

// Has reports whether the server lists an extension, by its name in upper case.
func (h Hello) Has(name string) bool {
	_, ok := h.extension(name)
	return ok
}

// Mechanisms returns the SASL mechanisms of the extension AUTH, in upper case and without duplicates
// (RFC 4954 section 3). Old servers also list them as "AUTH=LOGIN".
func (h Hello) Mechanisms() []string {
	list := []string{}
	for _, e := range h.Extensions {
		name, first, _ := strings.Cut(e.Name, "=")
		if name != "AUTH" {
			continue
		}
		for _, m := range append([]string{first}, e.Params...) {
			if m = strings.ToUpper(m); m != "" && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	return list
}

// Size returns the largest message that the server accepts, in bytes; false if it does not state a size, or states
// that there is no fixed limit (RFC 1870 section 4).
func (h Hello) Size() (int64, bool) {
	e, ok := h.extension("SIZE")
	if !ok || len(e.Params) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(e.Params[0], 10, 64)
	return n, err == nil && n > 0
}

// A Line is one line of a transcript.
type Line struct {
	At   time.Duration // since the session began
	From Speaker
	Text string // without its line end, valid UTF-8 without control characters
}

// A Speaker is the source of a line of a transcript.
type Speaker string

const (
	fromClient Speaker = "client"
	fromServer Speaker = "server"
	fromTLS    Speaker = "tls" // the outcome of a handshake
)

func (s *Session) note(from Speaker, text string) {
	s.Transcript = append(s.Transcript, Line{time.Since(s.begin), from, printable(text)})
}

const maxShown = 512

func printable(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// A lineReader reads the lines of one side of a connection. Unlike the reader of net/textproto it has a limit for
// each line, and keeps an incomplete line.
type lineReader struct {
	*bufio.Reader
}

func newLineReader(conn net.Conn, left *int64) lineReader {
	return lineReader{bufio.NewReaderSize(&bounded{conn, left}, maxLine)}
}

// A bounded reader fails at the limit of the session.
type bounded struct {
	r         io.Reader
	remaining *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.remaining <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), *b.remaining)])
	*b.remaining -= int64(n)
	return n, err
}

// line returns the next line without its end, or the part of it received before an error.
func (l lineReader) line() (string, error) {
	text, err := l.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		err = errTooLong
	case err != nil && len(text) > 0 && (text[0] < '2' || text[0] > '5'):
		err = errNotReply // whatever it would have been
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

func (s *Session) read(step Step, limit time.Duration) (Reply, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return Reply{}, s.fail(readError(step, err))
	}
	if s.count++; s.count > maxReplies {
		return Reply{}, s.fail(readError(step, errTooLong))
	}
	var r Reply
	for range maxReplyLines {
		line, err := s.text.line()
		if line != "" {
			s.note(fromServer, line)
		}
		if err != nil {
			return Reply{}, s.fail(readError(step, err))
		}
		last, err := r.add(line)
		if err != nil {
			return Reply{}, s.fail(readError(step, err))
		}
		if last {
			return r, nil
		}
	}
	return Reply{}, s.fail(readError(step, errTooLong))
}

func (s *Session) fail(e *Error) error {
	if s.failed = true; e.Kind == Closed && s.ended != nil && s.ended() != nil {
		e.Kind = Overrun // the connection ends with the context, on whichever side that is seen first
	}
	return e
}

func (s *Session) write(limit time.Duration, lines ...string) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	for _, line := range lines {
		s.note(fromClient, line)
	}
	_, err := io.WriteString(s.conn, strings.Join(lines, "\r\n")+"\r\n")
	return err
}
