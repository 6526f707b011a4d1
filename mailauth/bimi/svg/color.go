package svg

import (
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// keywords are the colors that have names (SVG Tiny 1.2 chapter 11 has the first 16; those of CSS are drawn as well),
// and the words that stand for colors.
var keywords = diag.Words("aqua black blue fuchsia gray green lime maroon navy olive purple red silver teal white yellow " +
	"inherit currentcolor none transparent " +
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

// isColor reports whether software understands a color.
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
var systemColors = diag.Words("activeborder activecaption appworkspace background buttonface buttonhighlight buttonshadow " +
	"buttontext captiontext graytext highlight highlighttext inactiveborder inactivecaption inactivecaptiontext " +
	"infobackground infotext menu menutext scrollbar threeddarkshadow threedface threedhighlight threedlightshadow " +
	"threedshadow window windowframe windowtext")

// isRGB takes three numbers, or three percentages.
func isRGB(arguments string) bool {
	parts := strings.SplitN(arguments, ",", 4)
	percent := strings.Count(arguments, "%")
	if len(parts) != 3 || percent != 0 && percent != 3 {
		return false
	}
	for _, p := range parts {
		if !isNumber(strings.TrimSuffix(strings.Trim(p, white), "%")) {
			return false
		}
	}
	return true
}

// reference returns what a url() refers to, and the color to fall back to.
func reference(v string) (target, fallback string, ok bool) {
	v = strings.Trim(v, white)
	if len(v) < 4 || !strings.EqualFold(v[:4], "url(") {
		return "", "", false
	}
	target, fallback, ok = strings.Cut(v[4:], ")")
	return strings.Trim(target, white+`"'`), strings.Trim(fallback, white), ok
}

// isPaint takes a color, or a reference with or without a color to fall back to. Whether what it refers to is there is
// judged elsewhere.
func isPaint(v string) bool {
	if target, fallback, ok := reference(v); ok {
		return target != "" && (fallback == "" || isColor(fallback))
	}
	return isColor(v)
}
