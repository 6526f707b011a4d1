package yaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Position returns the line and the column of an offset in a text, in characters, both from 1.
func Position(text string, offset int) (line, column int) {
	before := text[:offset]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

func (p *parser) lineOf(offset int) int { return strings.Count(p.Text[:offset], "\n") + 1 }

// placeName returns an offset as people name it.
func (p *parser) placeName(offset int) string {
	line, column := Position(p.Text, offset)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// lineFrom returns the text from an offset to the end of its line.
func (p *parser) lineFrom(offset int) string {
	line, _, _ := strings.Cut(p.Text[offset:], "\n")
	return line
}

// lineBegin returns where the line of an offset begins.
func (p *parser) lineBegin(offset int) int { return strings.LastIndexByte(p.Text[:offset], '\n') + 1 }

// longestQuote bounds a text that a message shows in quotes, in bytes.
const longestQuote = 80

// quotedRest returns how to write the text from an offset to the end of the value as a string; it begins with a
// colon. It returns nothing for a text that is too long to be shown.
func (p *parser) quotedRest(offset int) string {
	text, _, _ := strings.Cut(p.lineFrom(offset), " #")
	if i := strings.IndexAny(text, ",[]{}"); i > 0 && p.flows > 0 {
		text = text[:i]
	}
	text = strings.TrimRight(text, " \t")
	if inner, ok := strings.CutPrefix(text, "“"); ok && strings.HasSuffix(inner, "”") {
		text = strings.TrimSuffix(inner, "”")
	}
	if text == "" || len(text) > longestQuote {
		return ""
	}
	return ": " + quote(text)
}

// quote returns a text of one line as a string in quotes.
func quote(text string) string {
	if isPrintable(text, false) && strings.ContainsAny(text, "\"\\") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return string(appendDoubleQuoted(nil, text))
}

// withCause returns an error whose cause is an invisible character or a template, in place of one that follows from
// it.
func (p *parser) withCause(wrong *SyntaxError) *SyntaxError {
	if p.quoting {
		return wrong
	}
	begin := p.lineBegin(wrong.Offset)
	line := p.lineFrom(begin)
	unquoted := line
	if i := strings.IndexAny(line, `"'`); i >= 0 {
		unquoted = line[:i]
	}
	at := FindInvisible(unquoted, false)
	if at >= 0 && begin+at > wrong.Offset && strings.ContainsAny(p.Text[wrong.Offset:begin+at], " \t") {
		at = -1 // it belongs to something behind the error
	}
	if at >= 0 {
		r, _ := utf8.DecodeRuneInString(unquoted[at:])
		name, remedy := InvisibleName(r)
		return &SyntaxError{begin + at, fmt.Sprintf("%s is not white space in YAML; %s", name, remedy)}
	}
	if at := template().FindStringIndex(line); at != nil && begin+at[0] <= wrong.Offset && !hasOpenQuote(line[:at[0]]) {
		return &SyntaxError{begin + at[0], p.templateCause(begin, line, at[0])}
	}
	return wrong
}

// hasOpenQuote reports whether a quote is open at the end of a text.
func hasOpenQuote(s string) bool { return strings.Count(s, `"`)%2 == 1 || strings.Count(s, "'")%2 == 1 }

var (
	template  = lazily(`\{[{%#]`)
	statement = lazily(`^\{(%|#|\{-|\{[#/^!&>]|\{\s*(if|else|end|range|with|include|define|template|block)\b)`)
)

// templateCause explains an error behind the beginning of a template in a line.
func (p *parser) templateCause(begin int, line string, at int) string {
	before := line[:at]
	if strings.Trim(before, " -") == "" && statement().MatchString(line[at:]) {
		return "this line is for a template engine, such as Jinja or Helm, and not YAML; render the template, and check " +
			"its output"
	}
	const message = "the braces of a template begin a mapping in YAML; put the value in quotes"
	if strings.ContainsAny(before, "[{") {
		return message
	}
	value := max(strings.LastIndex(before, ": ")+1, strings.LastIndex(before, "- ")+1)
	return message + p.quotedRest(begin+value+len(line[value:])-len(strings.TrimLeft(line[value:], " \t")))
}

// refuseColon refuses a key where a value is read, in a collection at column n. The value began at the offset in a
// line.
func (p *parser) refuseColon(n, begin, line int) {
	if p.line != line {
		start, advice := p.line+len(p.lineIndent(p.line)), fmt.Sprintf("to begin a key, indent it by %d", n)
		if strings.HasPrefix(p.Text[start:], "- ") {
			advice = "to begin a sequence, remove that value"
		}
		p.fail(start, "this line continues the value of line %d, because it is indented further; %s", p.lineOf(begin), advice)
	}
	before := strings.TrimRight(p.Text[p.line:begin], " \t")
	if strings.HasSuffix(before, ":") && n >= 0 {
		p.fail(p.pos, "a value with a colon and a space in it must be in quotes%s; a mapping begins on a line of its own",
			p.quotedRest(begin))
	}
	p.refuseCollection("a key with its colon")
}

// lineIndent returns the spaces that the line at an offset begins with.
func (p *parser) lineIndent(begin int) string {
	line := p.lineFrom(begin)
	return line[:len(line)-len(strings.TrimLeft(line, " "))]
}

var (
	// keyWithoutSpace matches a line that would be a key and a value, were there a space behind its colon.
	keyWithoutSpace = lazily(`^([A-Za-z_][-A-Za-z0-9_.]*|"[^"]*"|'[^']*'):([^\s\p{Z}:/\\].*)$`)
	// dashWithoutSpace matches a line that would be an item, were there a space behind its dash.
	dashWithoutSpace = lazily(`^-([^-\s\p{Z}].*)$`)
	// otherColon matches a line in which another character is in place of the colon.
	otherColon = lazily(`^([A-Za-z_][-A-Za-z0-9_.]*)\s*(?:=>?|：|﹕)\s*(\S.*)$`)
	blockMark  = lazily(`(^|[:\-?]\s+)[|>][-+0-9]*\s*(#.*)?$`)
)

// AddSpace returns the corrected form of a line that lacks a space, and whether behind its colon or dash; nothing
// for other lines.
func AddSpace(line string) (fixed, mark string) {
	if m := keyWithoutSpace().FindStringSubmatch(line); m != nil {
		return m[1] + ": " + m[2], "colon"
	}
	if m := dashWithoutSpace().FindStringSubmatch(line); m != nil {
		return "- " + m[1], "dash"
	}
	return "", ""
}

// refuseNoColon refuses a line without a colon between the keys of a mapping at the column.
func (p *parser) refuseNoColon(start, column int) {
	line := strings.TrimRight(p.lineFrom(start), " \t")
	if fixed, mark := AddSpace(line); fixed != "" {
		p.fail(start, "a space is missing after the %s; write %s", mark, brief(fixed))
	}
	if m := otherColon().FindStringSubmatch(line); m != nil {
		p.fail(start, "a colon and a space must follow a key; write %s", brief(m[1]+": "+m[2]))
	}
	above := p.lineAbove(start)
	if above >= 0 && blockMark().MatchString(p.lineFrom(above)) {
		p.fail(start, "the text of the block scalar of line %d must be indented by more than %d", p.lineOf(above),
			column)
	}
	p.fail(start, "a key was expected, but no colon follows it; write a colon and a space after the key, or indent the "+
		"line by more than %d if it continues the value above", column)
}

// Clip returns a text of at most so many bytes, or its beginning and an ellipsis.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func brief(text string) string { return Clip(text, longestQuote) }

// lineAbove returns where the last line before that of an offset begins that is neither empty nor a comment, or -1.
func (p *parser) lineAbove(offset int) int {
	for begin := p.lineBegin(offset); begin > 0; {
		begin = p.lineBegin(begin - 1)
		if line := strings.TrimLeft(p.lineFrom(begin), " \t"); line != "" && line[0] != '#' {
			return begin
		}
	}
	return -1
}

// dashAdvice returns the advice about a dash between keys: it belongs to the items above, if there are any.
func (p *parser) dashAdvice() string {
	for begin := p.lineAbove(p.pos); begin >= 0; begin = p.lineAbove(begin) {
		indent := p.lineIndent(begin)
		if strings.HasPrefix(p.lineFrom(begin)[len(indent):], "- ") && len(indent) > p.pos-p.line {
			return fmt.Sprintf("indent it by %d, as the item of line %d", len(indent), p.lineOf(begin))
		}
	}
	return "write a key without a value on the line above it, or remove the value of the key above"
}

// refuseNoDash refuses a line without a dash between the items of a sequence.
func (p *parser) refuseNoDash() {
	if fixed, mark := AddSpace(p.lineFrom(p.pos)); mark == "dash" {
		p.fail(p.pos, "a space is missing after the dash; write %s", brief(fixed))
	}
	p.fail(p.pos, "a dash was expected here, as before the other items; write one and a space, or indent the line by "+
		"%d if it belongs to the item above", p.pos-p.line+2)
}

// refuseMultilineKey refuses a key of several lines, which begins at the offset.
func (p *parser) refuseMultilineKey(begin int) {
	what := fmt.Sprintf("write a colon and a space after the key of line %d", p.lineOf(begin))
	if c := p.Text[begin]; c == '"' || c == '\'' || c == '[' || c == '{' {
		what = "write it on one line"
	} else if fixed, mark := AddSpace(p.lineFrom(begin)); fixed != "" {
		p.fail(begin, "a space is missing after the %s; write %s", mark, brief(fixed))
	}
	p.fail(begin, "a key cannot have several lines without a ? before it; %s", what)
}

// refuseAfterValue refuses text on the line of a value that is complete.
func (p *parser) refuseAfterValue() {
	switch open := p.Text[p.begun]; {
	case p.begun < p.line && (open == '"' || open == '\''):
		p.fail(p.pos, "the quote that opens in %s is closed before this text; close it where the value ends",
			p.placeName(p.begun))
	case open == '\'' && p.endsIn(open):
		p.fail(p.pos, "text follows the closing quote; write '' for an apostrophe in single quotes, or use double quotes: %s",
			p.inOtherQuotes())
	case open == '"' && p.endsIn(open):
		p.fail(p.pos, "text follows the closing quote; write \\\" for a quote in double quotes, or use single quotes: %s",
			p.inOtherQuotes())
	case p.begun >= p.line && strings.IndexByte("\"'[{*", open) >= 0:
		p.fail(p.pos, "text follows the value on its line; put the whole value in quotes%s", p.quotedRest(p.begun))
	}
	p.fail(p.pos, "unexpected text behind the value")
}

// endsIn reports whether the line of the last value ends in a quote, and so perhaps the value.
func (p *parser) endsIn(quote byte) bool {
	line := strings.TrimRight(p.lineFrom(p.begun), " \t")
	return line[len(line)-1] == quote && p.begun+len(line) > p.pos
}

// inOtherQuotes returns what is between the first and the last quote of a line in quotes of the other kind.
func (p *parser) inOtherQuotes() string {
	line := strings.TrimRight(p.lineFrom(p.begun), " \t")
	return brief(quote(line[1 : len(line)-1]))
}

// refuseIndentation refuses a line with an indentation that none of the collections has that are open above it.
func (p *parser) refuseIndentation(spaces int) {
	list := p.validIndents(p.pos)
	if len(list) == 0 {
		list = []string{"0"}
	}
	if list[0] == strconv.Itoa(spaces) {
		p.fail(p.pos, "the value above ends with its line, so this line belongs to nothing; put a value of several lines in "+
			"quotes, without comments between them")
	}
	advice := strings.Join(list, ", ")
	if i := strings.LastIndex(advice, ", "); i >= 0 {
		advice = advice[:i] + " or " + advice[i+2:]
	}
	p.fail(p.pos, "the indentation of %d fits no line before; indent the line by %s", spaces, advice)
}

// validIndents returns the indentations that a line can have, so that it belongs to a collection that is open above it.
func (p *parser) validIndents(offset int) (list []string) {
	least := len(p.Text)
	for begin := p.lineAbove(offset); begin >= 0 && least > 0 && len(list) < maxIndents; begin = p.lineAbove(begin) {
		line := p.lineFrom(begin)
		columns := []int{len(p.lineIndent(begin))} // where the line begins, and the content of items on it
		for inside := columns[0]; strings.HasPrefix(line[inside:], "- "); columns = append(columns, inside) {
			inside += 2 + len(p.lineIndent(begin+inside+2))
		}
		for _, column := range slices.Backward(columns) {
			if column < least {
				least = column
				list = append(list, strconv.Itoa(column))
			}
		}
	}
	return list
}

// maxIndents bounds the indentations that are suggested.
const maxIndents = 4
