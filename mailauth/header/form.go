package header

import (
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

// isLong reports whether a field has a line that is too long.
func isLong(f *message.Field) bool { return len(f.Raw) > maxLine && f.LongestLine() > maxLine }

const maxNamed = 20

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
	for i, c := range f.Raw {
		stray := c == '\r' && i+1 < len(f.Raw) && f.Raw[i+1] != '\n' && f.Raw[i+1] != '\r'
		if stray || c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7F {
			return true
		}
	}
	return false
}

// isUndeclared reports whether a field has bytes outside of ASCII that are not UTF-8.
func isUndeclared(f *message.Field) bool { return !utf8.Valid(f.Raw) }

// hasDirection reports whether a text has characters that reverse its direction or cannot be seen, by which what is
// shown differs from what is written (Unicode Technical Report 36 section 2.5).
func hasDirection(text string) bool {
	return strings.ContainsAny(text, "\u202A\u202B\u202D\u202E\u2066\u2067\u2068\u200B\u2060\uFEFF")
}

func names(fields []*message.Field) string {
	var list []string
	for _, f := range fields {
		if name := clip(f.Name); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// badLines are the malformed lines, without the one that mailbox files have before a message.
func (e *evidence) badLines() []message.Line {
	if _, ok := e.msg.Mailbox(); ok {
		return e.msg.Malformed[1:]
	}
	return e.msg.Malformed
}
