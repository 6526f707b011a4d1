package render

import (
	"slices"

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
	b.Rows = slices.Clone(d.Rows[:min(len(d.Rows), maxDrawn)])
	b.Columns = clipped(d.Columns)
	above := -1
	for i := range b.Rows {
		r := &b.Rows[i]
		r.Depth = max(0, min(r.Depth, above+1, maxDepth))
		above = r.Depth
		r.Amount = max(0, r.Amount)
		r.Cells = clipped(r.Cells)
		if b.Kind == view.Sections {
			r.Cells = append(r.Cells, "", "", "")
			r.Cells = r.Cells[:max(3, len(r.Cells)-3)]
		}
		r.Note = head(r.Note, maxColumns)
	}
	return &b, len(d.Rows) - len(b.Rows)
}

// clipped are the first cells, none longer than a grid can show.
func clipped(cells []string) []string {
	cells = slices.Clone(cells[:min(len(cells), maxCells)])
	for i, c := range cells {
		cells[i] = head(c, maxColumns)
	}
	return cells
}

// share is an amount as a part of the most, in steps; what is not nothing has one.
func share(amount, most int64, steps int) int {
	if amount <= 0 || most <= 0 {
		return 0
	}
	return max(1, int(float64(amount)/float64(most)*float64(steps)))
}

// largest is the largest amount.
func largest(rows []view.Row) int64 {
	most := int64(0)
	for _, r := range rows {
		most = max(most, r.Amount)
	}
	return most
}
