package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
)

// The parts of a report that are not repeated among the facts.
var shown = []string{"state", "score", "score_band", "verdict_headline", "verdict_sub", "score_factors",
	"score_breakdown", "recommendations", "passed_checks", "findings"}

// maxRecommendations is how many things to do are listed; the rest stands with the findings.
const maxRecommendations = 3

// render writes a report for people: the verdict, what to do first, the findings, the facts. The facts
// of a report with a verdict are what the verdict rests on, and follow on demand.
func (a *app) render(w io.Writer, ep httpapi.Endpoint, r *tree) {
	p := &printer{w: w, color: a.colored(), width: a.width()}
	p.verdict(ep, r)
	if a.quiet {
		return
	}
	if record := r.get("record").text(); record != "" {
		p.line("")
		p.wrap("  ", record)
	}
	p.conclusion(r.get("conclusion"))
	p.hops(r)
	if sections := r.sections(""); len(sections) > 0 {
		p.line("")
		for _, one := range sections {
			p.outcome(words(one.name), one.report)
		}
	}
	p.advice(r)
	p.findings(r)
	if passed := r.get("passed_checks"); len(passed.items) > 0 {
		if a.verbose {
			p.heading("Passed")
			for _, c := range passed.items {
				p.line("  %s  %s  %s", p.paint(green, "✔ pass"), c.get("label").text(), p.paint(dim, c.get("code").text()))
			}
		} else {
			p.line("\n%s", p.paint(green, "✔ "+count(len(passed.items), "check")+" passed")+" (-v lists them, and all facts)")
		}
	}
	switch {
	case a.verbose:
		p.heading("Facts")
		for i, name := range r.names {
			if !slices.Contains(shown, name) {
				p.fact(name, r.items[i], 1)
			}
		}
	case r.get("state").text() == "":
		p.summary(r)
	}
}

// colored reports whether colour is wanted (https://no-color.org).
func (a *app) colored() bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.terminal && a.output == "" && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

type color string

// The colours. None of them ever says something that a word does not say too.
const (
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	blue   color = "34"
	dim    color = "2"
	bold   color = "1"
)

