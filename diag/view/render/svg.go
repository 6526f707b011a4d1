package render

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// Sizes in a picture. A column is a bit wider than the characters of monospace fonts at this size (0.6 em), so that
// cells do not touch whatever font there is.
const (
	svgFont   = 13
	svgColumn = 8
	svgLine   = 20
	svgPad    = 16
	svgWidth  = 100 // columns of text before cells are wrapped
	svgIndent = 2   // columns of a level of a tree
	svgGap    = 2   // columns between cells
	svgBar    = 24  // columns of the longest bar
	svgArrow  = 12  // room for it between the links of a chain
)

// svgStyle has both palettes: each color has a contrast of 4.5 to its background.
const svgStyle = `svg{--fg:#1f2328;--bg:#fff;--dim:#59636e;--line:#8c959f;--good:#116329;--info:#0550ae;--warning:#7d4e00;--error:#b3151c}
@media(prefers-color-scheme:dark){svg{--fg:#e6edf3;--bg:#0d1117;--dim:#9aa4ae;--line:#6e7681;--good:#56d364;--info:#79c0ff;--warning:#e3b341;--error:#ff8b83}}
text{fill:var(--fg)}.bg{fill:var(--bg)}.dim{fill:var(--dim)}.line{stroke:var(--line);fill:none}.tip,.bar{fill:var(--line)}
.good{fill:var(--good)}.info{fill:var(--info)}.warning{fill:var(--warning)}.error,.critical{fill:var(--error)}
.unknown,.optional{fill:var(--dim)}.heading{font-weight:bold}
`

// SVG writes a drawing as a self-contained image. It follows the reader's choice of light or dark mode, loads
// nothing, and has its contents as text. A drawing without rows gives an image that says so. If title is
// empty, it is that of the drawing.
func SVG(w io.Writer, d *view.Drawing, title string) error {
	drawn, left := bounded(d)
	if drawn == nil {
		drawn = &view.Drawing{}
	}
	title = cmp.Or(title, drawn.Title, "Nothing to draw")
	p := &picture{Drawing: drawn, most: largest(drawn), y: svgPad}
	p.arrange()
	p.texts(0, wrapped(Printable(title), svgWidth), "heading")
	if len(drawn.Columns) > 0 {
		p.y += svgLine / 4
		p.row(drawn.Columns, 0, "dim")
	}
	for i := range drawn.Rows {
		p.link(i)
	}
	if left > 0 {
		p.texts(0, []string{"… and " + phrase.Count(left, "row") + " more"}, "dim")
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" `+
		`width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="%[3]d">`+"\n"+
		`<title id="t">%[4]s</title><desc id="d">%[5]s</desc>`+"\n<style>%[6]s</style>\n"+
		`<rect class="bg" width="100%%" height="100%%" rx="8"/>`+"\n%[7]s</svg>\n",
		p.right+svgPad, p.y+svgPad, svgFont, escaped(title), escaped(inWords(drawn)), svgStyle, p.String())
	return err
}

type picture struct {
	strings.Builder
	*view.Drawing
	most   int64
	lead   int   // columns before the first cell
	widths []int // of the cells, in columns
	notes  int   // columns of the notes
	y      int   // where the next line begins
	right  int   // where the widest line ends
	nodes  []int // y of the last node at each depth
}

// arrange gives the columns their widths. The last of them is that of the notes.
func (p *picture) arrange() {
	room := svgWidth
	p.notes = columns(p.Drawing)
	lines := [][]string{filled(p.Columns, p.notes+1)}
	for _, r := range p.Rows {
		cells := append(filled(r.Cells, p.notes), r.Note)
		cells[0] = strings.Repeat(" ", p.indent(r)) + cells[0]
		if r.Mark != view.None || p.Kind == view.Chain {
			p.lead = 3
		}
		lines = append(lines, cells)
	}
	if p.Kind == view.Bars {
		room -= svgBar + svgGap
	}
	p.widths = fit(lines, room-p.lead, -1)
}

