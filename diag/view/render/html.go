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

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// HTMLOptions say where a view is to stand.
type HTMLOptions struct {
	Title string // name of the operation, behind the subject
	Level int    // of the heading with the subject, 1 to 4; 0 stands for 1
	Docs  string // page whose anchors are the codes of findings, such as /docs/spf/lookup; "" where there is none
	ID    string // before all ids, so that several views can be on a page
	Lang  string // of a page; "" stands for en
}

// Style is the style sheet of what [HTML] writes, for light and dark and print. [Page] has it inside.
//
//go:embed style.css
var Style string

//go:embed view.html
var viewTemplate string

// templates has the template for each level of the first heading, parsed when it is first needed: most commands write no HTML.
var templates [4]struct {
	sync.Once
	*template.Template
}

func templateFor(level int) *template.Template {
	t := &templates[level-1]
	t.Do(func() {
		text := viewTemplate
		for h := 3; h >= 1; h-- {
			text = strings.NewReplacer(fmt.Sprintf("<h%d", h), fmt.Sprintf("<h%d", h+level-1),
				fmt.Sprintf("</h%d", h), fmt.Sprintf("</h%d", h+level-1)).Replace(text)
		}
		t.Template = template.Must(template.New("").Parse(text))
	})
	return t.Template
}

// HTML writes a view as a section of a page: a heading, key facts as a list of terms, the drawing as a table, steps as a
// list, and each finding as an article whose id is its code. It needs no script; its classes are those of [Style].
func HTML(w io.Writer, v *view.View, o HTMLOptions) error {
	s := newSection(v, o)
	return templateFor(s.Level).ExecuteTemplate(w, "view", s)
}

// Page writes a view as a whole page in one file. It asks nobody for anything, and its policy forbids it to.
func Page(w io.Writer, v *view.View, o HTMLOptions) error {
	if o.Lang == "" {
		o.Lang = "en"
	}
	hash, s := sha256.Sum256([]byte(Style)), newSection(v, o)
	return templateFor(s.Level).ExecuteTemplate(w, "page", struct {
		*section
		Style  template.CSS
		Policy string
	}{s, template.CSS(Style), "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'"})
}

// section is a view as the template wants it: all of its texts are printable.
type section struct {
	HTMLOptions
	Subject, Outcome, Headline, Sub, Foot string
	Mark                                  Sign
	Facts                                 []htmlFact
	Drawing                               *htmlDrawing
	Steps                                 []htmlStep
	Findings, Better                      []htmlFinding
	Passed                                []string
	PassedCount                           string
}

// Sign is a mark as the template shows it.
type Sign struct{ Class, Sign string }

type htmlFact struct {
	Label, Value, Anchor string
	Mark                 Sign
}

type htmlStep struct{ Text, Value string }

type htmlFinding struct {
	ID, Code, Docs, Title, Severity, Told, Advice, Reference, Before, Part, After string
	Mark                                                                          Sign
}

type htmlDrawing struct {
	Kind, Title, More string
	Columns           []htmlCell
	Rows              []htmlRow
	Marked            bool
}

type htmlRow struct {
	Mark     Sign
	Branches []string // of a tree: classes of the lines before the label
	Cells    []htmlCell
	Note     string
	Share    int // of a bar, in percent
}

// htmlCell is a cell, which is kept in one line if it is short.
type htmlCell struct {
	Text  string
	Short bool
}

func sign(m view.Mark) Sign {
	if s := strings.TrimSpace(signs[m].sign); s != "" {
		return Sign{string(m), s}
	}
	return Sign{}
}

func newSection(v *view.View, o HTMLOptions) *section {
	o.Level = max(1, min(o.Level, 4))
	s := &section{HTMLOptions: o, Subject: Printable(v.Subject), Outcome: Printable(outcome(v)), Headline: Printable(v.Headline),
		Sub: Printable(v.Sub), Mark: sign(v.Mark()), PassedCount: diag.Count(len(v.Passed), "check") + " passed"}
	ids := map[string]int{}
	s.Findings, s.Better = s.findings(v.Findings, v.Record, ids), s.findings(v.Better, v.Record, ids)
	for _, f := range v.Facts {
		fact := htmlFact{Label: Printable(f.Label), Value: Printable(f.Value), Mark: sign(f.Mark)}
		if id := o.ID + anchor(f.Code); f.Code != "" && ids[id] > 0 {
			fact.Anchor = id
		}
		s.Facts = append(s.Facts, fact)
	}
	s.Drawing = newDrawing(v.Drawing)
	for _, step := range v.Steps {
		s.Steps = append(s.Steps, htmlStep{Printable(step.Text), printableLines(Published(step))})
	}
	for _, c := range v.Passed {
		s.Passed = append(s.Passed, Printable(c.Label))
	}
	return s
}

// findings are those of a view. The second of a code has a number behind its id.
func (s *section) findings(list []diag.Finding, record string, ids map[string]int) []htmlFinding {
	var all []htmlFinding
	for _, f := range list {
		h := htmlFinding{ID: s.ID + anchor(f.Code), Code: Printable(string(f.Code)), Title: Printable(f.Title), Severity: f.Severity.String(),
			Told: Printable(Told(f)), Reference: Printable(f.Reference), Mark: sign(view.MarkOf(f.Severity))}
		if ids[h.ID]++; ids[h.ID] > 1 {
			h.ID = fmt.Sprintf("%s-%d", h.ID, ids[h.ID])
		}
		if f.Severity == diag.Info { // that of others is among the steps
			h.Advice = Printable(f.Advice)
		}
		if s.Docs != "" {
			h.Docs = s.Docs + "#" + anchor(f.Code)
		}
		if b, p, a, ok := located(record, f.Location); ok {
			h.Before, h.Part, h.After = b, p, a
		}
		all = append(all, h)
	}
	return all
}

// anchor is a code as an id: the characters of codes alone.
func anchor(code diag.Code) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, string(code))
}

func printableLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, Printable(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(lines, "\n")
}

// shortCell is how long a cell may be for its words not to be broken, and to stay in one line but on small screens.
const shortCell = 20

func newDrawing(d *view.Drawing) *htmlDrawing {
	d, left := bounded(d)
	if d == nil {
		return nil
	}
	h := &htmlDrawing{Kind: anchor(diag.Code(d.Kind)), Title: Printable(d.Title)}
	if left > 0 {
		h.More = "… and " + diag.Count(left, "row") + " more"
	}
	columns := len(d.Columns)
	for _, r := range d.Rows {
		columns = max(columns, len(r.Cells))
	}
	cells := func(list []string) []htmlCell {
		all := make([]htmlCell, columns)
		for i, c := range list {
			all[i] = htmlCell{Printable(c), width(Printable(c)) <= shortCell}
		}
		return all
	}
	if len(d.Columns) > 0 {
		h.Columns = cells(d.Columns)
	}
	prefixes, most := branches(d), largest(d.Rows)
	for i, r := range d.Rows {
		row := htmlRow{Mark: sign(r.Mark), Cells: cells(r.Cells), Note: Printable(r.Note), Share: share(r.Amount, most, 100)}
		if d.Kind == view.Tree {
			row.Branches = lines(prefixes[i])
		}
		h.Marked = h.Marked || row.Mark != Sign{}
		h.Rows = append(h.Rows, row)
	}
	return h
}

// lines are the classes of the lines of a tree.
func lines(prefix string) []string {
	var list []string
	for part := range slices.Chunk([]rune(prefix), 3) {
		list = append(list, map[rune]string{'├': "fork", '└': "last", '│': "pass"}[part[0]])
	}
	return list
}