type printer struct {
	w     io.Writer
	color bool
	width int // columns of a line
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (p *printer) paint(c color, text string) string {
	text = printable(text)
	if !p.color {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// wrap prints a text in lines that fit: the first behind the lead, the others indented as far.
func (p *printer) wrap(lead, text string) {
	line, words := lead, 0
	for _, word := range strings.Fields(printable(text)) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width {
			p.line("%s", line)
			line, words = strings.Repeat(" ", utf8.RuneCountInString(lead)), 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	if words > 0 {
		p.line("%s", line)
	}
}

func (p *printer) heading(text string) { p.line("\n%s", p.paint(bold, text)) }

// printable makes a stranger's text safe for a terminal: control and format characters are shown, not obeyed.
func printable(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unsafeRune reports characters that move the cursor, change colours or turn the direction of
// writing: controls (also those above 127), formats, and the separators of lines and paragraphs.
func unsafeRune(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// printableJSON is JSON with the same meaning, safe for a terminal. JSON itself lets the controls
// above 127 and formats stand as they are.
func printableJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		if r == '\n' || !unsafeRune(r) { // a line's end can stand only between values
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, "\\u%04x", unit)
		}
	}
	return b
}

// marks pairs each severity and state with a sign and a colour.
var marks = map[string]struct {
	sign  string
	color color
}{
	"done":     {"✔", green},
	"critical": {"✖", red}, "error": {"✖", red}, "warning": {"▲", yellow}, "info": {"ℹ", blue},
	"valid": {"✔", green}, "invalid": {"✖", red}, "missing": {"✖", red}, "unknown": {"?", dim}, "optional": {"–", dim},
}

func (p *printer) mark(word string) string {
	m := marks[word]
	return p.paint(m.color, m.sign+" "+word)
}

// outcome is the state of a report in a word. Reports without a state of their own are judged by
// their findings, and by whether there was anything.
func outcome(r *tree) string {
	if state := r.get("state").text(); state != "" {
		return state
	}
	is := func(name, value string) bool { return r.get(name).text() == value }
	switch worst := r.worst(); {
	case worst >= diag.Error:
		return string(diag.Bad)
	case worst == diag.Warning:
		return string(diag.Warned)
	case is("valid", "false"), is("status", "error"):
		return string(diag.Bad)
	case is("found", "false"):
		return string(diag.Missing)
	case is("partial", "true"):
		return string(diag.Unknown)
	}
	return "done"
}

func (p *printer) verdict(ep httpapi.Endpoint, r *tree) {
	parts := []string{p.mark(outcome(r)), ep.Name()}
	for _, name := range []string{"domain", "qname", "ip", "host", "url", "input"} {
		if subject := r.get(name).text(); subject != "" {
			parts = append(parts, p.paint(bold, subject))
			break
		}
	}
	if band := r.get("score_band").text(); band != "" && band != string(diag.Undetermined) {
		parts = append(parts, p.paint(bold, r.get("score").text()+"/100 "+band))
	}
	if r.get("partial").text() == "true" {
		parts = append(parts, "(partial: not everything answered)")
	}
	p.line("%s", strings.Join(parts, "  "))
	for _, name := range []string{"verdict_headline", "verdict_sub"} {
		if text := r.get(name).text(); text != "" {
			p.wrap("  ", text)
		}
	}
}

// conclusion says why a report concludes what it does, if it has reasons.
func (p *printer) conclusion(c *tree) {
	reasons := c.get("reasons")
	if len(reasons.items) == 0 {
		return
	}
	p.heading("Authentic: " + c.get("authentic").text())
	for _, reason := range reasons.items {
		p.wrap("  - ", reason.text())
	}
}

// advice lists what to do first: the recommendations, or where a report has none the advice of its gravest findings.
func (p *printer) advice(r *tree) {
	n, told := 0, map[string]bool{}
	do := func(text, value string) {
		if text == "" || n == maxRecommendations || told[text+value] {
			return
		}
		told[text+value] = true
		if n++; n == 1 {
			p.heading("Do first")
		}
		p.wrap(fmt.Sprintf("  %d. ", n), text)
		for line := range strings.Lines(value) {
			p.line("     %s", p.paint(green, strings.TrimRight(line, "\r\n")))
		}
	}
	for _, rec := range r.get("recommendations").items {
		do(rec.get("detail").text(), rec.get("suggested_value").text())
	}
	if n > 0 {
		return
	}
	for _, f := range r.findings() {
		do(f.get("advice").text(), "")
	}
}

// findings lists the findings of a report: the fault, what was seen and where, and the code.
func (p *printer) findings(r *tree) {
	list := r.findings()
	if len(list) == 0 {
		return
	}
	p.heading("Findings")
	for _, f := range list {
		title, detail := f.get("title").text(), f.get("detail").text()
		if target := f.get("target").text(); !mentions(title+" "+detail, target) {
			detail = target + ": " + detail
		}
		p.line("  %s  %s", p.mark(f.get("severity").text()), p.paint(bold, title))
		p.wrap("      ", detail)
		p.caret("      ", r.get("record").text(), f.get("location"))
		p.line("      %s", p.paint(dim, strings.TrimRight(f.get("code").text()+"  "+f.get("reference").text(), " ")))
	}
}

// mentions reports whether a text has all words of a target, such as a name server and its address, or as many
// as make a target of many clear.
func mentions(text, target string) bool {
	if strings.Contains(text, target) {
		return true
	}
	words := strings.Fields(strings.ReplaceAll(target, ",", ""))
	return len(words) <= 2 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// count is a number with what is counted.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// caret shows the part of the record that a finding speaks of.
func (p *printer) caret(indent, record string, location *tree) {
	offset, err := strconv.Atoi(location.get("offset").text())
	length, err2 := strconv.Atoi(location.get("length").text())
	if err != nil || err2 != nil || offset < 0 || length < 0 || offset+length > len(record) {
		return
	}
	before, part, after := record[:offset], record[offset:offset+length], record[offset+length:]
	room := max(20, p.width-len(indent)-2)
	if utf8.RuneCountInString(record) > room { // what stands around the part, as far as there is room for it
		side := max(5, (room-utf8.RuneCountInString(part))/2)
		before, after = tail(before, side), head(after, side)
	}
	before, part = printable(before), printable(part)
	p.line("%s%s%s%s", indent, before, part, printable(after))
	p.line("%s%s%s", indent, strings.Repeat(" ", utf8.RuneCountInString(before)),
		p.paint(yellow, strings.Repeat("^", max(1, utf8.RuneCountInString(part)))))
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

// fact prints a member of the report, indented by its depth.
func (p *printer) fact(name string, t *tree, depth int) {
	name = printable(name) // some are a stranger's, such as names of headers
	indent := strings.Repeat("  ", depth)
	switch {
	case strings.Contains(t.text(), "\n"):
		p.line("%s%s", indent, name)
		for line := range strings.Lines(t.text()) {
			p.line("%s  %s", indent, printable(strings.TrimRight(line, "\r\n")))
		}
	case t.isScalar():
		p.line("%s%-*s  %s", indent, max(0, 26-2*depth), name, printable(t.text()))
	case len(t.items) == 0:
		p.line("%s%-*s  %s", indent, max(0, 26-2*depth), name, p.paint(dim, "–"))
	case t.list && !slices.ContainsFunc(t.items, func(i *tree) bool { return !i.isScalar() }):
		for i, item := range t.items {
			label := name
			if i > 0 {
				label = ""
			}
			p.line("%s%-*s  %s", indent, max(0, 26-2*depth), label, printable(item.text()))
		}
	case t.list:
		for i, item := range t.items {
			p.fact(fmt.Sprintf("%s %d", name, i+1), item, depth)
		}
	default:
		p.line("%s%s", indent, name)
		for i, item := range t.items {
			p.fact(t.names[i], item, depth+1)
		}
	}
}
