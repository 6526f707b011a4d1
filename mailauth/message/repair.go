package message

import (
	"bytes"
	"slices"
	"strings"
)

// Damage is a kind of damage that copying did to a text. It says nothing about the message itself.
type Damage string

// The kinds of damage that [Repair] knows.
const (
	Summary         Damage = "summary"          // the table that a mail program shows above the header, copied with it
	Escaped         Damage = "escaped"          // line ends written as \n, as in JSON
	DoubleSpaced    Damage = "double-spaced"    // a blank line behind every line
	Quoted          Damage = "quoted"           // "> " before every line, as in a reply
	Indented        Damage = "indented"         // white space before every line
	HTML            Damage = "html"             // &lt; for <
	QuotedPrintable Damage = "quoted-printable" // =3D for =, and lines that end with = (RFC 2045 section 6.7)
	Unindented      Damage = "unindented"       // folded lines without the white space before them
)

const maxQuoteLevels = 5

// Repair restores a header that was damaged by copying it, and reports the damage. A text without damage is returned
// as it is. It is for headers that people paste; never verify a signature over the result.
func Repair(text []byte) ([]byte, []Damage) {
	var done []Damage
	text = trimFirstLines(text)
	for _, step := range []struct {
		damage Damage
		repair func(string) string
	}{
		{Escaped, unescapeLines}, {Summary, cutSummary}, {DoubleSpaced, singleSpace},
		{Quoted, unquoteLines}, {Indented, outdent},
		{HTML, unescapeHTML}, {QuotedPrintable, decodeQuotedPrintable}, {Unindented, foldAgain},
	} {
		if repaired := step.repair(string(text)); repaired != string(text) {
			text, done = []byte(repaired), append(done, step.damage)
		}
	}
	return text, done
}

// trimFirstLines removes blank lines before the first one that is not: a pasted header is not meant to be empty.
func trimFirstLines(text []byte) []byte {
	rest := bytes.TrimLeft(text, " \t\r\n")
	if i := bytes.LastIndexAny(text[:len(text)-len(rest)], "\r\n"); i >= 0 {
		return text[i+1:]
	}
	return text
}

// summaryLines are the beginnings of the lines of the table that Gmail shows above the original of a message.
var summaryLines = []string{"original message", "created at:", "created on:", "message id\t"}

// firstFields are the fields that begin the header of a received message.
var firstFields = []string{"delivered-to:", "received:", "return-path:", "x-original-to:",
	"x-received:", "authentication-results:"}

func cutSummary(text string) string {
	before := func(line string, list []string) bool {
		line = strings.ToLower(strings.TrimSpace(line[:min(len(line), maxMark)]) + "\t")
		return slices.ContainsFunc(list, func(begin string) bool { return strings.HasPrefix(line, begin) })
	}
	found, at, n := false, 0, 0
	for line := range strings.Lines(text) {
		switch {
		case before(line, firstFields) && found:
			return text[at:]
		case before(line, firstFields), n == maxSummary:
			return text
		case before(line, summaryLines):
			found = true
		}
		at, n = at+len(line), n+1
	}
	return text
}

// The bounds of the search for a table, in lines and in bytes of each.
const (
	maxSummary = 40
	maxMark    = 100
)

func headerLines(text string) (lines []string, rest string) {
	at := 0
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		if bare == "" && len(lines) > 0 {
			return lines, text[at:]
		}
		lines = append(lines, bare)
		at += len(line)
	}
	return lines, ""
}

func joinLines(lines []string, rest string) string {
	text := strings.Join(lines, "\n")
	if rest != "" {
		text += "\n"
	}
	return text + rest
}

// unescapeLines undoes \n, \r\n and \t where the text is a single line.
func unescapeLines(text string) string {
	if strings.Contains(strings.TrimSpace(text), "\n") || strings.Count(text, `\n`) < 2 {
		return text
	}
	text = strings.Trim(strings.TrimSpace(text), `"`)
	return strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(text)
}

// minDoubleSpaced is the number of lines with blank lines between them that counts as double spacing.
const minDoubleSpaced = 3

func singleSpace(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var kept []string
	for i, l := range lines {
		if i%2 == 1 && strings.TrimSpace(l) != "" {
			return text
		}
		if i%2 == 0 {
			kept = append(kept, l)
		}
	}
	joined := strings.Join(kept, "\n")
	if kept = slices.DeleteFunc(kept, func(l string) bool { return !isFieldLine(l) }); len(kept) < minDoubleSpaced {
		return text
	}
	return joined
}

