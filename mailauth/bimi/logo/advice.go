package logo

import (
	"strings"

	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// adviceFor says what to do about a fault where more is known than its rule can say.
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
	case name != "baseProfile" && strings.EqualFold(name, "baseProfile"), name != "viewBox" && strings.EqualFold(name, "viewBox"):
		return "Write baseProfile and viewBox with a capital letter in the middle: the case of names matters."
	case name == "opacity":
		return "Replace opacity by fill-opacity and stroke-opacity, which are allowed, or mix the color without transparency."
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

// elementAdvice is about elements that drawing software writes.
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
