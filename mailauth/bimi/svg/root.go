package svg

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

func (v *validator) rootAttributes(t token, has map[string]attr) {
	d := v.document
	d.Version, d.BaseProfile = clip(has["version"].value), clip(has["baseProfile"].value)
	d.Width, d.Height = clip(has["width"].value), clip(has["height"].value)
	if _, ok := has["version"]; !ok {
		v.add(Version, t.offset, t.name, "version", "The svg element has no version, which must be 1.2.")
	}
	if _, ok := has["baseProfile"]; !ok {
		v.add(Profile, t.offset, t.name, "baseProfile", "The svg element has no baseProfile, which must be tiny-ps.")
	}
	v.viewBox(t, has)
	width, height := v.dimension(t, has, "width"), v.dimension(t, has, "height")
	if d.Box == (Box{}) {
		d.Box = Box{Width: width, Height: height}
	}
	switch {
	case d.Box.Width > 0 && d.Box.Height > 0 && !d.Box.square():
		v.add(NotSquare, t.offset, t.name, "", "The image is %s wide and %s high.", formatNumber(d.Box.Width),
			formatNumber(d.Box.Height))
	case width > 0 && height > 0 && !nearlyEqual(width, height):
		v.add(NotSquare, t.offset, t.name, "", "The image has a width of %s and a height of %s.", d.Width, d.Height)
	}
}

// viewBox reads the view box: four numbers, of which the last two are above 0 (SVG Tiny 1.2 chapter 7).
func (v *validator) viewBox(t token, has map[string]attr) {
	a, ok := has["viewBox"]
	if !ok {
		v.add(NoViewBox, t.offset, t.name, "viewBox", "The svg element has no viewBox.")
		return
	}
	v.document.ViewBox = clip(collapse(a.value))
	r := reader{strings.Trim(a.value, white)}
	var numbers [4]float64
	for i := range numbers {
		if i > 0 {
			r.separator()
		}
		if numbers[i], ok = r.number(); !ok {
			break
		}
	}
	if !ok || r.rest != "" || numbers[2] <= 0 || numbers[3] <= 0 {
		v.add(BadViewBox, a.offset, t.name, a.name, "The viewBox is %s, not four numbers of which the last two are "+
			"above 0.", quoted(a.value))
		return
	}
	v.document.Box = Box{numbers[0], numbers[1], numbers[2], numbers[3]}
}

var perInch = map[string]float64{"": 96, "px": 96, "pt": 72, "pc": 6, "in": 1, "cm": 2.54, "mm": 25.4}

func (v *validator) dimension(t token, has map[string]attr, name string) float64 {
	a, ok := has[name]
	if !ok {
		return 0
	}
	size, unit, ok := parseLength(a.value)
	scale := perInch[strings.ToLower(unit)]
	switch {
	case !ok || size <= 0:
		v.add(Dimension, a.offset, t.name, a.name, "The %s is %s, not a length above 0.", name, quoted(a.value))
	case scale == 0:
		v.add(Dimension, a.offset, t.name, a.name, "The %s is %s, which depends on where the image is shown.", name,
			quoted(a.value))
	default:
		return size * 96 / scale
	}
	return 0
}

func (v *validator) notice(t token, o *openElement) {
	parent := ""
	if len(v.stack) == 1 {
		parent = v.top().local
	}
	switch o.local {
	case "title":
		if parent == "svg" && !v.document.HasTitle {
			v.document.HasTitle, o.text = true, new(strings.Builder)
		}
	case "desc":
		if parent == "svg" {
			o.text = new(strings.Builder)
		}
	case "text", "textArea":
		v.add(Lettering, t.offset, t.name, "", "The element %s is drawn in a font of the viewer's "+
			"device.", clip(t.name))
		v.draw(t, o)
	case "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "use":
		v.draw(t, o)
	}
}

// draw records a shape. The first one is the background of the others.
func (v *validator) draw(t token, o *openElement) {
	if !o.notDrawn && !v.hasShape {
		v.hasShape, v.hasBackground = true, v.covers(t, o)
	}
}

func (v *validator) covers(t token, o *openElement) bool {
	attrs := map[string]string{}
	for _, a := range t.attrs {
		attrs[a.name] = a.value
	}
	if o.fill == "none" || o.fill == "transparent" || attrs["fill-opacity"] == "0" {
		return false
	}
	all := v.document.Box
	if o.transformed || all.AspectRatio() == 0 {
		return true // who knows
	}
	var shape Box
	switch o.local {
	case "rect":
		shape = Box{extent(attrs["x"], 0), extent(attrs["y"], 0), extent(attrs["width"], all.Width),
			extent(attrs["height"], all.Height)}
	case "circle":
		r := extent(attrs["r"], min(all.Width, all.Height))
		shape = Box{extent(attrs["cx"], all.Width) - r, extent(attrs["cy"], all.Height) - r, 2 * r, 2 * r}
	case "path":
		shape, _ = pathBox(attrs["d"])
	case "polygon", "ellipse", "use":
		return true // who knows
	}
	const slack = 0.01 // share of the image, too small to be visible
	dx, dy := slack*all.Width, slack*all.Height
	return shape.X <= all.X+dx && shape.Y <= all.Y+dy &&
		shape.X+shape.Width >= all.X+all.Width-dx && shape.Y+shape.Height >= all.Y+all.Height-dy
}

