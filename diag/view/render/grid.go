package render

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/view"
)

// barWidth is how many columns the longest bar has.
const barWidth = 24

// drawing prints a drawing in characters.
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

// rows prints the first rows of a drawing under its headings.
func (p *page) rows(d *view.Drawing, rows []view.Row) {
	lines := make([][]string, 0, len(rows)+1)
	if len(d.Columns) > 0 {
		lines = append(lines, d.Columns)
	}
	prefixes := branches(d)
	most := largest(d)
	for i, r := range rows {
		cells := slices.Clone(r.Cells)
		if len(cells) > 0 {
			cells[0] = prefixes[i] + cells[0]
		}
		if d.Kind == view.Bars {
			cells = slices.Insert(cells, min(1, len(cells)), bar(r.Amount, most))
		}
		lines = append(lines, cells)
	}
	if d.Kind == view.Bars && len(d.Columns) > 0 {
		lines[0] = slices.Insert(slices.Clone(d.Columns), 1, "")
	}
	p.grid(lines, rows, len(d.Columns) > 0, d.Kind == view.Bars)
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
	for i, r := range rows {
		group := r.Cells[0]
		if i > 0 && rows[i-1].Cells[0] == group {
			group = ""
		}
		lead := p.paint(bold, group) + strings.Repeat(" ", groups-width(group)+2) + p.sign(r.Mark) + " " + Printable(r.Cells[1])
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

// grid prints lines of cells in columns. The first line may be headings; the others have the marks and notes of rows.
func (p *page) grid(lines [][]string, rows []view.Row, headed, bars bool) {
	columns, marked, noted := 0, false, false
	for _, cells := range lines {
		columns = max(columns, len(cells))
	}
	for _, r := range rows {
		marked, noted = marked || r.Mark != view.None, noted || r.Note != ""
	}
	for i := range lines {
		lines[i] = append(slices.Clone(lines[i]), make([]string, columns-len(lines[i]))...)
		switch row := i; {
		case !noted:
		case headed && i == 0:
			lines[i] = append(lines[i], "")
		default:
			if headed {
				row--
			}
			lines[i] = append(lines[i], rows[row].Note)
		}
	}
	lead := "  "
	if marked {
		lead = "    "
	}
	fixed := -1
	if bars {
		fixed = 1 // its bars, which no line breaks
	}
	widths := fit(lines, p.Width-len(lead), fixed)
	for i, cells := range lines {
		lead, paint := lead, plain
		switch {
		case headed && i == 0:
			paint = dim
		case marked && headed:
			lead = "  " + p.sign(rows[i-1].Mark) + " "
		case marked:
			lead = "  " + p.sign(rows[i].Mark) + " "
		}
		p.cells(lead, cells, widths, paint)
	}
}

// cells prints one line of a grid, in as many lines as its cells need.
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

// branchSigns are what stands before the labels of trees and chains.
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

// fit gives each column the width that it needs, or where there is less room takes from the widest that is not fixed: as
// long as that breaks no word, if it can be had.
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
