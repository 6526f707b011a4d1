package svg

import (
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

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
	}.each("about content datatype property rel resource rev role typeof", text)

	// paintAttrs are the presentation attributes of what is drawn, and of what holds it.
	paintAttrs = table{
		"color-rendering":   oneOf("auto optimizeSpeed optimizeQuality inherit"),
		"direction":         oneOf("ltr rtl inherit"),
		"display-align":     oneOf("auto before center after inherit"),
		"fill-rule":         oneOf("inherit nonzero evenodd"),
		"font-style":        oneOf("normal italic oblique inherit"),
		"font-variant":      oneOf("normal small-caps inherit"),
		"font-weight":       oneOf("normal bold bolder lighter inherit"),
		"stroke-dasharray":  lenient(isDashes, "none, or lengths with commas between"),
		"stroke-linecap":    oneOf("butt round square inherit"),
		"stroke-linejoin":   oneOf("miter round bevel inherit"),
		"stroke-miterlimit": lenient(isNumber, "a number such as 4"),
		"text-align":        oneOf("start center end inherit"),
		"text-anchor":       oneOf("start middle end inherit"),
		"unicode-bidi":      oneOf("normal embed bidi-override inherit"),
		"vector-effect":     oneOf("none non-scaling-stroke inherit"),
	}.each("color solid-color stop-color", lenient(isColor, "a color such as #0b5fff")).
		each("fill stroke", lenient(isPaint, "a color such as #0b5fff, none, or the reference url(#id) to a gradient")).
		each("fill-opacity solid-opacity stop-opacity stroke-opacity", lenient(isNumber, "a number from 0 to 1")).
		each("stroke-dashoffset stroke-width", lenient(isLength, "a length such as 2")).
		each("font-family font-size line-increment", text)

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

	conditionAttrs = table{}.each("requiredFonts systemLanguage", text)
	transformAttr  = table{"transform": lenient(isTransform, "functions such as translate(10 20)")}
	units          = table{"gradientUnits": oneOf("userSpaceOnUse objectBoundingBox")}

	rootAttrs = table{
		"width": text, "height": text, "viewBox": text, "contentScriptType": text,
		"baseProfile": oneOf("tiny-ps"), "version": oneOf("1.2"), "externalResourcesRequired": oneOf("false"),
		"focusable": oneOf("false"), "playbackOrder": oneOf("all"), "preserveAspectRatio": aspect,
		"snapshotTime": oneOf("none"), "timelineBegin": oneOf("onLoad"), "zoomAndPan": oneOf("disable"),
		"font-weight": oneOf("normal bold bolder lighter"),
	}
)

const (
	shapes    = "path rect circle ellipse line polyline polygon"
	graphics  = shapes + " solidColor textArea linearGradient radialGradient text g defs use"
	rootHolds = graphics + " desc metadata" // in addition to the title, which comes first
)

// models are the elements of the profile but for those of fonts, which no element may hold.
var models = sync.OnceValue(func() map[string]*model {
	return map[string]*model{
		"svg":      element(rootHolds, coreAttrs, paintAttrs, rootAttrs),
		"title":    textElement(coreAttrs, textAttrs, conditionAttrs),
		"desc":     textElement(coreAttrs, textAttrs, conditionAttrs),
		"metadata": textElement(),
		"g":        element(graphics, coreAttrs, paintAttrs, conditionAttrs, transformAttr),
		"defs":     element(graphics, coreAttrs, paintAttrs),

		"path":     shape(table{"d": lenient(isPath, "commands such as M0 0h64v64H0z"), "pathLength": number}),
		"rect":     shape(lengths("x y width height rx ry")),
		"circle":   shape(lengths("cx cy r")),
		"ellipse":  shape(lengths("cx cy rx ry")),
		"line":     shape(lengths("x1 y1 x2 y2")),
		"polyline": shape(table{"points": points}),
		"polygon":  shape(table{"points": points}),
		"use":      shape(lengths("x y"), table{"xlink:href": text}),

		"text":     allowText(shape(table{"x": numbers, "y": numbers, "rotate": text, "editable": oneOf("none")})),
		"textArea": allowText(shape(table{"x": length, "y": length, "width": areaLength, "height": areaLength})),

		"solidColor":     element("", coreAttrs, paintAttrs),
		"linearGradient": element("stop", coreAttrs, paintAttrs, units, lengths("x1 y1 x2 y2")),
		"radialGradient": element("stop", coreAttrs, paintAttrs, units, lengths("cx cy r")),
		"stop":           element("", coreAttrs, paintAttrs, table{"offset": length}),
	}
})

type table map[string]valueType

func (t table) each(names string, of valueType) table {
	for name := range strings.FieldsSeq(names) {
		t[name] = of
	}
	return t
}

func lengths(names string) table { return table{}.each(names, length) }

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

func shape(attrs ...table) *model {
	return element("", append([]table{coreAttrs, paintAttrs, conditionAttrs, transformAttr}, attrs...)...)
}

func textElement(attrs ...table) *model { return allowText(element("", attrs...)) }

func allowText(m *model) *model {
	m.text = true
	return m
}

// A valueType is the type of an attribute's values. The schema is strict about some and allows any text for the
// others, of which software for SVG understands only part (SVG Tiny 1.2 chapters 8 to 11).
type valueType struct {
	strict     func(string) bool // values that the schema allows; nil: any text
	understood func(string) bool // what software understands; nil: any text
	wanted     string            // what is expected, to follow "not"
}

