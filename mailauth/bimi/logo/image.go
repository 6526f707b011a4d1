package logo

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// faultRule completes a rule about one kind of fault in the image: it applies if the image was read to its end, since
// faults in an unread rest are unknown, or if the part that was read has such a fault.
func faultRule(k svg.Kind, r rule.Rule[*evidence]) rule.Rule[*evidence] {
	r.Severity = k.Severity()
	if r.Ref == "" {
		r.Ref = refProfile
	}
	r.When = func(e *evidence) bool {
		d := e.document()
		return d != nil && (d.Complete || d.Counts[k] > 0)
	}
	r.Fails = func(e *evidence) rule.Failures { return failuresOf(e.document(), k) }
	return r
}

func (e *evidence) document() *svg.Document { return kit.OrZero(e.fetched).Document }

// maxListed bounds the findings of one kind of fault, and the places that a finding names; the rest is counted.
const maxListed = 8

// failuresOf fails with the faults of one kind. Those of the same element and attribute are merged: one export option
// causes the same fault on every shape, and one remedy is one finding.
func failuresOf(d *svg.Document, k svg.Kind) (all rule.Failures) {
	repeats := groupBy(d.Of(k), func(f svg.Fault) string { return f.Element + " " + f.Attribute })
	groups := groupBy(repeats, func(r []svg.Fault) string { return remedyOf(r[0]) })
	groups = groups[:min(len(groups), maxListed)]
	rest := d.Counts[k]
	for i, g := range groups {
		for _, r := range g[:min(len(g), maxListed)] {
			rest -= len(r)
		}
		text := detailText(g)
		if i == len(groups)-1 && rest > 0 {
			text += fmt.Sprintf(" There are %s of this kind.", phrase.Count(rest, "other fault"))
		}
		all = append(all, rule.Failure{Detail: text, Target: targetName(g[0][0]), Advice: adviceFor(g[0][0])})
	}
	return all
}

// groupBy parts a list into those of one key, in the order of the first of each.
func groupBy[T any](list []T, key func(T) string) (groups [][]T) {
	index := map[string]int{}
	for _, item := range list {
		at, known := index[key(item)]
		if !known {
			at = len(groups)
			index[key(item)], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], item)
	}
	return groups
}

func remedyOf(f svg.Fault) string {
	switch f.Kind {
	case svg.Script, svg.EventHandler, svg.Stylesheet, svg.EditorData, svg.Animation, svg.RasterImage, svg.Font,
		svg.Lettering:
		return ""
	}
	return cmp.Or(adviceFor(f), targetName(f))
}

func detailText(g [][]svg.Fault) string {
	text := strings.TrimSuffix(g[0][0].Message, ".") + placeText(g[0]) + "."
	also := kit.Map(g[1:min(len(g), maxListed)], func(r []svg.Fault) string { return targetName(r[0]) + placeText(r) })
	if len(also) > 0 {
		text += " The same applies to " + strings.Join(also, ", ") + "."
	}
	return text
}

func placeText(r []svg.Fault) string {
	switch f := r[0]; {
	case f.Line == 0:
		return ""
	case len(r) > 1:
		return fmt.Sprintf(" (line %d, column %d, and %s)", f.Line, f.Column, phrase.Count(len(r)-1, "more time"))
	default:
		return fmt.Sprintf(" (line %d, column %d)", f.Line, f.Column)
	}
}

func targetName(f svg.Fault) string {
	if f.Attribute == "" {
		return f.Element
	}
	return f.Element + " " + f.Attribute
}

func adviceFor(f svg.Fault) string {
	switch f.Kind {
	case svg.Attribute:
		return attributeAdvice(f)
	case svg.Value:
		if f.Attribute == "id" || f.Attribute == "xml:id" {
			return "Rename it without spaces, such as Layer_2, or remove it if nothing refers to it: layer names become " +
				"identifiers on export."
		}
	case svg.Effect, svg.Element:
		switch f.Attribute {
		case "clip-path":
			return elementAdvice["clipPath"]
		case "":
			return elementAdvice[f.Element]
		}
		return elementAdvice[f.Attribute]
	case svg.Namespace:
		if strings.HasPrefix(f.Attribute, "xlink:") {
			return `Add xmlns:xlink="http://www.w3.org/1999/xlink" to the svg element.`
		}
	case svg.NotSVG:
		if f.Attribute == "xmlns" {
			return `Write xmlns="http://www.w3.org/2000/svg" into the svg element.`
		}
	}
	return ""
}

func attributeAdvice(f svg.Fault) string {
	switch name := f.Attribute; {
	case name != "baseProfile" && strings.EqualFold(name, "baseProfile"), name != "viewBox" &&
		strings.EqualFold(name, "viewBox"):
		return "Write baseProfile and viewBox with a capital letter in the middle: the case of names matters."
	case name == "opacity":
		return "Replace opacity with fill-opacity and stroke-opacity, which are allowed, or mix the color without " +
			"transparency."
	case name == "href":
		return `Write xlink:href instead of href, and add xmlns:xlink="http://www.w3.org/1999/xlink" to the svg element.`
	case name == "xml:id":
		return "Remove one of id and xml:id."
	case name == "gradientTransform":
		return "Remove gradientTransform and place the gradient with x1, y1, x2 and y2, or with cx, cy and r."
	case name == "spreadMethod", name == "fx", name == "fy", name == "fr":
		return "Remove it: gradients of SVG Tiny 1.2 have no focal point and no spread method."
	case name == "preserveAspectRatio" && f.Element == "svg":
		return "Remove it: the default shows the whole image in the middle."
	case strings.HasPrefix(name, "data-"), strings.HasPrefix(name, "aria-"), name == "tabindex":
		return "Remove it: it is meant for web pages and changes nothing in the picture."
	case name == "overflow", name == "pointer-events", name == "cursor", name == "clip-rule", name == "shape-rendering",
		name == "paint-order":
		return "Remove it: logos hardly ever look different without it."
	case name == "display" || name == "visibility":
		return "Remove the attribute, and with it the whole element if it is hidden: delete hidden layers before export."
	case (name == "x" || name == "y") && f.Element == "svg":
		return "Remove x and y from the svg element: Illustrator writes x=\"0px\" y=\"0px\", which changes nothing."
	case name == "transform":
		return "Move the transform to the shapes inside: " + f.Element + " cannot have one."
	}
	return ""
}

const outlines = "Convert text to outlines (Type > Create Outlines in Illustrator, Path > Object to Path in Inkscape)."

var elementAdvice = map[string]string{
	"tspan": "Convert text to outlines (paths). The BIMI Group's page on solving SVG issues names tspan as allowed, " +
		"but its schema, by which certificate authorities check logos, refuses it.",
	"textPath": outlines,
	"flowRoot": outlines,
	"symbol": "Expand symbols in the drawing software, or draw the shapes where they are used: only use of shapes " +
		"in defs is allowed.",
	"pattern": "Expand the pattern fill into shapes, or use a plain color or gradient.",
	"marker":  "Expand arrow heads and other markers into shapes (outline stroke).",
	"switch": "Remove the switch element and keep what it holds; in Illustrator export without \"Preserve " +
		"Illustrator Editing Capabilities\".",
	"clipPath": "Release the clipping mask and crop the shapes themselves (Pathfinder: Crop, or boolean operations).",
	"mask":     "Release the mask and crop the shapes themselves, or mix the colors without transparency.",
	"filter":   "Remove shadows, blurs and glows: no filter effect is allowed.",
}
