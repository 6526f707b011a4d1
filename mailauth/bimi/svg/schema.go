package svg

import (
	"maps"
	"strings"
	"sync"
)

// The namespaces that matter.
const (
	namespaceSVG   = "http://www.w3.org/2000/svg"
	namespaceXLink = "http://www.w3.org/1999/xlink"
	namespaceXML   = "http://www.w3.org/XML/1998/namespace"
	namespaceXMLNS = "http://www.w3.org/2000/xmlns/"
)

type model struct {
	attrs    map[string]valueType // by local name; those of the namespaces of XML and XLink with xml: and xlink:
	children map[string]bool
	text     bool
}

// The groups of attributes (facts of the schema SVG_1.2_PS).
var (
	coreAttrs = table{
		"id": ncName, "xml:id": ncName, "xml:base": text, "xml:lang": language, "class": nmTokens,
		"xml:space": oneOf("default preserve"),
	}.texts("about content datatype property rel resource rev role typeof")

	// paintAttrs are the presentation attributes of what is drawn, and of what holds it.
	paintAttrs = table{
		"color":             softly(isColor, "a color such as #0b5fff"),
		"color-rendering":   oneOf("auto optimizeSpeed optimizeQuality inherit"),
		"direction":         oneOf("ltr rtl inherit"),
		"display-align":     oneOf("auto before center after inherit"),
		"fill":              softly(isPaint, "a color such as #0b5fff, none, or the reference url(#id) to a gradient"),
		"fill-opacity":      softly(isNumber, "a number from 0 to 1"),
		"fill-rule":         oneOf("inherit nonzero evenodd"),
		"font-family":       text,
		"font-size":         text,
		"font-style":        oneOf("normal italic oblique inherit"),
		"font-variant":      oneOf("normal small-caps inherit"),
		"font-weight":       oneOf("normal bold bolder lighter inherit"),
		"line-increment":    text,
		"solid-color":       softly(isColor, "a color such as #0b5fff"),
		"solid-opacity":     softly(isNumber, "a number from 0 to 1"),
		"stop-color":        softly(isColor, "a color such as #0b5fff"),
		"stop-opacity":      softly(isNumber, "a number from 0 to 1"),
		"stroke":            softly(isPaint, "a color such as #0b5fff, none, or the reference url(#id) to a gradient"),
		"stroke-dasharray":  softly(isDashes, "none, or lengths with commas between"),
		"stroke-dashoffset": softly(isLength, "a length such as 2"),
		"stroke-linecap":    oneOf("butt round square inherit"),
		"stroke-linejoin":   oneOf("miter round bevel inherit"),
		"stroke-miterlimit": softly(isNumber, "a number such as 4"),
		"stroke-opacity":    softly(isNumber, "a number from 0 to 1"),
		"stroke-width":      softly(isLength, "a length such as 2"),
		"text-align":        oneOf("start center end inherit"),
		"text-anchor":       oneOf("start middle end inherit"),
		"unicode-bidi":      oneOf("normal embed bidi-override inherit"),
		"vector-effect":     oneOf("none non-scaling-stroke inherit"),
	}

	// textAttrs are the presentation attributes that the schema gives to title and desc, and to no element else.
	textAttrs = table{
		"buffered-rendering": oneOf("auto dynamic static inherit"),
		"display": oneOf("inline block list-item run-in compact marker table inline-table table-row-group " +
			"table-header-group table-footer-group table-row table-column-group table-column table-cell table-caption none " +
			"inherit"),
		"image-rendering":       oneOf("auto optimizeSpeed optimizeQuality inherit"),
		"shape-rendering":       oneOf("auto optimizeSpeed crispEdges geometricPrecision inherit"),
		"text-rendering":        oneOf("auto optimizeSpeed optimizeLegibility geometricPrecision inherit"),
		"viewport-fill":         text,
		"viewport-fill-opacity": text,
		"visibility":            oneOf("visible hidden collapse inherit"),
	}

	conditionAttrs = table{}.texts("requiredFonts systemLanguage")
	transformAttr  = table{"transform": softly(isTransform, "functions such as translate(10 20)")}
	units          = table{"gradientUnits": oneOf("userSpaceOnUse objectBoundingBox")}

	rootAttrs = table{
		"width": text, "height": text, "viewBox": text, "contentScriptType": text,
		"baseProfile": oneOf("tiny-ps"), "version": oneOf("1.2"), "externalResourcesRequired": oneOf("false"),
		"focusable": oneOf("false"), "playbackOrder": oneOf("all"), "preserveAspectRatio": aspect,
		"snapshotTime": oneOf("none"), "timelineBegin": oneOf("onLoad"), "zoomAndPan": oneOf("disable"),
		"font-weight": oneOf("normal bold bolder lighter"),
	}

	fontFaceAttrs = table{}.texts("accented-height alphabetic ascent bbox cap-height descent font-family font-stretch " +
		"font-style font-variant font-weight hanging ideographic mathematical overline-position overline-thickness " +
		"panose-1 slope stemh stemv strikethrough-position strikethrough-thickness underline-position " +
		"underline-thickness unicode-range units-per-em widths x-height")
)

