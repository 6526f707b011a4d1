package dkim

import (
	"bufio"
	"bytes"
	"crypto"
	_ "crypto/sha1" // the hash of historic signatures, verified to distinguish them from forged ones
	_ "crypto/sha256"
	"hash"
	"io"
	"slices"

	"github.com/diagkit/diagkit/diag/kit"
)

// Canonicalization determines which changes in transit a signature tolerates (RFC 6376 section 3.4).
type Canonicalization string

// The canonicalization algorithms.
const (
	Simple  Canonicalization = "simple"  // none
	Relaxed Canonicalization = "relaxed" // white space, folding and the letter case of field names
)

// Values lists the algorithms.
func (Canonicalization) Values() []string { return kit.Values(Simple, Relaxed) }

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

// cutLine cuts the first line, without its line end: CRLF, or LF alone as in files.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, found := bytes.Cut(text, []byte("\n"))
	if found && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line, rest
}

// chunk is the most that is passed to a hash at a time.
const chunk = 32 << 10

// WriteBody writes the canonical form of a body to w, in one pass, and returns its size. Lines of the body may
// end in LF alone.
func (c Canonicalization) WriteBody(w io.Writer, body []byte) int64 {
	out := bodyWriter{Writer: bufio.NewWriterSize(w, min(chunk, len(body)+len(crlf)))}
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
			out.writeRelaxed(line)
		} else {
			out.write(line)
		}
		out.endLine()
	}
	if c == Simple && out.size == 0 { // RFC 6376 section 3.4.3
		out.endLine()
	}
	out.Flush()
	return out.size
}

type bodyWriter struct {
	*bufio.Writer // to a hash, which never fails
	size          int64
}

func (o *bodyWriter) write(p []byte) {
	o.size += int64(len(p))
	o.Write(p)
}

var crlf, space = []byte("\r\n"), []byte(" ")

func (o *bodyWriter) endLine() { o.write(crlf) }

func (o *bodyWriter) writeRelaxed(line []byte) {
	blank := func(i int) bool { return i < len(line) && (line[i] == ' ' || line[i] == '\t') }
	written := 0
	for i := 0; i < len(line); i++ {
		if !blank(i) || line[i] == ' ' && !blank(i+1) {
			continue
		}
		o.write(line[written:i])
		o.write(space)
		for blank(i + 1) {
			i++
		}
		written = i + 1
	}
	o.write(line[written:])
}

type bodyForm struct {
	canonical Canonicalization
	hash      crypto.Hash
}

const whole = -1

// bodyHashes computes the hashes of a body in the requested forms and up to the requested lengths: one pass over the
// body for each form, however many lengths there are.
type bodyHashes struct {
	wanted map[bodyForm][]int64
	sums   map[bodyForm]map[int64][]byte
	sizes  map[Canonicalization]int64 // of the canonical bodies
}

func (b *bodyHashes) request(f bodyForm, length int64) {
	if b.wanted == nil {
		b.wanted = map[bodyForm][]int64{}
	}
	b.wanted[f] = append(b.wanted[f], length)
}

func (b *bodyHashes) compute(body []byte) {
	b.sums, b.sizes = map[bodyForm]map[int64][]byte{}, map[Canonicalization]int64{}
	for f, lengths := range b.wanted {
		slices.Sort(lengths)
		m := &marks{hash: f.hash.New(), pending: slices.Compact(lengths), sums: map[int64][]byte{}}
		if m.pending[0] == whole {
			m.pending = m.pending[1:]
		}
		m.Write(nil) // a length of zero
		b.sizes[f.canonical] = f.canonical.WriteBody(m, body)
		m.sums[whole] = m.hash.Sum(nil)
		b.sums[f] = m.sums
	}
}

type marks struct {
	hash    hash.Hash
	written int64
	pending []int64 // ascending
	sums    map[int64][]byte
}

func (m *marks) Write(p []byte) (int, error) {
	n := len(p)
	for len(m.pending) > 0 && m.pending[0] <= m.written+int64(len(p)) {
		head := m.pending[0] - m.written
		m.hash.Write(p[:head])
		m.sums[m.pending[0]] = m.hash.Sum(nil)
		m.written, p, m.pending = m.pending[0], p[head:], m.pending[1:]
	}
	m.hash.Write(p)
	m.written += int64(len(p))
	return n, nil
}
