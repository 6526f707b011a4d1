package idn

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// similar lists, for plain letters, the code points that a hasty reader takes for them although they differ
// by more than the table of lookalikes allows: letters with strokes, hooks and tails, small capitals and
// ligatures (by their names in Unicode 14.0.0), and what has one of these as its prototype in the table of
// confusables of UTS #39 (version 14.0.0, 2021-05-29).
var similar = map[string]string{
	"a":  "ᗅᴀᶏⱥꓮꭺ\U000102A0\U00016F40",
	"b":  "ƀƃƅɓʙвьѣҍᏼᑳᗷᵬᶀꓐꞗꮟ\U00010282\U000102A1\U00010301",
	"c":  "ƈȼɕεєҫԑⲉꓚꞓꞔꮛꮯ\U000102A2\U00010302\U00010429\U0001051C\U000118CE\U000118E9\U0001DF1D",
	"d":  "ðđƌȡɖɗᗞᗪᴅᵭᶁᶑꓓꝺꟈꭰ",
	"e":  "ǝɇəɛҿәᴇᶒⱸⴹꓰꬴꭼ\U00010286",
	"f":  "ƒᖴᵮᶂꓝꜰꝼ\U00010287\U000102A5\U00010525\U000118C2",
	"g":  "ǥɠɢʛԍᏻᵹꓖꞡꬶꮐ",
	"h":  "ħɦʜнћңӈӊᕼⱨꓧꚕꞕꮋ\U000102CF",
	"i":  "ɨᵻᵼᶖꭵ\U0001DF1A",
	"j":  "ȷɉɟʄʝյᒍᴊꓙꭻ",
	"k":  "ĸƙκкқҟᛕᴋᶄⱪⲕꓗꝁꝃꝅꞣꮶ\U00010518",
	"l":  "łƚȴɫɬɭʟ\u0673ᒪᴌᶅⱡⳑꓡꝉꞎꬷꬸꬹꮮ\U00010443\U00010526\U00016F16\U0001DF04\U0001DF11\U0001DF13",
	"m":  "ɱмᗰᛖᴍᵯᶆꓟꬺ\U000102B0\U00010311",
	"n":  "ŋƞȵɲɳɴηпᵰᶇꓠꞑꞥꬻ\U00010513",
	"o":  "øɵθѳө\u06FFⱺⴱⵁꝋꝍꬾꭴꮎꮻ\U0001DF1B",
	"p":  "þƥƿϸᑭᴘᴩᵱᵽᶈꓑꝑꝓꝕꮲ\U00010295",
	"q":  "ɋʠᶐⵕꝗꝙꞯ",
	"r":  "ɍɼɽɾʀғᖇᵲᵳᶉꓣꝛꞃꞧꭆꭉꭋꭌꭱꮁꮢ\U00016F35\U0001DF16",
	"s":  "ƨȿʂϩᴤᵴᶊꓢꙅꞅꞩꟊꮪ\U00010296\U00016F3A\U0001DF1E",
	"t":  "ŧƫƭȶʈτтҭᴛᵵⱦꓔꞇꭲ\U00010297\U000102B1\U00010315\U00016F0A\U0001DF09",
	"u":  "ʊሀᑌᵾᵿᶙꓴꞹꮜ\U00016F42",
	"v":  "\u0667۷ᐯⱱⱴⴸꓦꛟꝟꮩ\U0001051D\U00016F08",
	"w":  "ѽⱳꓪꮃ\U000114C5\U000118E6",
	"x":  "ᚷᶍⵝꓫꭖꭗꭘꭙ\U00010290\U000102B4\U00010317\U00010527",
	"y":  "ƴɏұꓬ\U000102B2\U00016F43",
	"z":  "ƶȥɀʐʑᵶᶎⱬꓜꮓ\U000118E5",
	"aa": "ꜳ",
	"ae": "æӕᴂ",
	"ao": "ꜵ",
	"au": "ꜷ",
	"av": "ꜹꜻ",
	"ay": "ꜽ",
	"bi": "ы",
	"db": "ȸ",
	"dz": "ʣʥ",
	"eo": "ᴔꭁꭂ",
	"fn": "ʩ",
	"ll": "ǁ\u05F0",
	"ls": "ʪ",
	"lz": "ʫ",
	"oe": "œɶ",
	"oo": "ꚙꝏ",
	"qp": "ȹ",
	"ss": "ßβꞵ",
	"tc": "ʨ",
	"tf": "ꝷ",
	"ts": "ʦ",
	"ue": "ᵫ",
	"uo": "ꭣ",
	"vy": "ꝡ",
}

// folded maps each code point of both tables to the plain letters.
var folded = sync.OnceValue(func() map[rune]string {
	m := map[rune]string{}
	for letters, list := range similar {
		for _, r := range list {
			m[r] = letters
		}
	}
	for letter, list := range lookalikes {
		for _, r := range list {
			m[r] = string(letter)
		}
	}
	return m
})

// Fold returns the plain letters that a hasty reader sees in a label in Unicode form: without the marks
// above and below, and each letter of another script as the Latin one that it resembles. What resembles
// none stays. It goes further than a skeleton of UTS #39, to which "é" and "e" are different.
func Fold(label string) string {
	if isASCII(label) {
		return label
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(label) {
		if letters, ok := folded()[r]; ok {
			b.WriteString(letters)
		} else if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
