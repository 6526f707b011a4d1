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
// a table for each list.
func (p *printer) summary(r *tree) {
	p.line("")
	for i, name := range r.names {
		item := r.items[i]
		switch {
		case slices.Contains(shown, name) || item.empty() || name == "checked_at" || name == "raw":
		case item.list && slices.ContainsFunc(item.items, func(row *tree) bool { return row.object }):
			p.table(name, item.items)
		default:
			p.entry(name, item)
		}
	}
}

// entry prints one fact in one line, or wrapped behind its name.
func (p *printer) entry(name string, t *tree) {
	p.wrap("  "+p.label(name), t.inline())
}

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
		case item.empty():
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

// maxCell bounds a column, in characters, but the last.
const maxCell = 40

// table prints a list of objects: a row each, a column for each member that is short and not always empty.
func (p *printer) table(name string, rows []*tree) {
	p.heading(words(name))
	columns := columnsOf(rows)
	widths := map[string]int{}
	for _, c := range columns {
		widths[c] = utf8.RuneCountInString(words(c))
		for _, row := range rows[:min(len(rows), maxRows)] {
			widths[c] = max(widths[c], min(maxCell, utf8.RuneCountInString(cell(row, c))))
		}
	}
	line := func(of func(string) string) string {
		cells := []string{}
		for i, c := range columns {
			text := printable(of(c))
			if i < len(columns)-1 {
				text = fmt.Sprintf("%-*s", widths[c], head(text, maxCell-1))
			}
			cells = append(cells, text)
		}
		return head(strings.TrimRight(strings.Join(cells, "  "), " "), max(20, p.width-3))
	}
	p.line("  %s", p.paint(dim, line(words)))
	for _, row := range rows[:min(len(rows), maxRows)] {
		p.line("  %s", line(func(c string) string { return cell(row, c) }))
	}
	if more := len(rows) - maxRows; more > 0 {
		p.line("  %s", p.paint(dim, fmt.Sprintf("… and %d more (-v lists them)", more)))
	}
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
