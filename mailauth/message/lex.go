package message

import "strings"

// Comments separates a value from its comments, which stand in parentheses and may be nested (RFC 5322 section
// 3.2.2). In the text a blank stands for each; quoted strings are left as they are. A comment that is not closed
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

// MessageIDs returns what stands in angle brackets, as in Message-ID and References (RFC 5322 section 3.6.4). A
// value without any is taken by its words.
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