var (
	text   = valueType{}
	ncName = valueType{strict: onlyWord(isNCName), wanted: "a name that begins with a letter or underscore and " +
		"has no spaces or colons"}
	nmTokens   = valueType{strict: isNmtokens, wanted: "a list of names"}
	language   = valueType{strict: isLanguage, wanted: "a language tag such as en"}
	aspect     = valueType{strict: isAspectRatio, wanted: "none, xMidYMid or xMidYMid meet"}
	number     = lenient(isNumber, "a number")
	numbers    = lenient(isNumbers, "a number")
	length     = lenient(isLength, "a length such as 12.5")
	areaLength = lenient(isAreaLength, "a length such as 12.5, or auto")
	points     = lenient(isPoints, "pairs of numbers such as 0,0 64,0 64,64")
)

func oneOf(words string) valueType {
	list := strings.Fields(words)
	return valueType{wanted: alternatives(list), strict: func(v string) bool { return slices.Contains(list, collapse(v)) }}
}

func alternatives(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(list[:len(list)-1], ", "), list[len(list)-1])
}

// lenient allows any text, of which software understands some.
func lenient(understood func(string) bool, wanted string) valueType {
	return valueType{understood: understood, wanted: wanted}
}

func onlyWord(is func(string) bool) func(string) bool {
	return func(v string) bool { return is(strings.Trim(v, white)) }
}

var aspectRatio = kit.Regexp(`^[ \t\r\n]*(none|xMidYMid)[ \t\r\n]*(meet)?[ \t\r\n]*$`)

// languageTag is xs:language (XML Schema part 2 section 3.3.3).
var languageTag = kit.Regexp(`^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$`)

func isAspectRatio(v string) bool { return aspectRatio().MatchString(v) }

func isLanguage(v string) bool {
	v = strings.Trim(v, white)
	return v == "" || languageTag().MatchString(v)
}

// isNmtokens reports whether a text is one or more names separated by spaces.
func isNmtokens(v string) bool {
	n := 0
	for word := range strings.FieldsFuncSeq(v, isWhite) {
		if !isNmtoken(word) {
			return false
		}
		n++
	}
	return n > 0
}

func isWhite(c rune) bool { return strings.ContainsRune(white, c) }

func collapse(s string) string {
	if !strings.ContainsAny(s, white) {
		return s
	}
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(s, isWhite) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// keywords are the colors that have names (SVG Tiny 1.2 chapter 11 has the first 16; those of CSS are drawn as well),
// and the keywords that are valid as colors.
var keywords = kit.Words("aqua black blue fuchsia gray green lime maroon navy olive purple red silver teal white " +
	"yellow inherit currentcolor none transparent " +
	"aliceblue antiquewhite aquamarine azure beige bisque blanchedalmond blueviolet brown burlywood cadetblue " +
	"chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray darkgreen " +
	"darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen darkslateblue " +
	"darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue firebrick " +
	"floralwhite forestgreen gainsboro ghostwhite gold goldenrod greenyellow grey honeydew hotpink indianred indigo " +
	"ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow " +
	"lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray lightslategrey " +
	"lightsteelblue lightyellow limegreen linen magenta mediumaquamarine mediumblue mediumorchid mediumpurple " +
	"mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose " +
	"moccasin navajowhite oldlace olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred " +
	"papayawhip peachpuff peru pink plum powderblue rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell " +
	"sienna skyblue slateblue slategray slategrey snow springgreen steelblue tan thistle tomato turquoise violet wheat " +
	"whitesmoke yellowgreen rebeccapurple")

func isColor(v string) bool {
	v = strings.ToLower(strings.Trim(v, white))
	if digits, ok := strings.CutPrefix(v, "#"); ok {
		_, err := strconv.ParseUint(digits, 16, 64)
		return err == nil && (len(digits) == 3 || len(digits) == 6)
	}
	if arguments, ok := strings.CutPrefix(v, "rgb("); ok && strings.HasSuffix(v, ")") {
		return isRGB(strings.TrimSuffix(arguments, ")"))
	}
	return keywords()[v] || systemColors()[v]
}

// systemColors are those of the user interface (SVG Tiny 1.2 chapter 11).
var systemColors = kit.Words("activeborder activecaption appworkspace background buttonface buttonhighlight " +
	"buttonshadow buttontext captiontext graytext highlight highlighttext inactiveborder inactivecaption " +
	"inactivecaptiontext infobackground infotext menu menutext scrollbar threeddarkshadow threedface threedhighlight " +
	"threedlightshadow threedshadow window windowframe windowtext")

func isRGB(arguments string) bool {
	parts := strings.SplitN(arguments, ",", 4)
	percent := strings.Count(arguments, "%")
	if len(parts) != 3 || percent != 0 && percent != 3 {
		return false
	}
	return !slices.ContainsFunc(parts, func(p string) bool {
		return !isNumber(strings.TrimSuffix(strings.Trim(p, white), "%"))
	})
}

func reference(v string) (target, fallback string, ok bool) {
	v = strings.Trim(v, white)
	if len(v) < 4 || !strings.EqualFold(v[:4], "url(") {
		return "", "", false
	}
	target, fallback, ok = strings.Cut(v[4:], ")")
	return strings.Trim(target, white+`"'`), strings.Trim(fallback, white), ok
}

// isPaint reports whether a text is a color, or a reference with or without a fallback color. Whether the target
// exists is judged elsewhere.
func isPaint(v string) bool {
	if target, fallback, ok := reference(v); ok {
		return target != "" && (fallback == "" || isColor(fallback))
	}
	return isColor(v)
}