// indent is how many columns a label is indented.
func (p *picture) indent(r view.Row) int {
	if p.Kind != view.Tree {
		return 0
	}
	return r.Depth * svgIndent
}

// x is where a cell begins, in pixels.
func (p *picture) x(cell int) int {
	columns := p.lead
	for i := range cell {
		columns += p.widths[i] + svgGap
		if i == 0 && p.Kind == view.Bars {
			columns += svgBar + svgGap
		}
	}
	return svgPad + columns*svgColumn
}

// link draws a row and what ties it to others.
func (p *picture) link(i int) {
	r := p.Rows[i]
	x, middle := svgPad+svgColumn/2, p.y+svgLine/2
	switch p.Kind {
	case view.Chain:
		if i > 0 {
			p.y += svgArrow
			middle += svgArrow
			p.path("line", "M%d %dV%d", x, p.nodes[0]+9, middle-14)
			p.path("tip", "M%d %dl-4 -6h8z", x, middle-9)
		}
		if r.Mark == view.None {
			fmt.Fprintf(p, `<circle class="tip" cx="%d" cy="%d" r="3"/>`+"\n", x, middle)
		}
		p.nodes = []int{middle}
	case view.Tree:
		p.nodes = append(p.nodes[:min(r.Depth, len(p.nodes))], middle)
		if r.Depth > 0 && len(p.nodes) > 1 {
			up := p.x(0) + (r.Depth-1)*svgIndent*svgColumn + 3
			p.path("line", "M%d %dV%dH%d", up, p.nodes[len(p.nodes)-2]+8, middle, up+svgIndent*svgColumn-6)
		}
	case view.Bars:
		fmt.Fprintf(p, `<rect class="bar" x="%d" y="%d" width="%d" height="12" rx="2"/>`+"\n",
			p.x(1)-(svgBar+svgGap)*svgColumn, middle-6, 2*share(r.Amount, p.most, svgBar*svgColumn/2))
	}
	if r.Mark != view.None {
		p.text(svgPad, p.y, signs[r.Mark].sign, string(r.Mark))
	}
	p.row(append(filled(r.Cells, p.notes), r.Note), p.indent(r), "")
}

// row writes the cells of a line, the first of them indented.
func (p *picture) row(cells []string, indent int, class string) {
	top, bottom := p.y, p.y+svgLine
	for i, cell := range cells {
		p.y = top
		if i > 0 {
			indent = 0
		}
		kind := class
		if i == p.notes {
			kind = "dim"
		}
		p.texts(p.x(i)-svgPad+indent*svgColumn, wrapped(Printable(cell), max(leastCell, p.widths[i]-indent)), kind)
		bottom = max(bottom, p.y)
	}
	p.y = bottom
}

func (p *picture) texts(x int, lines []string, class string) {
	for _, line := range lines {
		p.text(svgPad+x, p.y, line, class)
		p.y += svgLine
	}
}

func (p *picture) text(x, y int, text, class string) {
	p.right = max(p.right, x+width(text)*svgColumn)
	if strings.TrimSpace(text) == "" {
		return
	}
	if class != "" {
		class = ` class="` + escaped(class) + `"`
	}
	fmt.Fprintf(p, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y+svgLine*7/10, class, escaped(text))
}

func (p *picture) path(class, format string, args ...any) {
	fmt.Fprintf(p, `<path class="%s" d="%s"/>`+"\n", class, fmt.Sprintf(format, args...))
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(Printable(text))) // a Builder takes everything
	return b.String()
}

// inWords describes the first rows of a drawing as alternative text.
func inWords(d *view.Drawing) string {
	var lines []string
	for _, r := range d.Rows[:min(len(d.Rows), 40)] {
		words := view.Join(slices.Concat(r.Cells, []string{string(r.Mark), r.Note})...)
		lines = append(lines, strings.Repeat("> ", r.Depth)+words)
	}
	return strings.Join(lines, "; ")
}