func unquoteLines(text string) string {
	for range maxQuoteLevels {
		lines := strings.Split(text, "\n")
		quoted := 0
		for i, l := range lines {
			bare := strings.TrimLeft(strings.TrimRight(l, "\r"), " ")
			switch inner, ok := strings.CutPrefix(bare, ">"); {
			case ok && !strings.HasPrefix(inner, "From "):
				lines[i] = strings.TrimPrefix(inner, " ")
				quoted++
			case bare != "":
				return text
			}
		}
		if quoted == 0 {
			return text
		}
		text = strings.Join(lines, "\n")
	}
	return text
}

func outdent(text string) string {
	lines, rest := headerLines(strings.TrimLeft(text, "\r\n"))
	if len(lines) == 0 {
		return text
	}
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t\u00a0"))]
	for _, l := range lines {
		for !strings.HasPrefix(l, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	if indent == "" || !isFieldLine(lines[0][len(indent):]) {
		return text
	}
	for i, l := range lines {
		lines[i] = l[len(indent):]
	}
	return joinLines(lines, rest)
}

// unescapeHTML undoes the entities of a text that was copied from the source of a web page.
func unescapeHTML(text string) string {
	if strings.ContainsAny(text, "<>") || !strings.Contains(text, "&lt;") {
		return text
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&nbsp;",
		" ", "&amp;", "&").Replace(text)
}

// encodedTags are those whose values never begin with 3D, so that =3D behind them is an encoded equals sign.
// Signatures and names may begin so.
var encodedTags = []string{"v", "a", "c", "cv", "dkim", "spf", "dmarc", "arc", "charset", "version", "cipher"}

// decodeQuotedPrintable decodes a header that was copied in its encoded form.
func decodeQuotedPrintable(text string) string {
	if !isQuotedPrintable(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '=' {
			b.WriteByte(c)
			continue
		}
		rest := text[i+1:]
		switch {
		case strings.HasPrefix(rest, "?"): // an encoded word, which was not encoded again
			end := i + 1
			if w, ok := cutWord(text[i:]); ok {
				end = i + w.length
			}
			b.WriteString(text[i:end])
			i = end - 1
		case strings.HasPrefix(rest, "\n"):
			i++
		case strings.HasPrefix(rest, "\r\n"):
			i += 2
		default:
			if decoded, ok := fromHex(rest); ok {
				c = decoded
				i += 2
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isQuotedPrintable(text string) bool {
	parts := strings.Split(text, "=3D")
	return slices.ContainsFunc(parts[:len(parts)-1], func(before string) bool {
		before = before[max(0, len(before)-maxTag):]
		return slices.Contains(encodedTags, before[len(strings.TrimRightFunc(before, inTag)):])
	})
}

const maxTag = 20

func inTag(c rune) bool { return 'a' <= c && c <= 'z' || c == '.' }

// foldAgain puts white space before lines that cannot begin a field, in a text where no line is folded although
// lines are missing their beginning: web pages swallow it.
func foldAgain(text string) string {
	lines, rest := headerLines(text)
	loose, folded := 0, false
	for i, l := range lines {
		folded = folded || l != "" && (l[0] == ' ' || l[0] == '\t')
		if i > 0 && !isFieldLine(l) {
			loose++
		}
	}
	if folded || loose < 2 || len(lines) < 3 || !isFieldLine(lines[0]) || !looksFolded(lines) {
		return text
	}
	for i, l := range lines {
		if i > 0 && !isFieldLine(l) {
			lines[i] = "\t" + strings.TrimLeft(l, "\u00a0")
		}
	}
	return joinLines(lines, rest)
}

// looksFolded reports whether a loose line begins as folded fields do, rather than being text of another kind.
func looksFolded(lines []string) bool {
	begins := []string{"by ", "for ", "with ", "id ", "(", "b=", "bh=", "h=", "dkim=", "spf=", "dmarc="}
	return slices.ContainsFunc(lines, func(l string) bool {
		return slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(strings.ToLower(l), begin) })
	})
}

// isFieldLine reports whether a line begins with a name as names are in practice, and a colon.
func isFieldLine(line string) bool {
	name, _, ok := strings.Cut(line, ":")
	return ok && name != "" && !bytes.ContainsFunc([]byte(name), func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	})
}
