package message

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// maxWord bounds an encoded word, in bytes. RFC 2047 section 2 allows 75; many senders write longer ones.
const maxWord = 4096

// DecodeText decodes a value: encoded words such as =?utf-8?Q?M=C3=BCller?= are decoded (RFC 2047), and bytes that
// are not UTF-8 (RFC 6532) are read as Windows-1252, the usual encoding of senders that declare none. Adjacent words
// of one character set are decoded as one, because some senders split within a character. Text that cannot be decoded
// is left unchanged.
func DecodeText(s string) string {
	if !utf8.ValidString(s) {
		s, _ = charmap.Windows1252.NewDecoder().String(s)
	}
	if !strings.Contains(s, "=?") {
		return s
	}
	var b strings.Builder
	var run encodedRun
	for s != "" {
		start := strings.Index(s, "=?")
		if start < 0 {
			break
		}
		w, ok := cutWord(s[start:])
		if !ok {
			run.flush(&b)
			b.WriteString(s[:start+2])
			s = s[start+2:]
			continue
		}
		// RFC 2047 section 6.2: white space between two encoded words is no part of the text.
		if run.words == 0 || strings.Trim(s[:start], " \t") != "" {
			run.flush(&b)
			b.WriteString(s[:start])
		}
		run.add(&b, w)
		s = s[start+w.length:]
	}
	run.flush(&b)
	b.WriteString(s)
	return b.String()
}

type encodedWord struct {
	charset string // in lower case
	data    []byte
	length  int
}

func cutWord(s string) (w encodedWord, ok bool) {
	s = s[:min(len(s), maxWord)]
	charset, rest, ok := strings.Cut(s[2:], "?")
	if !ok || len(rest) < 2 || rest[1] != '?' {
		return w, false
	}
	encoding, rest := rest[0], rest[2:]
	content, _, ok := strings.Cut(rest, "?=")
	if !ok {
		return w, false
	}
	charset, _, _ = strings.Cut(charset, "*") // RFC 2231 section 5: a language may follow
	w.charset = strings.ToLower(charset)
	w.length = len(s) - len(rest) + len(content) + 2
	switch encoding {
	case 'Q', 'q':
		w.data = decodeQ(content)
	case 'B', 'b':
		w.data, ok = decodeB(content)
	default:
		ok = false
	}
	return w, ok
}

// decodeQ decodes the encoding Q (RFC 2047 section 4.2). A broken escape is left unchanged.
func decodeQ(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '_':
			out = append(out, ' ')
		case '=':
			if b, ok := fromHex(s[i+1:]); ok {
				c = b
				i += 2
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// decodeB decodes the encoding B (RFC 2047 section 4.1), with or without padding.
func decodeB(s string) ([]byte, bool) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.ReplaceAll(s, " ", ""), "="))
	return data, err == nil
}

func fromHex(s string) (b byte, ok bool) {
	var one [1]byte
	n, err := hex.Decode(one[:], []byte(s[:min(len(s), 2)]))
	return one[0], n == 1 && err == nil
}

type encodedRun struct {
	charset string
	data    []byte
	words   int
}

func (r *encodedRun) add(b *strings.Builder, w encodedWord) {
	// Each word of a stateful set begins in its first state anew (RFC 2047 section 3).
	if r.words > 0 && (r.charset != w.charset || strings.HasPrefix(w.charset, "iso-2022")) {
		r.flush(b)
	}
	r.charset, r.data, r.words = w.charset, append(r.data, w.data...), r.words+1
}

func (r *encodedRun) flush(b *strings.Builder) {
	if r.words > 0 {
		b.WriteString(decodeCharset(r.charset, r.data))
	}
	*r = encodedRun{}
}

// decodeCharset decodes bytes of a character set; an unknown one is read as UTF-8 or Windows-1252.
func decodeCharset(charset string, data []byte) string {
	if e, err := htmlindex.Get(charset); err == nil {
		if text, err := e.NewDecoder().Bytes(data); err == nil {
			return strings.ToValidUTF8(string(text), "\uFFFD")
		}
	}
	if !utf8.Valid(data) {
		data, _ = charmap.Windows1252.NewDecoder().Bytes(data)
	}
	return string(data)
}

// Comments separates a value from its comments, which are in parentheses and may be nested (RFC 5322 section
// 3.2.2). In the text a blank replaces each; quoted strings are left as they are. A comment that is not closed
// reaches to the end.
func Comments(value string) (text string, comments []string) {
	if strings.IndexByte(value, '(') < 0 {
		return value, nil
	}
	var b strings.Builder
	for i := 0; i < len(value); {
		var end int
		switch value[i] {
		case '"':
			end = QuotedEnd(value, i)
		case '(':
			end = CommentEnd(value, i)
			comments = append(comments, strings.TrimSpace(Unquote(value[i:end])))
			b.WriteByte(' ')
			i = end
			continue
		case '\\':
			end = min(i+2, len(value))
		default:
			end = i + 1
		}
		b.WriteString(value[i:end])
		i = end
	}
	return b.String(), comments
}

// CommentEnd returns the end of the comment that begins at s[at], which is an opening parenthesis.
func CommentEnd(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// QuotedEnd returns the end of the quoted string that begins at s[at], which is a quotation mark. A string that is
// not closed reaches to the end (RFC 5322 section 3.2.4).
func QuotedEnd(s string, at int) int {
	for i := at + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// Unquote removes the delimiters around a quoted string, a comment or a text in angle brackets, and the
// backslashes of quoted pairs (RFC 5322 section 3.2.1).
func Unquote(s string) string {
	if len(s) > 0 && strings.IndexByte(`"(<`, s[0]) >= 0 {
		last := map[byte]byte{'"': '"', '(': ')', '<': '>'}[s[0]]
		if s = s[1:]; len(s) > 0 && s[len(s)-1] == last {
			s = s[:len(s)-1]
		}
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// MessageIDs returns the texts in angle brackets, as in Message-ID and References (RFC 5322 section 3.6.4). A value
// without angle brackets is split into words.
func MessageIDs(value string) []string {
	var ids []string
	rest := value
	for {
		_, after, ok := strings.Cut(rest, "<")
		if !ok {
			break
		}
		id, behind, closed := strings.Cut(after, ">")
		if !closed {
			break
		}
		ids, rest = append(ids, strings.TrimSpace(id)), behind
	}
	if ids == nil {
		text, _ := Comments(value)
		return strings.Fields(text)
	}
	return ids
}
