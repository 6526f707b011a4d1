package render

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
)

// barWidth is how many columns the longest bar has.
const barWidth = 24

func (p *page) drawing(d *view.Drawing) {
	d, left := bounded(d)
	if d == nil {
		return
	}
	if d.Kind == view.Sections {
		p.sections(d.Rows)
		return
	}
	p.heading(d.Title)
	rows := d.Rows
	if !p.Verbose {
		rows = rows[:min(len(rows), maxRows)]
	}
	p.rows(d, rows)
	p.more(len(d.Rows)-len(rows)+left, "row")
}

// rows prints the first rows of a drawing in columns under its headings, with their marks and notes.
func (p *page) rows(d *view.Drawing, rows []view.Row) {
	number := columns(&view.Drawing{Columns: d.Columns, Rows: rows})
	marked := slices.ContainsFunc(rows, func(r view.Row) bool { return r.Mark != view.None })
	noted := slices.ContainsFunc(rows, func(r view.Row) bool { return r.Note != "" })
	fixed := -1
	if d.Kind == view.Bars {
		fixed = 1 // its bars, which no line breaks
	}
	line := func(cells []string, bar, note string) []string {
		all := filled(cells, number)
		if d.Kind == view.Bars {
			all = slices.Insert(all, min(1, len(cells)), bar)
		}
		if noted {
			all = append(all, note)
		}
		return all
	}
	var lines [][]string
	if len(d.Columns) > 0 {
		lines = append(lines, line(d.Columns, "", ""))
	}
	headings, prefixes, most := len(lines), branches(d), largest(d)
	for i, r := range rows {
		cells := line(r.Cells, bar(r.Amount, most), r.Note)
		if len(r.Cells) > 0 {
			cells[0] = prefixes[i] + cells[0]
		}
		lines = append(lines, cells)
	}
	lead := "  "
	if marked {
		lead = "    "
	}
	widths := fit(lines, p.Width-len(lead), fixed)
	for i, cells := range lines {
		switch {
		case i < headings:
			p.cells(lead, cells, widths, dim)
		case marked:
			p.cells("  "+p.sign(rows[i-headings].Mark)+" ", cells, widths, plain)
		default:
			p.cells(lead, cells, widths, plain)
		}
	}
}

// sections prints rows in groups, each with its name before its first row: name, sign, label and text.
func (p *page) sections(rows []view.Row) {
	groups, labels := 0, 0
	for _, r := range rows {
		groups = max(groups, width(r.Cells[0]))
		if len(r.Cells[1]) <= maxLabel {
			labels = max(labels, width(r.Cells[1]))
		}
	}
	p.line("")
	for _, r := range rows {
		group := r.Cells[0]
		lead := p.paint(bold, group) + strings.Repeat(" ", groups-width(group)+2) + p.sign(r.Mark) + " " +
			Printable(r.Cells[1])
		p.put(lead+strings.Repeat(" ", max(0, labels-width(r.Cells[1]))+2), r.Cells[2], plain)
	}
}

// maxLabel is how long a label may be for which all others are indented.
const maxLabel = 14

// bar is an amount as a length; what is not nothing can be seen.
func bar(amount, most int64) string {
	if amount > 0 && amount < most/barWidth {
		return "▏"
	}
	return strings.Repeat("█", share(amount, most, barWidth))
}

// branches are the lines before the labels of a tree, and the arrows of a chain.
func branches(d *view.Drawing) []string {
	list := make([]string, len(d.Rows))
	for i, r := range d.Rows {
		switch {
		case d.Kind == view.Chain && i > 0:
			list[i] = "→ "
		case d.Kind == view.Chain:
			list[i] = "  "
		case d.Kind == view.Tree && r.Depth > 0:
			list[i] = branch(d.Rows[i:])
		}
	}
	return list
}

// branch is the line before the first of these rows: for each level whether a later row continues it.
func branch(rows []view.Row) string {
	var b strings.Builder
	for level := 1; level <= rows[0].Depth; level++ {
		continues := false
		for _, later := range rows[1:] {
			if later.Depth <= level {
				continues = later.Depth == level
				break
			}
		}
		switch last := level == rows[0].Depth; {
		case last && continues:
			b.WriteString("├─ ")
		case last:
			b.WriteString("└─ ")
		case continues:
			b.WriteString("│  ")
		default:
			b.WriteString("   ")
		}
	}
	return b.String()
}

