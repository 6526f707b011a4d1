package svg

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// The bounds of what is examined.
const (
	// MaxLogo is how long an image should be at most, uncompressed ("32 kilobytes": section 2.4 of the draft).
	MaxLogo = 32 << 10
	// MaxBytes is how much is read at most. Exports with a raster image inside reach some hundred kilobytes; with a
	// longer file no designer needs to know what else is wrong.
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

// A Document is what was learned about an image.
type Document struct {
	Version, BaseProfile string
	Title, Desc          string // text, with white space collapsed; cut after some hundred characters
	HasTitle             bool
	ViewBox              string
	Width, Height        string
	Box                  Box // the area that is shown; zero if unknown
	Size                 int // bytes
	// Complete says that the image was read to its end. Else a fault of the kinds [Syntax], [Encoding], [NotSVG] or
	// [Limit] tells why not, and nothing is known of what comes behind it.
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

// Square reports whether the box is as wide as it is high.
func (b Box) Square() bool { return b.Width > 0 && nearly(b.Width, b.Height) }

// Square reports whether the image is as wide as it is high.
func (d *Document) Square() bool { return d.Box.Square() && d.Counts[NotSquare] == 0 }

// nearly reports whether lengths differ by less than a hundredth, which nobody sees in a logo.
func nearly(a, b float64) bool { return a > 0 && b > 0 && max(a, b)/min(a, b) < 1.01 }

// A Fault is one departure from the profile, or from what makes a good logo.
type Fault struct {
	Kind      Kind   `json:"kind" doc:"kind of the fault"`
	Element   string `json:"element,omitempty" doc:"element concerned, as written"`
	Attribute string `json:"attribute,omitempty" doc:"attribute concerned, as written"`
	Line      int    `json:"line" min:"0" doc:"line, from 1; 0 if the fault concerns the document as a whole"`
	Column    int    `json:"column" min:"0" doc:"column in characters, from 1"`
	Message   string `json:"message" doc:"what is wrong, as a sentence"`

	offset int // in the text; below 0 if the fault concerns the whole
}

// Severity is how grave the fault is.
func (f Fault) Severity() diag.Severity { return f.Kind.Severity() }

// Compliant reports whether the image follows the profile: its schema, its ban of what is in no schema, and its size.
// An image can be compliant and yet have a fault of severity error, for the schema takes each address that a color
// refers to; see [Document.Usable].
func (d *Document) Compliant() bool {
	return !d.any(func(k Kind) bool { return k.Severity() >= diag.Error && k != ExternalValue })
}

// Usable reports whether a careful receiver can show the image: it has no fault of severity error.
func (d *Document) Usable() bool {
	return !d.any(func(k Kind) bool { return k.Severity() >= diag.Error })
}

func (d *Document) any(is func(Kind) bool) bool {
	for k := range d.Counts {
		if is(k) {
			return true
		}
	}
	return false
}

// Of returns the faults of one kind that were kept.
func (d *Document) Of(k Kind) (list []Fault) {
	for _, f := range d.Faults {
		if f.Kind == k {
			list = append(list, f)
		}
	}
	return list
}

// Forbidden lists what the image holds that the profile keeps out for safety, as words such as "script", sorted.
func (d *Document) Forbidden() []string {
	words := []string{}
	for k := range d.Counts {
		if w := k.Forbidden(); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}
