package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// Markdown writes a view for a ticket, in GitHub Flavored Markdown: the verdict, facts, drawing, steps and
// findings. The title names the operation, and may be empty. Untrusted text cannot become markup, a link,
// mention, image or reference: anything but plain words is in code spans, where issue trackers do not
// interpret it.
func Markdown(w io.Writer, v *view.View, title string) error {
	m := &document{}
	parts := slices.DeleteFunc([]string{signs[v.Mark()].sign, title, v.Subject}, func(s string) bool { return s == "" })
	m.block("## " + prose(strings.Join(parts, " ")))
	m.block(bolded(v.Headline))
	m.block(prose(v.Sub))
	m.block(prose(inProse(v)))
	m.facts(v)
	m.drawing(v.Drawing)
	m.steps(v.Steps)
	m.findings("Findings", v.Findings, v.Record)
	m.findings("Could be better", v.Better, "")
	if n := len(v.Passed); n > 0 {
		m.block("✔ " + phrase.Count(n, "check") + " passed")
	}
	m.block(prose(strings.ReplaceAll(v.Foot, "\n", " · ")))
	_, err := io.WriteString(w, strings.TrimLeft(m.String(), "\n"))
	return err
}

type document struct{ strings.Builder }

// block adds a block, unless it is empty.
func (m *document) block(lines ...string) {
	if text := strings.Join(lines, "\n"); text != "" {
		m.WriteString("\n" + text + "\n")
	}
}

func (m *document) facts(v *view.View) {
	if len(v.Facts) == 0 {
		return
	}
	lines := []string{"| | |", "|---|---|"}
	for _, f := range v.Facts {
		value := prose(f.Value)
		if f.Value == v.Record {
			value = codeSpan(f.Value)
		}
		if s := signs[f.Mark].sign; strings.TrimSpace(s) != "" {
			value = s + " " + value
		}
		lines = append(lines, tableRow(prose(f.Label), value))
	}
	m.block(lines...)
}

