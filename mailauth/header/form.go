package header

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/mailauth/message"
)

// onceFields are those that occur at most once (RFC 5322 section 3.6, RFC 2045 section 3, RFC 2369 section 3,
// RFC 2919 section 3, RFC 8058 section 3.1).
var onceFields = []string{"Date", "From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Message-ID", "In-Reply-To",
	"References", "Subject", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "List-Id", "List-Unsubscribe",
	"List-Unsubscribe-Post"}

// count is how many fields of a name there are.
func (e *evidence) count(name string) int { return len(e.msg.All(name)) }

// duplicates lists the fields that may occur once and occur more often, by their names as sent.
func (e *evidence) duplicates() []string {
	list := []string{}
	for _, name := range onceFields {
		if all := e.msg.All(name); len(all) > 1 {
			list = append(list, all[0].Name)
		}
	}
	return list
}

// missing lists the fields that every message must have, and Message-ID, which it should have (RFC 5322 section 3.6).
func (e *evidence) missing() []string {
	list := []string{}
	for _, name := range []string{"From", "Date", "Message-ID"} {
		if e.count(name) == 0 {
			list = append(list, name)
		}
	}
	return list
}

// maxLine is how long a line may be in bytes, without its end (RFC 5322 section 2.1.1).
const maxLine = 998

// longLines lists the fields with a line that is too long.
func (e *evidence) longLines() []*message.Field {
	return e.fieldsWhere(func(f *message.Field) bool { return len(f.Raw) > maxLine && f.LongestLine() > maxLine })
}

// maxNamed bounds the fields that one rule names.
const maxNamed = 20

// fieldsWhere lists the first fields that fulfil a condition.
func (e *evidence) fieldsWhere(is func(*message.Field) bool) []*message.Field {
	var list []*message.Field
	for i := range e.msg.Fields {
		if f := &e.msg.Fields[i]; len(list) < maxNamed && is(f) {
			list = append(list, f)
		}
	}
	return list
}

// hasControl reports whether a field has control characters that belong in no header (RFC 5322 section 4.1 calls them
// obsolete).
func hasControl(f *message.Field) bool {
	for _, c := range f.Raw {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7F {
			return true
		}
	}
	return bytes.Contains(bytes.TrimRight(f.Raw, "\r\n"), []byte("\r")) && strayCR(f.Raw)
}

// strayCR reports whether a CR stands within a line.
func strayCR(raw []byte) bool {
	for i, c := range raw {
		if c == '\r' && i+1 < len(raw) && raw[i+1] != '\n' && raw[i+1] != '\r' {
			return true
		}
	}
	return false
}

// isRaw reports whether a field has bytes outside of ASCII; utf says whether they are UTF-8.
func isRaw(f *message.Field) (raw, utf bool) {
	raw = slices.ContainsFunc(f.Raw, func(c byte) bool { return c >= utf8.RuneSelf })
	return raw, raw && utf8.Valid(f.Raw)
}

// hasDirection reports whether a text has characters that reverse its direction or cannot be seen, by which what is
// shown differs from what is written (Unicode Technical Report 36 section 2.5).
func hasDirection(text string) bool {
	return strings.ContainsAny(text, "\u202A\u202B\u202D\u202E\u2066\u2067\u2068\u200B\u2060\uFEFF")
}

// names lists the names of fields, each once.
func names(fields []*message.Field) string {
	var list []string
	for _, f := range fields {
		if name := clip(f.Name, maxShown); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}
