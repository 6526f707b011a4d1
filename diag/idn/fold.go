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

// lookalikes lists, for the characters of plain host names, the code points allowed in names that look
// like them: those that have the same prototype in the table of confusables of UTS #39 (version
// 14.0.0, 2021-05-29), as far as that is a single character. In one place it differs: the palochka
// U+04CF stands with "l" and not with "i", for in lower case it has no dot.
var lookalikes = map[rune]string{
	'-': "\u02D7\u06D4\u2010\u2012\u2013\u2043\u2212\u2796",
	'0': "\u07C0০ଠ୦ዐⵔ\u3007ꓳ\U00010292\U000102AB\U00010516\U000114D0\U000118E0",
	'2': "ᒿ\uA6EF",
	'3': "\U000118CA\U00016F3B\U0001D206",
	'4': "\u13CE",
	'6': "б\u13EE\U000118D5",
	'7': "\U000118C6\U0001D212",
	'8': "ȣ৪੪\u0B03\U0001031A\U0001E8CB",
	'9': "৭੧୨൭\U000118CC\U000118D6",
	'a': "ɑαа\u237A",
	'b': "\u13CFᑲᖯ",
	'c': "сᴄⲥ\U0001043D",
	'd': "ԁ\u13E7ᑯꓒ",
	'e': "еҽ\u212Eꬲ",
	'f': "քẝꞙꬵ",
	'g': "ƍɡցᶃ",
	'h': "һհ\u13C2",
	'i': "ıɩɪιі\u13A5\u2373ꙇ\U000118C3",
	'j': "ϳј",
	'l': "ǀ\u05C0\u05D5\u05DF\u0627\u0661۱\u07CAᛁ\u2223\u23FDⵏꓲ\U0001028A\U00010309\U00010320\U00016F28\U0001E8C7ӏ",
	'm': "\U00011700\U000118E3",
	'n': "ոռ",
	'o': "οσоօ\u05E1\u0647\u0665\u06BE\u06C1\u06D5۵०੦૦௦\u0C02౦\u0C82೦\u0D02ഠ൦\u0D82๐໐ဝ၀ჿᴏᴑⲟꬽ\U0001042C\U000104EA\U000118C8\U000118D7",
	'p': "ρр\u2374ⲣ",
	'q': "ԛգզ",
	'r': "гᴦⲅꭇꭈ",
	's': "ƽѕꜱ\U00010448\U000118C1",
	'u': "ʋυսᴜꞟꭎꭒ\U000104F6\U000118D8",
	'v': "νѵ\u05D8ᴠ\u2228\u22C1\U00011706\U000118C0",
	'w': "ɯѡԝաᴡ\U0001170A\U0001170E\U0001170F",
	'x': "\u00D7хᕁᕽ\u166E\u292B\u292C\u2A2F",
	'y': "ɣʏγуүყᶌỿꭚ\U000118DC",
	'z': "ᴢ\U000118C4",
}

// plain maps each of the lookalikes to the character that it looks like.
var plain = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for ascii, list := range lookalikes {
		for _, r := range list {
			m[r] = ascii
		}
	}
	return m
})

// skeleton returns the plain name that a label looks like, or nothing if there is none or the label is plain itself.
func skeleton(label string) string {
	if isASCII(label) {
		return ""
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(label) {
		if r >= 0x80 {
			var ok bool
			if r, ok = plain()[r]; !ok {
				return ""
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