// tableRow is a row of a table, whose cells are Markdown. A bar ends a cell even in a code span.
func tableRow(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// drawing adds a table as a table, and what has lines or bars as characters.
func (m *document) drawing(d *view.Drawing) {
	d, left := bounded(d)
	if d == nil {
		return
	}
	if d.Title != "" {
		m.block("### " + prose(d.Title))
	}
	if d.Kind == view.Tree || d.Kind == view.Chain || d.Kind == view.Bars {
		p := newPage(Options{Width: 100, Verbose: true})
		p.rows(d, d.Rows)
		m.block(fenced("", "text", p.String()))
	} else {
		m.table(d)
	}
	if left > 0 {
		m.block("… and " + phrase.Count(left, "row") + " more")
	}
}

func (m *document) table(d *view.Drawing) {
	most := columns(d)
	if slices.ContainsFunc(d.Rows, func(r view.Row) bool { return r.Note != "" }) {
		most++
	}
	full := func(mark string, cells []string, note string) string {
		line := filled(cells, most)
		if note != "" {
			line[most-1] = note
		}
		return tableRow(append([]string{mark}, kit.Map(line, prose)...)...)
	}
	lines := []string{full("", d.Columns, ""), "|" + strings.Repeat("---|", most+1)}
	for _, r := range d.Rows {
		lines = append(lines, full(strings.TrimSpace(signs[r.Mark].sign), r.Cells, r.Note))
	}
	m.block(lines...)
}

func (m *document) steps(steps []view.Step) {
	if len(steps) == 0 {
		return
	}
	m.block("### Do first")
	for i, s := range steps {
		number := fmt.Sprintf("%d. ", i+1)
		m.block(number + prose(s.Text))
		if s.Value != "" {
			m.block(fenced(strings.Repeat(" ", len(number)), "", Published(s)))
		}
		if note := s.Note(steps); note != "" {
			m.block(strings.Repeat(" ", len(number)) + prose(note))
		}
	}
}

func (m *document) findings(title string, findings []diag.Finding, record string) {
	if len(findings) == 0 {
		return
	}
	m.block("### " + title)
	for _, f := range findings {
		m.block("- " + signs[view.MarkOf(f.Severity)].sign + " " + bolded(f.Title) + " " + f.Severity.String())
		if detail := DetailWithTarget(f); detail != "" {
			m.block("  " + prose(detail))
		}
		if f.Severity == diag.Info && f.Advice != "" { // that of others is among the steps
			m.block("  " + prose(f.Advice))
		}
		p := newPage(Options{Width: 100})
		if p.caret("", record, f.Location); p.Len() > 0 {
			m.block(fenced("  ", "text", p.String()))
		}
		source := codeSpan(string(f.Code))
		if f.Reference != "" {
			source += " · " + prose(f.Reference)
		}
		m.block("  " + source)
	}
}

// fenced is a text as a block of code: its fence is longer than any run of backticks inside, and controls are shown.
func fenced(indent, language, text string) string {
	fence := indent + strings.Repeat("`", max(3, backticks(text)+1))
	lines := []string{fence + language}
	for line := range strings.Lines(printableLines(text)) {
		lines = append(lines, indent+strings.TrimSuffix(line, "\n"))
	}
	return strings.Join(append(lines, fence), "\n")
}

// codeSpan is a text as code within a line.
func codeSpan(text string) string {
	text = Printable(text)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	fence := strings.Repeat("`", backticks(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || text[0] == ' ' && text[len(text)-1] == ' ' {
		text = " " + text + " " // of which Markdown takes one at each end away
	}
	return fence + text + fence
}

// backticks is the length of the longest run of them.
func backticks(text string) (longest int) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}

// bolded returns a text in bold, except for its code spans.
func bolded(text string) string {
	if text = prose(text); text == "" {
		return ""
	}
	return "**" + text + "**"
}

// prose is a text with plain words as they are, and all others as code: a domain, an address, a tag, a number sign.
func prose(text string) string {
	if isValue(text) {
		return codeSpan(text)
	}
	var parts []string
	var before, code, after string // a code span that may go on, and the punctuation around it
	flush := func() {
		if code != "" {
			parts, code = append(parts, before+codeSpan(code)+after), ""
		}
	}
	for word := range strings.FieldsSeq(Printable(text)) {
		core := strings.TrimLeft(word, opening)
		first := word[:len(word)-len(core)]
		if !strings.Contains(core, "(") {
			core = strings.TrimRight(core, closing)
		}
		last := word[len(first)+len(core):]
		if strings.Contains(core, "=") && strings.HasPrefix(last, ":") { // as in rua=mailto:
			core, last = core+":", last[1:]
		}
		switch {
		case harmless(core):
			flush()
			if len(parts) == 0 && strings.Trim(core, "0123456789") == "" && last != "" {
				core += `\` // "1." would begin a list
			}
			parts = append(parts, first+core+last)
		case code != "" && first == "" && (after == "" || after == ";"):
			code, after = code+after+" "+core, last
		default:
			flush()
			before, code, after = first, core, last
		}
	}
	flush()
	return strings.Join(parts, " ")
}

// isValue reports whether a text is no sentence but a value, such as 10 mx1.example.com.: none of its words is plain,
// and some are code.
func isValue(text string) bool {
	code := false
	for word := range strings.FieldsSeq(Printable(text)) {
		core := strings.TrimRight(strings.TrimLeft(word, opening), closing)
		if !harmless(core) {
			code = true
		} else if strings.Trim(core, "0123456789") != "" || core == "" {
			return false
		}
	}
	return code
}

// Punctuation around words that means nothing to Markdown there.
const (
	opening = `("'“`
	closing = `)"'”.,:;?!`
)

// harmless reports whether a word, without the punctuation around it, is a word or a number to every tracker: no
// markup, and nothing that is made a link for its looks (a domain, @name, #1, GH-1, the hash of a commit, a /command).
func harmless(word string) bool {
	if len(word) >= 7 && strings.Trim(word, "0123456789abcdefABCDEF") == "" {
		return false
	}
	number := word != "" && isDigit(word[0]) && strings.Trim(word, "0123456789.,/-%:") == ""
	if word == "%" || number && strings.Count(word, ":") < 2 {
		return true
	}
	for i, r := range word {
		joins := strings.ContainsRune("-'/", r) && i > 0 && i < len(word)-1 && !isDigit(word[i+1])
		if r <= unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !joins {
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
