package dkim

import (
	"bytes"
	"io"

	"github.com/diagkit/diagkit/diag"
)

// Canonicalization says which changes on the way a signature tolerates (RFC 6376 section 3.4).
type Canonicalization string

// The canonicalization algorithms.
const (
	Simple  Canonicalization = "simple"  // none
	Relaxed Canonicalization = "relaxed" // white space, folding and the letter case of field names
)

// Values lists the algorithms.
func (Canonicalization) Values() []string { return diag.Values(Simple, Relaxed) }

func (c Canonicalization) other() Canonicalization {
	if c == Simple {
		return Relaxed
	}
	return Simple
}

// AppendField appends the canonical form of a header field, with its final CRLF, to dst. Lines of the raw field
// may end in LF alone, as files do.
func (c Canonicalization) AppendField(dst, raw []byte) []byte {
	if c == Simple { // RFC 6376 section 3.4.1
		return appendLines(dst, raw)
	}
	name, value, _ := bytes.Cut(raw, []byte(":")) // RFC 6376 section 3.4.2
	for _, b := range bytes.TrimRight(name, " \t\r\n") {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		dst = append(dst, b)
	}
	dst = append(dst, ':')
	start := len(dst)
	for i, b := range value {
		switch {
		case b == '\n', b == '\r' && i+1 < len(value) && value[i+1] == '\n':
		case b != ' ' && b != '\t':
			dst = append(dst, b)
		case len(dst) > start && dst[len(dst)-1] != ' ':
			dst = append(dst, ' ')
		}
	}
	if len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '\r', '\n')
}

// appendLines appends a text whose lines then end in CRLF, the last one too.
func appendLines(dst, text []byte) []byte {
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		dst = append(append(dst, line...), '\r', '\n')
	}
	return dst
}

// cutLine takes the first line, without what ends it: CRLF, or LF alone as in files.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, found := bytes.Cut(text, []byte("\n"))
	if found && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line, rest
}

// chunk is how much of a canonical body is handed on at once.
const chunk = 32 << 10

// WriteBody writes the canonical form of a body to w, in one pass, and returns its size. Lines of the body may
// end in LF alone.
func (c Canonicalization) WriteBody(w io.Writer, body []byte) int64 {
	out := bodyWriter{w: w, buffer: make([]byte, 0, chunk+2)}
	blank := 0 // empty lines that have not been written, for they may be the last ones
	for len(body) > 0 {
		var line []byte
		line, body = cutLine(body)
		if c == Relaxed { // RFC 6376 section 3.4.4
			line = bytes.TrimRight(line, " \t")
		}
		if len(line) == 0 {
			blank++
			continue
		}
		for ; blank > 0; blank-- {
			out.endLine()
		}
		if c == Relaxed {
			out.squeeze(line)
		} else {
			out.write(line)
		}
		out.endLine()
	}
	if c == Simple && out.size == 0 { // RFC 6376 section 3.4.3
		out.endLine()
	}
	out.flush()
	return out.size
}

type bodyWriter struct {
	w      io.Writer
	buffer []byte
	size   int64
}

func (o *bodyWriter) flush() {
	o.w.Write(o.buffer) // a hash, which never fails
	o.buffer = o.buffer[:0]
}

func (o *bodyWriter) write(p []byte) {
	o.size += int64(len(p))
	for len(p) > 0 {
		n := min(len(p), chunk-len(o.buffer))
		o.buffer, p = append(o.buffer, p[:n]...), p[n:]
		if len(o.buffer) >= chunk {
			o.flush()
		}
	}
}

func (o *bodyWriter) endLine() { o.write([]byte("\r\n")) }

// squeeze writes a line with each run of white space reduced to one space.
func (o *bodyWriter) squeeze(line []byte) {
	blank := func(i int) bool { return i < len(line) && (line[i] == ' ' || line[i] == '\t') }
	written := 0
	for i := 0; i < len(line); i++ {
		if !blank(i) || line[i] == ' ' && !blank(i+1) {
			continue
		}
		o.write(line[written:i])
		o.write([]byte(" "))
		for blank(i + 1) {
			i++
		}
		written = i + 1
	}
	o.write(line[written:])
}
