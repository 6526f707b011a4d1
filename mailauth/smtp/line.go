package smtp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"time"
	"unicode"
)

// A Line is one line of a transcript.
type Line struct {
	At   time.Duration // since the session began
	From Speaker
	Text string // without its line end, valid UTF-8 without control characters
}

// A Speaker is who a line of a transcript comes from.
type Speaker string

const (
	fromClient Speaker = "client"
	fromServer Speaker = "server"
	fromTLS    Speaker = "tls" // the outcome of a handshake
)

func (s *Session) note(from Speaker, text string) {
	s.Transcript = append(s.Transcript, Line{time.Since(s.begin), from, printable(text)})
}

// maxShown bounds a line of the transcript, in bytes.
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

// A lineReader reads the lines of one side of a connection. Unlike the reader of net/textproto it has
// a limit for each line, and keeps a line that was begun and not ended.
type lineReader struct {
	*bufio.Reader
}

func newLineReader(conn net.Conn, left *int64) lineReader {
	return lineReader{bufio.NewReaderSize(&bounded{conn, left}, maxLine)}
}

// A bounded reader fails at the limit of the session.
type bounded struct {
	r    io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), *b.left)])
	*b.left -= int64(n)
	return n, err
}

// line returns the next line without its end, or as much as came of it before an error.
func (l lineReader) line() (string, error) {
	text, err := l.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		err = errTooLong
	case err != nil && len(text) > 0 && (text[0] < '2' || text[0] > '5'):
		err = errNotReply // whatever it was going to be
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

// fail notes that the server is not to be spoken to any more.
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
