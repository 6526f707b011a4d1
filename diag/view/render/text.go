package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// Options describe the terminal, and the amount of output.
type Options struct {
	Width   int       // columns of a line; 0 means 80
	Color   bool      // use escape sequences for colors
	ASCII   bool      // use only ASCII characters
	Verbose bool      // show all rows, passed checks and details
	Quiet   bool      // show only the verdict
	Title   string    // name of the operation, after the subject
	Sign    view.Mark // replaces the mark of the view; empty keeps it
	Facts   string    // all facts of the report as text, written last if Verbose
}

// The bounds of the output by default.
const (
	maxRows   = 16 // of a drawing
	maxSteps  = 5
	maxBetter = 4
)

// Text writes a view for a terminal. Lines are wrapped to the width, not truncated; each value to publish is
// on a line of its own, so that it can be copied. Without Verbose, long lists end after their first items.
func Text(w io.Writer, v *view.View, o Options) error {
	p := newPage(o)
	p.verdict(v)
	if !o.Quiet {
		p.facts(v.Facts)
		p.drawing(v.Drawing)
		p.steps(v.Steps)
		if v.Counts == "" || p.Verbose { // a view that joins others has a line for each
			p.findings(v)
			p.better(v)
		}
		p.passed(v)
		if v.Foot != "" {
			p.line("")
			p.foot(v.Foot)
		}
		if o.Verbose && o.Facts != "" {
			p.heading("Facts")
			for line := range strings.Lines(o.Facts) {
				p.put("  ", strings.TrimRight(line, "\r\n"), plain)
			}
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// A Paragraph is a text after a lead, such as a number; further lines are indented below the text. The zero
// Paragraph is an empty line.
type Paragraph struct {
	Lead, Text string
	Strong     bool
	Literal    bool // not wrapped, so that it can be copied
}

// Paragraphs writes paragraphs for a terminal.
func Paragraphs(w io.Writer, list []Paragraph, o Options) error {
	p := newPage(o)
	for _, a := range list {
		switch {
		case a.Text == "":
			p.line("")
		case a.Literal:
			p.line(Printable(a.Lead) + p.paint(green, a.Text))
		case a.Strong:
			p.put(Printable(a.Lead), a.Text, bold)
		default:
			p.put(Printable(a.Lead), a.Text, plain)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

var signs = map[view.Mark]struct {
	sign, ascii string
	color       color
}{
	view.None: {" ", " ", plain}, view.Good: {"✔", "+", green}, view.Info: {"ℹ", "i", blue},
	view.Warning: {"▲", "!", yellow}, view.Error: {"✖", "x", red}, view.Critical: {"✖", "X", red},
	view.Unknown: {"?", "?", dim}, view.Optional: {"–", "-", dim},
}

func (p *page) sign(m view.Mark) string {
	s := signs[m]
	if p.ASCII {
		return p.paint(s.color, s.ascii)
	}
	return p.paint(s.color, s.sign)
}

func (p *page) verdict(v *view.View) {
	parts := []string{p.paint(bold, v.Subject), p.paint(dim, p.Title), Printable(outcome(v))}
	parts = slices.DeleteFunc(parts, func(s string) bool { return width(s) == 0 })
	p.put(p.sign(cmp.Or(p.Sign, v.Mark()))+" ", "", plain, strings.Join(parts, "  "))
	p.put("  ", v.Headline, bold)
	if o := p.Options; o.Quiet || len(v.Steps) == 0 || v.Steps[0].Text != v.Sub { // else it follows immediately
		p.put("  ", v.Sub, plain)
	}
}

// foot writes the first line of a text as all others are, and the rest in one line each: it can be copied.
func (p *page) foot(text string) {
	first, rest, _ := strings.Cut(text, "\n")
	p.put("", first, dim)
	for line := range strings.Lines(rest) {
		p.line(p.paint(dim, Printable(strings.TrimRight(line, "\r\n"))))
	}
}

// outcome is the state and the score of a view, and whether something is not known.
func outcome(v *view.View) string {
	score, partial := "", ""
	if v.Score != nil {
		score = fmt.Sprintf("%d/100", *v.Score)
	}
	if v.Partial {
		partial = "not everything answered"
	}
	return view.Join(v.Counts, string(v.State), score, partial)
}

// inProse is the outcome where blanks do not set its parts apart.
func inProse(v *view.View) string { return strings.ReplaceAll(outcome(v), "  ", ", ") }

func (p *page) facts(facts []view.Fact) {
	if len(facts) == 0 {
		return
	}
	p.line("")
	labels, marked := 0, false
	for _, f := range facts {
		labels, marked = max(labels, width(f.Label)), marked || f.Mark != view.None
	}
	for _, f := range facts {
		lead := "  " + p.paint(dim, f.Label) + strings.Repeat(" ", labels-width(f.Label)+2)
		if marked {
			lead += p.sign(f.Mark) + " "
		}
		p.put(lead, f.Value, plain)
	}
}

func (p *page) steps(steps []view.Step) {
	if len(steps) == 0 {
		return
	}
	p.heading("Do first")
	shown := steps
	if !p.Verbose {
		shown = steps[:min(len(steps), maxSteps)]
	}
	for i, s := range shown {
		number := fmt.Sprintf("  %d. ", i+1)
		p.put(number, s.Text, plain)
		for line := range strings.Lines(Published(s)) {
			p.line(strings.Repeat(" ", len(number)) + p.paint(green, strings.TrimRight(line, "\r\n")))
		}
		if note := s.Note(steps); note != "" {
			p.put(strings.Repeat(" ", len(number)), note, dim)
		}
	}
	p.more(len(steps)-len(shown), "step")
}

// more says that something is not shown.
func (p *page) more(n int, thing string) {
	if n > 0 {
		p.line("  " + p.paint(dim, fmt.Sprintf("… and %s more (-v)", phrase.Count(n, thing))))
	}
}

// Published returns the value of a step as it is to be published; a DNS record is a line of a zone file. It
// is empty if the step has no value.
func Published(s view.Step) string {
	if s.Value == "" {
		return ""
	}
	if s.Type == "TXT" && s.Name != "" {
		return s.Name + " IN TXT " + characterStrings(s.Value)
	}
	if s.Type != "" && s.Name != "" {
		return s.Name + " IN " + s.Type + " " + s.Value
	}
	return s.Value
}

// characterStrings quotes a text for a zone file, in strings of at most 255 bytes (RFC 1035 section 3.3).
func characterStrings(text string) string {
	var list []string
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for part := range slices.Chunk([]byte(text), 255) {
		list = append(list, `"`+quote.Replace(string(part))+`"`)
	}
	return cmp.Or(strings.Join(list, " "), `""`)
}

func (p *page) findings(v *view.View) {
	if len(v.Findings) == 0 {
		return
	}
	p.heading("Findings")
	for _, f := range v.Findings {
		p.put("  "+p.sign(view.MarkOf(f.Severity))+" ", f.Title, bold, p.paint(dim, "  "+f.Severity.String()))
		p.put("    ", DetailWithTarget(f), plain)
		p.caret("    ", v.Record, f.Location)
		p.put("    ", strings.TrimSpace(string(f.Code)+"  "+f.Reference), dim)
	}
}

// DetailWithTarget returns the detail of a finding, preceded by its target unless the detail mentions it.
func DetailWithTarget(f diag.Finding) string {
	if f.Target == "" || strings.Contains(f.Title+" "+f.Detail, f.Target) {
		return f.Detail
	}
	words := strings.Fields(strings.ReplaceAll(f.Target, ",", ""))
	untold := func(w string) bool { return !strings.Contains(f.Title+" "+f.Detail, w) }
	if len(words) > 2 || !slices.ContainsFunc(words, untold) {
		return f.Detail
	}
	return f.Target + ": " + f.Detail
}

func (p *page) better(v *view.View) {
	if len(v.Better) == 0 {
		return
	}
	p.heading("Could be better")
	shown := v.Better
	if !p.Verbose {
		shown = shown[:min(len(shown), maxBetter)]
	}
	for _, f := range shown {
		p.put("  "+p.sign(view.Info)+" ", f.Title, plain)
		if p.Verbose {
			p.put("    ", DetailWithTarget(f), plain)
			p.put("    ", f.Advice, plain)
			p.put("    ", strings.TrimSpace(string(f.Code)+"  "+f.Reference), dim)
		}
	}
	p.more(len(v.Better)-len(shown), "remark")
}

func (p *page) passed(v *view.View) {
	if len(v.Passed) == 0 {
		return
	}
	if !p.Verbose {
		p.line("")
		p.put(p.sign(view.Good)+" ", "", plain, p.paint(green, phrase.Count(len(v.Passed), "check")+" passed")+
			p.paint(dim, "  (-v lists them, and all facts)"))
		return
	}
	p.heading("Passed")
	for _, c := range v.Passed {
		p.put("  "+p.sign(view.Good)+" ", c.Label, plain, p.paint(dim, "  "+string(c.Code)))
	}
}

// caret shows the part of the record that a finding speaks of.
func (p *page) caret(indent, record string, at *diag.Location) {
	before, part, after, ok := located(record, at)
	if !ok {
		return
	}
	room := max(20, p.Width-len(indent))
	if most := room - 12; width(part) > most { // its beginning and its end, with some text around it
		part = head(part, most/2) + strings.TrimPrefix(tail(part, most/2-1), "…")
	}
	if width(before+part+after) > room { // the text around the part, as far as there is room for it
		side := max(5, (room-width(part))/2-1)
		before, after = tail(before, side), head(after, side)
	}
	p.line(indent + before + part + after)
	p.line(indent + strings.Repeat(" ", width(before)) + p.paint(yellow, strings.Repeat("^", max(1, width(part)))))
}

// located returns the part of a record that a finding is about, and the text before and after it; false without one.
func located(record string, at *diag.Location) (before, part, after string, ok bool) {
	if at == nil || at.Offset < 0 || at.Length < 0 || at.Offset > len(record) || at.Length > len(record)-at.Offset {
		return "", "", "", false
	}
	end := at.Offset + at.Length
	return Printable(record[:at.Offset]), Printable(record[at.Offset:end]), Printable(record[end:]), true
}

func head(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func tail(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n:])
	}
	return s
}

// Line returns a view as one line of a list: its sign, the label, and the outcome in brief.
func Line(label string, v *view.View, o Options) string {
	p := newPage(o)
	p.put(p.sign(v.Mark())+" "+p.paint(bold, label)+"  ", cmp.Or(v.Counts, v.Brief, v.Headline), plain)
	return p.String()
}

// Item returns a text after a lead and the sign of a mark, wrapped to the width.
func Item(lead string, m view.Mark, text string, o Options) string {
	p := newPage(o)
	if m != view.None {
		lead += p.sign(m) + " "
	}
	p.put(lead, text, plain)
	return p.String()
}