// extent is a length of a shape in the units of the image; percentages are those of whole.
func extent(v string, whole float64) float64 {
	size, unit, _ := parseLength(v)
	if unit == "%" {
		return size * whole / 100
	}
	return size
}

// maxTitle is the recommended maximum length of a title, in characters (section 2.1 of the draft).
const maxTitle = 64

func (v *validator) finish() {
	d := v.document
	switch n := utf8.RuneCountInString(d.Title); {
	case !d.HasTitle:
		v.add(NoTitle, wholeDocument, "title", "", "The image has no title.")
	case n == 0:
		v.add(NoTitle, wholeDocument, "title", "", "The title is empty.")
	case n > maxTitle:
		v.add(LongTitle, wholeDocument, "title", "", "The title has more than %d characters.", maxTitle)
	case isPlaceholder(d.Title):
		v.add(PlaceholderTitle, wholeDocument, "title", "", "The title is %s, which says nothing about the brand.",
			quoted(d.Title))
	}
	for _, r := range v.refs {
		if !v.ids[r.id] {
			v.add(Dangling, r.offset, r.element, r.attribute, "The attribute %s of %s refers to #%s, which is not in the image.",
				clip(r.attribute), clip(r.element), clip(r.id))
		}
	}
	switch {
	case !v.hasShape:
		v.add(Blank, wholeDocument, "", "", "The image has no shape that is drawn.")
	case !v.hasBackground:
		v.add(Background, wholeDocument, "", "", "No shape covers the whole image behind the others.")
	}
}

// formatNumber writes a number as people do.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// The bounds of what is examined.
const (
	// MaxLogo is the maximum size of an image, uncompressed ("32 kilobytes": section 2.4 of the draft).
	MaxLogo = 32 << 10
	// MaxBytes bounds how much is read. Exports with an embedded raster image reach some hundred kilobytes; in a
	// longer file, further faults do not matter.
	MaxBytes = 1 << 20
	// maxDepth bounds nested elements, as libxml2 does. Real logos have less than 20.
	maxDepth = 256
	// maxNamespaces bounds the namespaces in scope, each of which is compared for each name with a prefix. Inkscape
	// declares 9.
	maxNamespaces = 64
	// maxAttrs bounds the attributes of an element. The profile knows less than 60 for any.
	maxAttrs = 500
	// maxPerKind bounds the faults of a kind that are kept. The others are counted.
	maxPerKind = 50
)

// A Document describes an image.
type Document struct {
	Version, BaseProfile string
	Title, Desc          string // text, with white space collapsed; cut after some hundred characters
	HasTitle             bool
	ViewBox              string
	Width, Height        string
	Box                  Box // the area that is shown; zero if unknown
	Size                 int // bytes
	// Complete reports whether the image was read to its end. Otherwise a fault of the kinds [Syntax], [Encoding],
	// [NotSVG] or [Limit] has the reason, and the rest of the image is unknown.
	Complete bool
	// Faults are the departures from the profile, in the order of the document. Of each kind only the first are kept.
	Faults []Fault
	// Counts tells for each kind how many faults there are, including those that are not kept.
	Counts map[Kind]int
}

// A Box is the area of an image that is shown, in its own units.
type Box struct{ X, Y, Width, Height float64 }

// AspectRatio is the width by the height; 0 if unknown.
func (b Box) AspectRatio() float64 {
	if b.Width <= 0 || b.Height <= 0 {
		return 0
	}
	return b.Width / b.Height
}

func (b Box) square() bool { return b.Width > 0 && nearlyEqual(b.Width, b.Height) }

// Square reports whether the image is as wide as it is high.
func (d *Document) Square() bool { return d.Box.square() && d.Counts[NotSquare] == 0 }

// nearlyEqual reports whether lengths differ by less than a hundredth, which is not visible in a logo.
func nearlyEqual(a, b float64) bool { return a > 0 && b > 0 && max(a, b)/min(a, b) < 1.01 }

// A Fault is one violation of the profile, or of the recommendations for logos.
type Fault struct {
	Kind      Kind   `json:"kind" doc:"kind of the fault"`
	Element   string `json:"element,omitempty" doc:"element concerned, as written"`
	Attribute string `json:"attribute,omitempty" doc:"attribute concerned, as written"`
	Line      int    `json:"line" min:"0" doc:"line, from 1; 0 if the fault concerns the document as a whole"`
	Column    int    `json:"column" min:"0" doc:"column in characters, from 1"`
	Message   string `json:"message" doc:"what is wrong, as a sentence"`

	offset int // in the text; below 0 if the fault concerns the whole
}

// Severity returns the severity of the fault.
func (f Fault) Severity() diag.Severity { return f.Kind.Severity() }

// Compliant reports whether the image follows the profile: its schema, its ban of content outside the schema, and its
// size. A compliant image can still have a fault of severity error, since the schema accepts any address that a color
// refers to.
func (d *Document) Compliant() bool {
	for k := range d.Counts {
		if k.Severity() >= diag.Error && k != ExternalValue {
			return false
		}
	}
	return true
}

// Of returns the faults of one kind that were kept.
func (d *Document) Of(k Kind) []Fault {
	return slices.DeleteFunc(slices.Clone(d.Faults), func(f Fault) bool { return f.Kind != k })
}

// Forbidden lists what the image holds that the profile keeps out for safety, as words such as "script", sorted.
func (d *Document) Forbidden() []string {
	words := []string{}
	for k := range d.Counts {
		if w := k.forbidden(); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}
