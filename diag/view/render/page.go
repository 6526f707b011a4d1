package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/rivo/uniseg"
)

type page struct {
	strings.Builder
	Options
}

func newPage(o Options) *page {
	if o.Width <= 0 {
		o.Width = 80
	}
	return &page{Options: o}
}

type color string

// The colours. None of them ever says something that a sign or a word does not say too.
const (
	plain  color = ""
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	blue   color = "34"
	dim    color = "2"
	bold   color = "1"
)

const ends = "\x1b[0m"

// paint makes a text printable, and colours it.
func (p *page) paint(c color, text string) string {
	text = Printable(text)
	if !p.Color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + ends
}

// line ends a line. Its text is printable already.
func (p *page) line(text string) {
	text = strings.TrimRight(text, " ")
	if p.ASCII {
		text = ascii(text)
	}
	p.WriteString(text + "\n")
}

func (p *page) heading(text string) {
	p.line("")
	p.line(p.paint(bold, text))
}

// put prints a text in lines that fit: the first behind the lead, the others indented as far. The lead is printable
// already, as is what comes behind the text, in colours of its own.
func (p *page) put(lead, text string, c color, behind ...string) {
	text = Printable(text) + strings.Join(behind, "")
	if text == "" {
		return
	}
	indent := width(lead)
	for i, line := range wrapped(text, max(16, p.Width-indent)) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		if p.Color && c != plain && !strings.Contains(line, "\x1b") {
			line = "\x1b[" + string(c) + "m" + line + ends
		}
		p.line(lead + line)
	}
}

// wrapped breaks a text into lines of a width, at spaces where it has some. Blanks at its beginning stay.
func wrapped(text string, room int) []string {
	if width(text) <= room {
		return []string{text}
	}
	var lines []string
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	blank := true
	for word := range strings.FieldsSeq(text) {
		if !blank && width(line)+1+width(word) > room {
			lines, line, blank = append(lines, line), "", true
		}
		if !blank {
			line += " "
		}
		for blank && width(line+word) > room { // a word longer than a line
			part := fitting(word, room-width(line))
			lines, line, word = append(lines, line+part), "", word[len(part):]
		}
		line, blank = line+word, false
	}
	return append(lines, line)
}

// fitting is the beginning of a word that fits, one character at least.
func fitting(word string, room int) string {
	n, state := 0, -1
	for rest := word; rest != ""; {
		var cluster string
		var columns int
		cluster, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if room -= columns; room < 0 && n > 0 {
			break
		}
		n += len(cluster)
	}
	return word[:n]
}

// width is how many columns a text takes, without its colours.
func width(text string) (n int) {
	for {
		before, code, colored := strings.Cut(text, "\x1b[")
		_, after, ended := strings.Cut(code, "m")
		if !colored || !ended {
			return n + uniseg.StringWidth(text)
		}
		n += uniseg.StringWidth(before)
		text = after
	}
}

// Printable makes a stranger's text safe for a terminal: controls, format characters and separators of lines, which
// move the cursor, change colours or turn the direction of writing, are shown and not obeyed, as are bytes that are no
// UTF-8.
func Printable(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Unsafe) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case Unsafe(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printableLines makes a text of several lines printable.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(Printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// Unsafe reports whether a terminal may obey a character.
func Unsafe(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

var inASCII = strings.NewReplacer("…", "...", "–", "-", "—", "-", "·", "-", "→", "->", "├─ ", "|- ", "└─ ",
	"`- ", "│  ", "|  ",
	"█", "#", "▏", "|", "“", `"`, "”", `"`, "’", "'", "×", "x", "≥", ">=", "≤", "<=", "°", " deg")

// ascii writes what has no ASCII as its code point.
func ascii(text string) string {
	code := func(char string) string { return fmt.Sprintf("\\u%04x", []rune(char)[0]) }
	return notASCII().ReplaceAllStringFunc(inASCII.Replace(text), code)
}

var notASCII = diag.Regexp(`[^\x00-\x7f]`)
