package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRows bounds the rows of a table; -v shows all.
const maxRows = 20

// summary prints the facts of a report whose facts are the answer: what is known, one line a fact, and
// then a table for each list.
func (p *printer) summary(r *tree) {
	var tables []func()
	facts := 0
	for i, name := range r.names {
		item := r.items[i]
		switch {
		case slices.Contains(shown, name) || item.empty() || slices.Contains(incidental, name):
		case name == "codes" && item.rows():
			tables = append(tables, func() { p.codes(item.items) })
		case item.rows():
			tables = append(tables, func() { p.table(name, item.items) })
		case item.object && slices.ContainsFunc(item.items, func(part *tree) bool { return part.object }):
			tables = append(tables, func() { p.table(name, item.named()) })
		default:
			if facts++; facts == 1 {
				p.line("")
			}
			p.entry(name, item)
			for j, part := range item.items {
				if item.object && part.rows() {
					tables = append(tables, func() { p.table(name+"_"+item.names[j], part.items) })
				}
			}
		}
	}
	for _, table := range tables {
		table()
	}
}

// incidental are facts that are no answer, or that the verdict tells: -v shows them.
var incidental = []string{"checked_at", "duration_ms", "raw", "partial", "first_failure", "compliance"}

// rows reports whether a value is a list with objects in it.
func (t *tree) rows() bool {
	return t.list && slices.ContainsFunc(t.items, func(row *tree) bool { return row.object })
}

// named makes rows of the objects in an object: each has its name in the first column.
func (t *tree) named() []*tree {
	var rows []*tree
	for i, item := range t.items {
		if item.object {
			row := &tree{object: true, names: append([]string{"which"}, item.names...)}
			row.items = append([]*tree{{scalar: words(t.names[i])}}, item.items...)
			rows = append(rows, row)
		}
	}
	return rows
}

// entry prints one fact in one line, or wrapped behind its name.
func (p *printer) entry(name string, t *tree) { p.wrap("  "+p.label(name), t.inline()) }

// label is the column of names.
func (p *printer) label(name string) string {
	return fmt.Sprintf("%-22s", printable(words(name))) + " "
}

// words is the name of a field as words.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// empty reports whether there is nothing to show.
func (t *tree) empty() bool {
	if t.isScalar() {
		return t.text() == ""
	}
	return !slices.ContainsFunc(t.items, func(item *tree) bool { return !item.empty() })
}

// inline is a value in one line: the items of a list, or the members of an object, that are not empty.
func (t *tree) inline() string {
	if t.isScalar() {
		return t.text()
	}
	var parts []string
	for i, item := range t.items {
		switch {
		case item.empty() || item.rows():
		case !t.object:
			parts = append(parts, item.inline())
		case item.text() == "true":
			parts = append(parts, words(t.names[i]))
		case item.text() == "false":
		default:
			parts = append(parts, words(t.names[i])+" "+item.inline())
		}
	}
	return strings.Join(parts, ", ")
}

const (
	maxCell   = 40 // characters of a column, but the last
	leastLast = 24 // of the last, which is wrapped
	maxLines  = 8  // of a cell that is wrapped
)

// dispensable are the columns that are left out first where a table does not fit.
var dispensable = []string{"profile_id", "operator", "country", "class", "transport", "latency_ms", "from", "to",
	"address", "ad", "rcode"}

// table prints a list of objects: a row each, a column for each member that is short and not always empty,
// as many as fit.
func (p *printer) table(name string, rows []*tree) {
	p.heading(words(name))
	all := rows
	rows = rows[:min(len(rows), maxRows)]
	widths := map[string]int{}
	columns := columnsOf(rows)
	for _, c := range columns {
		widths[c] = utf8.RuneCountInString(words(c))
		for _, row := range rows {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell(row, c)))
		}
	}
	if i := slices.IndexFunc(columns, func(c string) bool { return widths[c] > maxCell }); i >= 0 {
		long := columns[i]
		columns = append(slices.Delete(columns, i, i+1), long) // the last is the one that is wrapped
	}
	for _, c := range columns {
		widths[c] = min(widths[c], maxCell)
	}
	columns = fitting(columns, widths, p.width)
	p.row(columns, widths, words, true)
	for _, row := range rows {
		p.row(columns, widths, func(c string) string { return cell(row, c) }, false)
	}
	if more := len(all) - len(rows); more > 0 {
		p.line("  %s", p.paint(dim, fmt.Sprintf("… and %d more (-v lists them)", more)))
	}
}

// fitting drops columns until the others fit into a line: first what is dispensable, then the last ones.
func fitting(columns []string, widths map[string]int, width int) []string {
	for _, drop := range append(slices.Clone(dispensable), columns...) {
		sum := 0
		for i, c := range columns {
			if i == len(columns)-1 {
				sum += min(widths[c], leastLast)
			} else {
				sum += widths[c]
			}
			sum += 2
		}
		if sum <= width || len(columns) <= 2 {
			break
		}
		if i := slices.Index(columns, drop); i > 0 && slices.Contains(dispensable, drop) {
			columns = slices.Delete(slices.Clone(columns), i, i+1)
		} else if !slices.Contains(dispensable, drop) {
			columns = columns[:len(columns)-1]
		}
	}
	return columns
}

// row prints a row of a table; the last cell is wrapped.
func (p *printer) row(columns []string, widths map[string]int, of func(string) string, title bool) {
	lead, paint := "  ", func(s string) string { return s }
	if title {
		paint = func(s string) string { return p.paint(dim, s) }
	}
	for _, c := range columns[:max(0, len(columns)-1)] {
		text := printable(of(c))
		if utf8.RuneCountInString(text) > maxCell {
			text = head(text, maxCell-1)
		}
		lead += fmt.Sprintf("%-*s", widths[c], text) + "  "
	}
	if len(columns) == 0 {
		return
	}
	indent := utf8.RuneCountInString(lead)
	lines := broken(printable(of(columns[len(columns)-1])), max(leastLast, p.width-indent))
	if len(lines) > maxLines {
		lines = append(lines[:maxLines-1], "…")
	}
	for i, line := range lines {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		p.line("%s", paint(lead+line))
	}
}

// broken breaks a text into lines of a width, at spaces where it has some.
func broken(text string, width int) []string {
	var lines []string
	runes := []rune(text)
	for len(runes) > width {
		at := width
		if i := strings.LastIndex(string(runes[:width+1]), " "); i > 0 {
			at = utf8.RuneCountInString(string(runes[:width+1])[:i])
		}
		lines = append(lines, string(runes[:at]))
		runes = []rune(strings.TrimPrefix(string(runes[at:]), " "))
	}
	return append(lines, string(runes))
}

func cell(row *tree, column string) string { return row.get(column).inline() }

// columnsOf lists the members that some row has something in. Objects within a row, such as the data of a
// record taken apart, repeat what the others say; -v shows them.
func columnsOf(rows []*tree) []string {
	var names []string
	for _, row := range rows {
		for i, name := range row.names {
			if item := row.items[i]; !item.object && !item.empty() && !slices.Contains(names, name) &&
				!slices.ContainsFunc(item.items, func(inner *tree) bool { return !inner.isScalar() }) {
				names = append(names, name)
			}
		}
	}
	return names
}
