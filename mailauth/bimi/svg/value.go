package svg

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// A valueType is what the values of an attribute may be. The schema is strict about some and takes any text for the
// others, of which software for SVG understands only part (SVG Tiny 1.2 chapters 8 to 11).
type valueType struct {
	strict     func(string) bool // what the schema takes; nil: any text
	understood func(string) bool // what software understands; nil: any text
	wanted     string            // what is expected, to follow "not"
}

// The types of values.
var (
	text   = valueType{}
	ncName = valueType{strict: onlyWord(isNCName), wanted: "a name that begins with a letter or underscore and " +
		"has no spaces or colons"}
	nmTokens   = valueType{strict: isNmtokens, wanted: "a list of names"}
	language   = valueType{strict: isLanguage, wanted: "a language tag such as en"}
	aspect     = valueType{strict: isAspectRatio, wanted: "none, xMidYMid or xMidYMid meet"}
	number     = softly(isNumber, "a number")
	numbers    = softly(isNumbers, "a number")
	length     = softly(isLength, "a length such as 12.5")
	areaLength = softly(isAreaLength, "a length such as 12.5, or auto")
	points     = softly(isPoints, "pairs of numbers such as 0,0 64,0 64,64")
)

func oneOf(words string) valueType {
	list := strings.Fields(words)
	return valueType{wanted: alternatives(list), strict: func(v string) bool {
		v = collapse(v)
		for _, w := range list {
			if v == w {
				return true
			}
		}
		return false
	}}
}

// alternatives writes "a", "a or b", "a, b or c".
func alternatives(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(list[:len(list)-1], ", "), list[len(list)-1])
}

// softly takes any text, of which software understands some.
func softly(understood func(string) bool, wanted string) valueType {
	return valueType{understood: understood, wanted: wanted}
}

// onlyWord takes what is one word but for white space around it.
func onlyWord(is func(string) bool) func(string) bool {
	return func(v string) bool { return is(strings.Trim(v, white)) }
}

// aspectRatio is what the schema takes for preserveAspectRatio.
var aspectRatio = diag.Regexp(`^[ \t\r\n]*(none|xMidYMid)[ \t\r\n]*(meet)?[ \t\r\n]*$`)

// languageTag is xs:language (XML Schema part 2 section 3.3.3).
var languageTag = diag.Regexp(`^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$`)

func isAspectRatio(v string) bool { return aspectRatio().MatchString(v) }

func isLanguage(v string) bool {
	v = strings.Trim(v, white)
	return v == "" || languageTag().MatchString(v)
}

// isNmtokens takes names with spaces between; at least one.
func isNmtokens(v string) bool {
	n := 0
	for word := range strings.FieldsFuncSeq(v, func(c rune) bool { return strings.ContainsRune(white, c) }) {
		if !isNmtoken(word) {
			return false
		}
		n++
	}
	return n > 0
}

// collapse makes each white space one space, and removes it at both ends.
func collapse(s string) string {
	if !strings.ContainsAny(s, white) {
		return s
	}
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune(white, c) }) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

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
