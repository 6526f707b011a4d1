package render

import (
	"crypto/sha256"
	_ "embed" // for the template and the style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/rivo/uniseg"
)

// HTMLOptions describe the page around a view.
type HTMLOptions struct {
	Title string // name of the operation, after the subject
	Level int    // level of the heading with the subject, 1 to 4; 0 means 1
	Docs  string // prefix of links to the pages of findings, such as /docs/findings/; empty means no links
	ID    string // prefix of all element ids, to put several views on one page
}

// Style is the style sheet for the output of [HTML], for light and dark mode and for print. [Page] includes
// it.
//
//go:embed style.css
var Style string

//go:embed view.html
var viewTemplate string

var functions = template.FuncMap{
	"markOf":    view.MarkOf,
	"detail":    DetailWithTarget,
	"published": Published,
	"anchor":    anchor,
	"sign":      func(m view.Mark) string { return strings.TrimSpace(signs[m].sign) },
	"short":     func(cell string) bool { return width(Printable(cell)) <= shortCell },
}

// templates has the template for each level of the first heading, parsed when it is first needed: most commands write
// no HTML.
var templates [4]struct {
	sync.Once
	*template.Template
}

// HTML writes a view as a section of a page: a heading, key facts as a list of terms, the drawing as a table, steps as
// a list, and each finding as an article whose id is its code. It needs no script; its classes are those of [Style].
func HTML(w io.Writer, v *view.View, o HTMLOptions) error { return write(w, "view", v, o) }

// Page writes a view as a complete page in one file. It loads nothing, and its content security policy
// forbids loading anything.
func Page(w io.Writer, v *view.View, o HTMLOptions) error { return write(w, "page", v, o) }

func write(w io.Writer, name string, v *view.View, o HTMLOptions) error {
	o.Level = max(1, min(o.Level, len(templates)))
	t := &templates[o.Level-1]
	t.Do(func() {
		text := viewTemplate
		for h := 3; h >= 1; h-- {
			text = strings.NewReplacer(fmt.Sprintf("<h%d", h), fmt.Sprintf("<h%d", h+o.Level-1),
				fmt.Sprintf("</h%d", h), fmt.Sprintf("</h%d", h+o.Level-1)).Replace(text)
		}
		t.Template = template.Must(template.New("").Funcs(functions).Parse(text))
	})
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, &section{HTMLOptions: o, View: v, ids: map[string]int{}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, printableLines(b.String())) // untrusted text is escaped, but may have controls
	return err
}

type section struct {
	HTMLOptions
	*view.View
	ids map[string]int
}

func (s *section) Style() template.CSS { return template.CSS(Style) }

// Policy lets a page have its style, and nothing else.
func (s *section) Policy() string {
	hash := sha256.Sum256([]byte(Style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

func (s *section) Outcome() string { return inProse(s.View) }

func (s *section) PassedCount() string { return phrase.Count(len(s.Passed), "check") + " passed" }

// Groups are the findings under their headings.
func (s *section) Groups() []group {
	all := []group{{"Findings", s.Findings}, {"Could be better", s.Better}}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.List) == 0 })
}

type group struct {
	Title string
	List  []diag.Finding
}

// Unique is the id of the next finding with a code. The second has a number behind it.
func (s *section) Unique(code diag.Code) string {
	id := s.ID + anchor(code)
	if s.ids[id]++; s.ids[id] > 1 {
		id = fmt.Sprintf("%s-%d", id, s.ids[id])
	}
	return id
}

// Located returns the text before, at and after the place of a finding in the record.
func (s *section) Located(f diag.Finding) []string {
	if before, part, after, ok := located(s.Record, f.Location); ok {
		return []string{before, part, after}
	}
	return nil
}

// anchor is a code as an id: the characters of codes alone.
func anchor(code diag.Code) string { return notInCodes().ReplaceAllString(string(code), "_") }

var notInCodes = kit.Regexp(`[^-._0-9a-z]`)

// shortCell is how long a cell may be for its words not to be broken, and to stay in one line but on small screens.
const shortCell = 26

// Drawn is the drawing as the template wants it.
func (s *section) Drawn() *drawn {
	d, left := bounded(s.Drawing)
	if d == nil {
		return nil
	}
	return &drawn{d, left, columns(d), branches(d), largest(d)}
}

type drawn struct {
	*view.Drawing
	Left     int
	columns  int
	prefixes []string
	most     int64
}

func (d *drawn) Marked() bool {
	return slices.ContainsFunc(d.Rows, func(r view.Row) bool { return r.Mark != view.None })
}

// Full are the cells of a row, as many as the longest has.
func (d *drawn) Full(cells []string) []string { return filled(cells, d.columns) }

// Share is the length of a bar in percent.
func (d *drawn) Share(r view.Row) int { return share(r.Amount, d.most, 100) }

// Lines are the classes of the lines before a label of a tree.
func (d *drawn) Lines(row int) []string {
	var list []string
	if d.Kind == view.Tree {
		for part := range slices.Chunk([]rune(d.prefixes[row]), 3) {
			list = append(list, map[rune]string{'├': "fork", '└': "last", '│': "pass"}[part[0]])
		}
	}
	return list
}

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

// The colors. All that they convey is conveyed by a sign or a word too.
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

// put prints a text in lines that fit: the first after the lead, the others indented as far. The lead is printable
// already, as is the text behind, which has its own colors.
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

// width is how many columns a text takes, without its colors.
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

// Printable makes an untrusted text safe for a terminal. Control characters, format characters and line
// separators, which could move the cursor, change colors or reverse the text direction, are escaped, as are
// bytes that are not UTF-8.
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

func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(Printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// Unsafe reports whether a terminal may interpret a character as a command.
func Unsafe(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

var inASCII = strings.NewReplacer("…", "...", "–", "-", "—", "-", "·", "-", "→", "->", "├─ ", "|- ",
	"└─ ",
	"`- ", "│  ", "|  ",
	"█", "#", "▏", "|", "“", `"`, "”", `"`, "’", "'", "×", "x", "≥", ">=", "≤", "<=", "°", " deg")

// ascii writes what has no ASCII as its code point.
func ascii(text string) string {
	code := func(char string) string { return fmt.Sprintf("\\u%04x", []rune(char)[0]) }
	return notASCII().ReplaceAllStringFunc(inASCII.Replace(text), code)
}

var notASCII = kit.Regexp(`[^\x00-\x7f]`)
