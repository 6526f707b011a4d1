package ui

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// A reveal is a button that opens what follows it.
type reveal struct {
	Title string
	Open  bool
}

func newReveal(title string, open bool) reveal { return reveal{title, open} }

// A record is a DNS record or a file that is to be published.
type record struct{ Name, Type, Value string }

func newRecord(name, kind, value string) record { return record{name, kind, value} }

// A badge is a state in a word.
type badge struct {
	Class string // good, bad, or empty for neither
	Text  any
}

func newBadge(class string, text any) badge { return badge{class, text} }

// A table is the beginning of one that becomes a list of cards on a narrow screen. Cells name their column there by the
// attribute data-label.
type table struct {
	Columns []column
	Label   string // of one that scrolls, for keyboards and screen readers; may be empty
	Text    string // its caption; may be empty
	Name    string // a class of its own; may be empty
	Fixed   bool   // whether it stays a table on a narrow screen
}

type column struct {
	Title   string // empty for a column of buttons
	Numeric bool
	URL     string // of the list sorted by the column; may be empty
	Order   string // ascending or descending; empty if the list is not sorted by it
}

// newTable returns a table of columns. The title of one that holds numbers begins with #.
func newTable(titles ...string) table {
	var t table
	for _, title := range titles {
		name, numeric := strings.CutPrefix(title, "#")
		t.Columns = append(t.Columns, column{Title: name, Numeric: numeric})
	}
	return t
}

// Region returns the table with a label, for one that may be wider than its page.
func (t table) Region(label string) table { t.Label = label; return t }

// Sort returns the table with a heading that leads to the list sorted by its column, and its present order.
func (t table) Sort(title, url, order string) table {
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Title == title {
			c.URL, c.Order = url, order
		}
	}
	return t
}

// Caption returns the table with a caption.
func (t table) Caption(text string) table { t.Text = text; return t }

// Class returns the table with a class of its own.
func (t table) Class(name string) table { t.Name = name; return t }

// Compact returns the table as one that stays a table on a narrow screen.
func (t table) Compact() table { t.Fixed = true; return t }

// A tab is a link to one of several views of a page.
type tab struct {
	Title, URL string
	Current    bool
}

func newTab(title, url string, current bool) tab { return tab{title, url, current} }

type tabs struct {
	Label string
	Tabs  []tab
}

func newTabs(label string, list ...tab) tabs { return tabs{label, list} }

// A chart has a bar for each value.
type chart struct {
	Label  string // what it shows, with its sum or its range
	Values []int64
}

func newChart(label string, values []int64) chart { return chart{label, values} }

// The size of a chart, in units of its drawing.
const (
	barStep     = 5
	barWidth    = 4
	chartHeight = 24
)

// Box is the attribute viewBox of the drawing.
func (c chart) Box() string { return fmt.Sprintf("0 0 %d %d", len(c.Values)*barStep, chartHeight) }

// Bars returns the bars of the drawing as one path: a rectangle for each value that is not 0.
func (c chart) Bars() template.HTML {
	most := int64(1)
	if len(c.Values) > 0 {
		most = max(1, slices.Max(c.Values))
	}
	var b strings.Builder
	for i, n := range c.Values {
		if n > 0 {
			h := max(1, n*chartHeight/most)
			fmt.Fprintf(&b, "M%d %dh%dv%dh-%[3]dz", i*barStep, chartHeight-h, barWidth, h)
		}
	}
	return template.HTML(`<path d="` + b.String() + `"/>`) // which holds numbers alone
}

// A meter shows how much of a whole is used.
type meter struct {
	Percent int64
	Label   string // may be empty, next to the number itself
}

func newMeter(percent int64, label string) meter { return meter{percent, label} }
