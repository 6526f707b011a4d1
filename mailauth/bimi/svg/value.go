package svg

import (
	"fmt"
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

// oneOf takes one of these words.
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
