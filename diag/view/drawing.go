package view

// A Kind is how the rows of a drawing belong together.
type Kind string

// The kinds of drawings.
const (
	Tree  Kind = "tree"  // a row belongs to the nearest row above it with a smaller depth
	Chain Kind = "chain" // a row leads to the next one
	Table Kind = "table" // rows are alike
	Bars  Kind = "bars"  // rows are alike, and have an amount
	// Sections are rows in groups: the first cell names the group.
	Sections Kind = "sections"
)

// A Drawing shows how the parts of a report belong together. It is one list of rows whatever its kind, so that
// characters, SVG, HTML and Markdown are made from the same.
type Drawing struct {
	Kind    Kind     `json:"kind"`
	Title   string   `json:"title" doc:"what is drawn, in a few words"`
	Columns []string `json:"columns,omitempty" doc:"headings of the cells; none where the title says enough"`
	Rows    []Row    `json:"rows"`
	Full    int64    `json:"full,omitempty" doc:"amount of a bar of full length; the largest of the rows if absent"`

	of *View
}

// A Row is a node, a link, a line or a bar.
type Row struct {
	Cells  []string `json:"cells" doc:"the label, and what stands in columns behind it"`
	Depth  int      `json:"depth,omitempty" doc:"in a tree: how many levels below the root"`
	Mark   Mark     `json:"mark,omitempty" doc:"how it stands"`
	Note   string   `json:"note,omitempty" doc:"why it is marked, or what else is remarkable"`
	Amount int64    `json:"amount,omitempty" doc:"length of the bar"`
}

// A Standing is how something stands, and why.
type Standing struct {
	Mark Mark
	Note string
}

// When is the standing if so, and none if not. With cmp.Or it makes the first case that holds an expression.
func When(is bool, m Mark, note string) Standing {
	if is {
		return Standing{m, note}
	}
	return Standing{}
}

// Rows begins a drawing. It is that of the view once it has a row.
func (v *View) Rows(kind Kind, title string, columns ...string) *Drawing {
	return &Drawing{Kind: kind, Title: title, Columns: columns, of: v}
}

// Row adds a row with no mark.
func (d *Drawing) Row(cells ...string) *Row { return d.add(0, None, cells) }

// Marked adds a row with a mark and a note.
func (d *Drawing) Marked(m Mark, note string, cells ...string) { d.Node(0, m, note, cells...) }

// Stands adds a row that stands so.
func (d *Drawing) Stands(s Standing, cells ...string) { d.Marked(s.Mark, s.Note, cells...) }

// Node adds a row of a tree.
func (d *Drawing) Node(depth int, m Mark, note string, cells ...string) {
	d.add(depth, m, cells).Note = note
}

// Bar adds a row with an amount.
func (d *Drawing) Bar(amount int64, m Mark, cells ...string) {
	d.add(0, m, cells).Amount = amount
}

func (d *Drawing) add(depth int, m Mark, cells []string) *Row {
	if d.of != nil {
		d.of.Drawing = d
	}
	d.Rows = append(d.Rows, Row{Cells: cells, Depth: depth, Mark: m})
	return &d.Rows[len(d.Rows)-1]
}
