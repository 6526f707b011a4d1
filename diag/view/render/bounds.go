package render

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// The bounds of any drawing, whoever made it: a view may have come as JSON.
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
	return diag.Map(cells[:min(len(cells), maxCells)], func(c string) string { return head(c, maxColumns) })
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