func (p *page) cells(lead string, cells []string, widths []int, c color) {
	parts, most := make([][]string, len(cells)), 0
	for i, cell := range cells {
		parts[i] = hanging(Printable(cell), widths[i])
		most = max(most, len(parts[i]))
	}
	for n := range most {
		if n > 0 {
			lead = strings.Repeat(" ", width(lead))
		}
		line := lead
		for i, part := range parts {
			text := ""
			if n < len(part) {
				text = part[n]
			}
			line += p.paint(c, text) + strings.Repeat(" ", max(0, widths[i]-width(text))+2)
		}
		p.line(line)
	}
}

// branchSigns are the signs before the labels of trees and chains.
const branchSigns = "│├└─→ "

// hanging wraps a cell behind the lines of its tree, which go on beside it.
func hanging(cell string, room int) []string {
	label := strings.TrimLeft(cell, branchSigns)
	lead := strings.TrimSuffix(cell, label)
	if lead == "" || width(lead)+leastCell/2 > room {
		return wrapped(cell, room)
	}
	lines := wrapped(label, room-width(lead))
	for i, line := range lines {
		lines[i] = lead + line
		if i == 0 {
			lead = strings.NewReplacer("├─", "│ ", "└─", "  ", "→", " ").Replace(lead)
		}
	}
	return lines
}

// leastCell is how narrow a column becomes at most, and longWord how long a word may be that is better not broken.
const leastCell, longWord = 8, 32

// fit gives each column the width that it needs, or where there is less room takes from the widest that is not fixed:
// as long as that breaks no word, if it can be had.
func fit(lines [][]string, room, fixed int) []int {
	widths, least := make([]int, len(lines[0])), make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			cell = Printable(cell)
			widths[i] = max(widths[i], width(cell))
			lead := width(cell) - width(strings.TrimLeft(cell, branchSigns))
			for word := range strings.FieldsSeq(cell) {
				least[i] = max(least[i], min(lead+width(word), longWord))
			}
		}
	}
	room -= 2 * (len(widths) - 1)
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if i != fixed && (w > widths[widest] || widest == fixed) {
				widest = i
			}
		}
		if sum <= room || widths[widest] <= leastCell {
			return widths
		}
		for i, w := range widths {
			if i != fixed && w > max(leastCell, least[i]) && (widths[widest] <= least[widest] || w > widths[widest]) {
				widest = i
			}
		}
		widths[widest]--
	}
}

// The bounds of any drawing, from any source: a view may be decoded from JSON.
const (
	maxDrawn   = 2000 // rows
	maxCells   = 12   // in a row
	maxDepth   = 40
	maxColumns = 4000 // of a cell: what is longer, no grid can show
)

// bounded is a drawing that any renderer can draw: some rows, levels that follow each other, no negative amounts. It is
// nil where there is nothing to draw. The number is that of the rows left out.
func bounded(d *view.Drawing) (*view.Drawing, int) {
	if d == nil || len(d.Rows) == 0 {
		return nil, 0
	}
	b := *d
	b.Columns, b.Rows = clipped(d.Columns), slices.Clone(d.Rows[:min(len(d.Rows), maxDrawn)])
	above, group := -1, ""
	for i := range b.Rows {
		r := &b.Rows[i]
		r.Depth = max(0, min(r.Depth, above+1, maxDepth))
		above = r.Depth
		r.Amount = max(0, r.Amount)
		r.Cells = clipped(r.Cells)
		r.Note = head(r.Note, maxColumns)
		if b.Kind == view.Sections {
			r.Cells = filled(r.Cells, 3)
			if r.Cells[0] == group {
				r.Cells[0] = ""
			} else {
				group = r.Cells[0]
			}
		}
	}
	return &b, len(d.Rows) - len(b.Rows)
}

// clipped are the first cells, none longer than a grid can show.
func clipped(cells []string) []string {
	return kit.Map(cells[:min(len(cells), maxCells)], func(c string) string { return head(c, maxColumns) })
}

// columns is how many cells the longest row has.
func columns(d *view.Drawing) int {
	most := len(d.Columns)
	for _, r := range d.Rows {
		most = max(most, len(r.Cells))
	}
	return most
}

// filled are cells, with empty ones behind them up to a number.
func filled(cells []string, number int) []string {
	return slices.Concat(cells, make([]string, max(0, number-len(cells))))
}

// share is an amount as a part of the most, in steps; what is not nothing has one.
func share(amount, most int64, steps int) int {
	if amount <= 0 || most <= 0 {
		return 0
	}
	return max(1, int(float64(amount)/float64(most)*float64(steps)))
}

// largest is the amount of a bar of full length.
func largest(d *view.Drawing) int64 {
	most := d.Full
	for _, r := range d.Rows {
		most = max(most, r.Amount)
	}
	return most
}
