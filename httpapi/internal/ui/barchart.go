package ui

import (
	"fmt"
	"html/template"
	"strings"
)

// A BarChart has a bar for each part of a range, stacked of one or more series, with a scale and an axis. Its numbers
// stand beside it in a table, for those who cannot see it or want to know exactly.
type BarChart struct {
	Label  string // what it shows, with its sums
	Series []Series
	Bars   []Bar
}

// A Series is one of the layers of all bars.
type Series struct {
	Title string // such as "refused"
	Class string // good, warning, error, or empty for the usual color
}

// A Bar is one of a chart.
type Bar struct {
	Title  string  // what it is of, such as "16 Nov 2026, 10:00"
	Tick   string  // its label on the axis; empty for most
	Values []int64 // of each series, the lowest layer first
}

// sum is the height of the bar.
func (b Bar) sum() (sum int64) {
	for _, n := range b.Values {
		sum += n
	}
	return sum
}

// Top is the number at the upper end of the scale: 2, 4, 6, 8 or 10 times a power of ten, so that half of it is a
// number, too.
func (c BarChart) Top() int64 {
	var most int64
	for _, bar := range c.Bars {
		most = max(most, bar.sum())
	}
	power := int64(1)
	for most > 10*power {
		power *= 10
	}
	return max(2, (most+2*power-1)/(2*power)*2) * power
}

// Half is the number in the middle of the scale.
func (c BarChart) Half() int64 { return c.Top() / 2 }

// percentOf writes a part of a whole as a length, to a tenth of a percent.
func percentOf(part, whole int64) string {
	tenths := part * 1000 / whole
	if tenths%10 == 0 {
		return fmt.Sprintf("%d%%", tenths/10)
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}

// Drawing is the content of the drawing: lines of the scale, bars with their titles, and labels of the axis.
// Lengths are percentages, so that bars have any width and texts their own size.
func (c BarChart) Drawing() template.HTML {
	var b strings.Builder
	for _, y := range []string{"0", "50%", "100%"} {
		fmt.Fprintf(&b, `<line x2="100%%" y1="%[1]s" y2="%[1]s"/>`, y)
	}
	top, n := c.Top(), int64(len(c.Bars))
	for i, bar := range c.Bars {
		left := percentOf(int64(i), n)
		fmt.Fprintf(&b, "\n<g><title>%s: %s</title>", template.HTMLEscapeString(bar.Title), c.words(bar))
		fmt.Fprintf(&b, `<rect class="hit" x="%s" width="%s" height="100%%"/>`, left, percentOf(1, n))
		var below int64
		for layer, value := range bar.Values {
			if value <= 0 {
				continue
			}
			height := max(value, top/200) // so that what is not nothing is seen
			fmt.Fprintf(&b, `<rect%s x="%s" y="%s" width="%s" height="%s"/>`, classAttr(c.Series[layer].Class),
				percentOf(int64(8*i+1), 8*n), percentOf(max(0, top-below-height), top), percentOf(6, 8*n), percentOf(height, top))
			below += height
		}
		b.WriteString("</g>")
		if bar.Tick != "" {
			fmt.Fprintf(&b, `<text x="%s" y="100%%" dy="1.3em">%s</text>`, percentOf(int64(2*i+1), 2*n),
				template.HTMLEscapeString(bar.Tick))
		}
	}
	return template.HTML(b.String()) // which is escaped
}

func classAttr(class string) string {
	if class == "" {
		return ""
	}
	return ` class="` + template.HTMLEscapeString(class) + `"`
}

// words are the values of a bar: "12 charged, 3 refused".
func (c BarChart) words(bar Bar) string {
	var list []string
	for layer, value := range bar.Values {
		if value > 0 || layer == 0 {
			list = append(list, number(value)+" "+template.HTMLEscapeString(c.Series[layer].Title))
		}
	}
	return strings.Join(list, ", ")
}