// What elements may hold.
const (
	shapes     = "path rect circle ellipse line polyline polygon"
	graphics   = shapes + " solidColor textArea linearGradient radialGradient text g defs use"
	rootHolds  = graphics + " desc metadata" // besides the title, which comes first
	fontsHolds = "desc glyph font-face hkern"
)

// models are the elements of the profile, 24 in all. No element may hold a font, so that the last four can stand
// nowhere; they are here to judge what documents hold that have them all the same.
var models = sync.OnceValue(func() map[string]*model {
	return map[string]*model{
		"svg":      element(rootHolds, coreAttrs, paintAttrs, rootAttrs),
		"title":    holdingText(coreAttrs, textAttrs, conditionAttrs),
		"desc":     holdingText(coreAttrs, textAttrs, conditionAttrs),
		"metadata": holdingText(),
		"g":        element(graphics, coreAttrs, paintAttrs, conditionAttrs, transformAttr),
		"defs":     element(graphics, coreAttrs, paintAttrs),

		"path":     shape(table{"d": softly(isPath, "commands such as M0 0h64v64H0z"), "pathLength": number}),
		"rect":     shape(lengths("x y width height rx ry")),
		"circle":   shape(lengths("cx cy r")),
		"ellipse":  shape(lengths("cx cy rx ry")),
		"line":     shape(lengths("x1 y1 x2 y2")),
		"polyline": shape(table{"points": points}),
		"polygon":  shape(table{"points": points}),
		"use":      shape(lengths("x y"), table{"xlink:href": text}),

		"text":     withText(shape(table{"x": numbers, "y": numbers, "rotate": text, "editable": oneOf("none")})),
		"textArea": withText(shape(table{"x": length, "y": length, "width": areaLength, "height": areaLength})),

		"solidColor":     element("", coreAttrs, paintAttrs),
		"linearGradient": element("stop", coreAttrs, paintAttrs, units, lengths("x1 y1 x2 y2")),
		"radialGradient": element("stop", coreAttrs, paintAttrs, units, lengths("cx cy r")),
		"stop":           element("", coreAttrs, paintAttrs, table{"offset": length}),

		"font":      element(fontsHolds, table{}.texts("horiz-adv-x horiz-origin")),
		"font-face": element("desc", fontFaceAttrs),
		"glyph":     element("desc", table{}.texts("unicode glyph-name arabic-form lang")),
		"hkern":     element("desc", table{}.texts("u1 g1 u2 g2 k")),
	}
})

type table map[string]valueType

func (t table) texts(names string) table {
	for name := range strings.FieldsSeq(names) {
		t[name] = text
	}
	return t
}

func lengths(names string) table {
	t := table{}
	for name := range strings.FieldsSeq(names) {
		t[name] = length
	}
	return t
}

// element returns the model of an element with these children and attributes; later tables win.
func element(children string, attrs ...table) *model {
	m := &model{attrs: map[string]valueType{}, children: map[string]bool{}}
	for name := range strings.FieldsSeq(children) {
		m.children[name] = true
	}
	for _, t := range attrs {
		maps.Copy(m.attrs, t)
	}
	return m
}

// shape is what is drawn: it has no children, and can be transformed.
func shape(attrs ...table) *model {
	return element("", append([]table{coreAttrs, paintAttrs, conditionAttrs, transformAttr}, attrs...)...)
}

func holdingText(attrs ...table) *model { return withText(element("", attrs...)) }

func withText(m *model) *model {
	m.text = true
	return m
}
