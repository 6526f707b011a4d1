package textutil

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A slugWriter writes the words of a slug with spaces between them.
type slugWriter struct {
	language   slugLanguage
	unicode    bool
	decamelize bool

	out          strings.Builder
	dropped      []rune // the first different letters that were left out
	droppedCount int
}

func (w *slugWriter) write(text []rune) {
	for i := 0; i < len(text); {
		if w.decamelize && isHump(text, i) {
			w.out.WriteByte(' ')
		}
		i += w.writeAt(text, i)
	}
}

// writeAt writes the text at i, and returns how many characters it consumed.
func (w *slugWriter) writeAt(text []rune, i int) int {
	c := text[i]
	switch {
	case isSlugASCII(c):
		w.out.WriteRune(c)
		return 1
	case isApostrophe(c) && isContraction(text, i):
		return 1
	case c == '&':
		w.out.WriteString(" " + w.language.and + " ")
		return 1
	case c == '♥':
		w.out.WriteString(" love ")
		return 1
	case unicode.Is(unicode.Cf, c) && c != '\u200b': // soft hyphens, joiners and the like are not seen
		return 1
	case isLetterlike(c):
		w.writeDecomposed(c)
		return 1
	case !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c):
		w.out.WriteByte(' ')
		return 1
	case w.unicode:
		w.out.WriteRune(c)
		return 1
	}
	if latin, n := w.transliterate(text, i); n > 0 {
		w.out.WriteString(latin)
		return n
	}
	w.writeDecomposed(c)
	return 1
}

// transliterate returns the Latin form, by the tables, of the letters at i, and how many they are; 0 if
// the tables do not have them.
func (w *slugWriter) transliterate(text []rune, i int) (latin string, n int) {
	c := unicode.ToLower(text[i])
	if latin, n = greekPair(text, i); n == 0 {
		n = 1
		known := false
		if w.language.initials != nil && (i == 0 || !unicode.IsLetter(text[i-1])) {
			latin, known = w.language.initials[c]
		}
		if !known {
			latin, known = w.language.letters[c]
		}
		if !known {
			latin, known = slugLetter(c)
		}
		if !known {
			return "", 0
		}
	}
	return matchCase(text, i, n, latin), n
}

// matchCase returns the Latin form of the n letters at i in their case: Щ is Shch, but SHCH among capitals.
func matchCase(text []rune, i, n int, latin string) string {
	if latin == "" || !unicode.IsUpper(text[i]) {
		return latin
	}
	last := i + n - 1
	capitals := last > i && unicode.IsUpper(text[last]) ||
		last+1 < len(text) && unicode.IsUpper(text[last+1]) ||
		(last+1 == len(text) || !unicode.IsLetter(text[last+1])) && i > 0 && unicode.IsUpper(text[i-1])
	if capitals {
		return strings.ToUpper(latin)
	}
	return strings.ToUpper(latin[:1]) + latin[1:]
}

// writeDecomposed writes a character without its accents, or what Unicode says it is compatible with.
func (w *slugWriter) writeDecomposed(c rune) {
	if unicode.IsMark(c) {
		return // an accent of its own, which NFC could not join
	}
	found := false
	for _, part := range decomposed(c) {
		switch latin, known := slugLetter(part); {
		case isSlugASCII(part):
			w.out.WriteRune(part)
			found = true
		case known:
			w.out.WriteString(matchCase([]rune{part}, 0, 1, latin))
			found = true
		case unicode.Is(unicode.Nd, part):
			w.out.WriteByte('0' + digitValue(part))
			found = true
		case !unicode.IsMark(part):
			w.out.WriteByte(' ')
		}
	}
	if found {
		return
	}
	w.out.WriteByte(' ')
	w.droppedCount++
	if len(w.dropped) < maxSlugDropped && !slices.Contains(w.dropped, c) {
		w.dropped = append(w.dropped, c)
	}
}

// slugLetter returns the Latin form of a letter, small or capital, if the table has one.
func slugLetter(c rune) (latin string, known bool) {
	if 0x58f < c && c < 0x10a0 || c > 0x10ff && c != 'ẞ' { // the table has no letters there
		return "", false
	}
	latin, known = slugLetters[unicode.ToLower(c)]
	return latin, known
}

func decomposed(c rune) string {
	text := string(c)
	if parts := norm.NFKD.PropertiesString(text).Decomposition(); parts != nil {
		return string(parts)
	}
	return text
}

// digitValue returns the value of a decimal digit of any script: the digits are in ascending order.
func digitValue(c rune) byte {
	value := byte(0)
	for value < 9 && unicode.Is(unicode.Nd, c-rune(value)-1) {
		value++
	}
	return value
}

// isLetterlike reports whether a symbol abbreviates letters, as № does No. Trademark signs are not part of a name.
func isLetterlike(c rune) bool {
	return unicode.Is(unicode.So, c) && c != '™' && c != '℠' && strings.ContainsFunc(decomposed(c), isSlugASCII)
}

func isSlugASCII(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isApostrophe(c rune) bool { return c == '\'' || c == '’' || c == 'ʼ' || c == '＇' }

// isContraction reports whether the apostrophe at i is within a contraction or a genitive of English.
func isContraction(text []rune, i int) bool {
	before := i - 1
	if before < 0 || !unicode.IsLetter(text[before]) && !unicode.IsNumber(text[before]) {
		return false
	}
	end := i + 1
	for end < len(text) && end <= i+3 && unicode.IsLetter(text[end]) {
		end++
	}
	switch strings.ToLower(string(text[i+1 : end])) {
	case "s", "t", "d", "m", "re", "ve", "ll":
		return true
	}
	return false
}

// isHump reports whether a word of CamelCase begins at i: fooBar is two words, and so are FOOBar, foo2BAR
// and FOO2; APIs is one.
func isHump(text []rune, i int) bool {
	if i == 0 {
		return false
	}
	upper := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsUpper(text[j]) }
	digit := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsDigit(text[j]) }
	lower := func(j int) bool { return j >= 0 && j < len(text) && unicode.IsLower(text[j]) }
	switch {
	case digit(i):
		return upper(i-1) && upper(i-2)
	case !upper(i):
		return false
	case lower(i-1) || digit(i-1):
		return upper(i+1) || lower(i+1) || digit(i+1)
	}
	plural := i+1 < len(text) && text[i+1] == 's' // as in APIs
	return upper(i-1) && lower(i+1) && !plural
}

// A SlugLocale is a language with its own rules for spelling in ASCII.
type SlugLocale string

// SlugUndetermined is the default: no language in particular.
const SlugUndetermined SlugLocale = "und"

// Values lists the languages.
func (SlugLocale) Values() []string {
	return []string{"und", "az", "bg", "da", "de", "es", "fi", "fr", "hr", "hu", "it", "nb", "nl", "pl", "pt", "ru",
		"sr", "sv", "tr", "uk", "vi"}
}

// A slugLanguage holds the rules of a language that differ from slugLetters and Unicode.
type slugLanguage struct {
	and      string
	casing   Locale
	letters  map[rune]string // by the small letter
	initials map[rune]string // at the beginning of a word
}

var slugLanguages = map[SlugLocale]slugLanguage{
	"und": {and: "and"},
	"az":  {and: "ve", casing: Azerbaijani},
	// The law on transliteration of 2009.
	"bg": {and: "i", letters: map[rune]string{'щ': "sht", 'ъ': "a", 'х': "h", 'ь': "y"}},
	"da": {and: "og", letters: map[rune]string{'ø': "oe", 'å': "aa"}},
	"de": {and: "und", letters: map[rune]string{'ä': "ae", 'ö': "oe", 'ü': "ue"}},
	"es": {and: "y"},
	"fi": {and: "ja"},
	"fr": {and: "et"},
	"hr": {and: "i", letters: map[rune]string{'đ': "dj"}},
	"hu": {and: "es"},
	"it": {and: "e"},
	"nb": {and: "og", letters: map[rune]string{'ø': "oe", 'å': "aa"}},
	"nl": {and: "en"},
	"pl": {and: "i"},
	"pt": {and: "e"},
	"ru": {and: "i"},
	// The Latin alphabet of Serbian, without its accents.
	"sr": {and: "i", letters: map[rune]string{
		'ж': "z", 'ц': "c", 'ч': "c", 'ш': "s", 'х': "h", 'ђ': "dj", 'ћ': "c", 'џ': "dz", 'đ': "dj",
	}},
	"sv": {and: "och"},
	"tr": {and: "ve", casing: Turkish},
	// The resolution of the Cabinet of Ukraine no. 55 of 2010.
	"uk": {
		and: "i", letters: map[rune]string{'г': "h", 'и': "y", 'є': "ie", 'ї': "i", 'й': "i", 'ю': "iu", 'я': "ia"},
		initials: map[rune]string{'є': "ye", 'ї': "yi", 'й': "y", 'ю': "yu", 'я': "ya"},
	},
	"vi": {and: "va"},
}

// slugLetters are the Latin forms of small letters that Unicode does not decompose into Latin ones:
// Cyrillic as on Russian maps (BGN/PCGN), Greek by ELOT 743, Georgian by the national system, Armenian
// by its usual spelling in English.
var slugLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ŋ': "ng", 'ħ': "h", 'ı': "i",
	'ĸ': "k", 'ŧ': "t", 'ſ': "s", 'ə': "a", 'ƒ': "f", 'ɓ': "b", 'ɗ': "d", 'ɖ': "d", 'ɛ': "e", 'ɔ': "o", 'ǝ': "e", 'ƙ': "k",
	'ƴ': "y", 'ɣ': "g", 'ʋ': "v", 'ɩ': "i", 'ʊ': "u", 'ƿ': "w", 'ȝ': "y", 'ʻ': "", 'ʼ': "", 'ʾ': "", 'ʿ': "",

	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "e", 'ё': "yo", 'ж': "zh", 'з': "z", 'и': "i", 'й': "y",
	'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f",
	'х': "kh", 'ц': "ts", 'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya",
	'є': "ye", 'і': "i", 'ї': "yi", 'ґ': "g", 'ў': "u", 'ђ': "dj", 'ј': "j", 'љ': "lj", 'њ': "nj", 'ћ': "c", 'џ': "dz",
	'ѓ': "gj", 'ѕ': "dz", 'ќ': "kj", 'ә': "a", 'ғ': "gh", 'қ': "q", 'ң': "ng", 'ө': "o", 'ұ': "u", 'ү': "u", 'һ': "h",
	'ѣ': "e", 'ѳ': "f", 'ѵ': "i", 'ҷ': "j", 'ҳ': "h", 'ӣ': "i", 'ӯ': "u",

	'α': "a", 'β': "v", 'γ': "g", 'δ': "d", 'ε': "e", 'ζ': "z", 'η': "i", 'θ': "th", 'ι': "i", 'κ': "k", 'λ': "l",
	'μ': "m", 'ν': "n", 'ξ': "x", 'ο': "o", 'π': "p", 'ρ': "r", 'σ': "s", 'ς': "s", 'τ': "t", 'υ': "y", 'φ': "f",
	'χ': "ch", 'ψ': "ps", 'ω': "o",

	'ა': "a", 'ბ': "b", 'გ': "g", 'დ': "d", 'ე': "e", 'ვ': "v", 'ზ': "z", 'თ': "t", 'ი': "i", 'კ': "k", 'ლ': "l",
	'მ': "m", 'ნ': "n", 'ო': "o", 'პ': "p", 'ჟ': "zh", 'რ': "r", 'ს': "s", 'ტ': "t", 'უ': "u", 'ფ': "p", 'ქ': "k",
	'ღ': "gh", 'ყ': "q", 'შ': "sh", 'ჩ': "ch", 'ც': "ts", 'ძ': "dz", 'წ': "ts", 'ჭ': "ch", 'ხ': "kh", 'ჯ': "j", 'ჰ': "h",

	'ա': "a", 'բ': "b", 'գ': "g", 'դ': "d", 'ե': "e", 'զ': "z", 'է': "e", 'ը': "y", 'թ': "t", 'ժ': "zh", 'ի': "i",
	'լ': "l", 'խ': "kh", 'ծ': "ts", 'կ': "k", 'հ': "h", 'ձ': "dz", 'ղ': "gh", 'ճ': "ch", 'մ': "m", 'յ': "y", 'ն': "n",
	'շ': "sh", 'ո': "o", 'չ': "ch", 'պ': "p", 'ջ': "j", 'ռ': "r", 'ս': "s", 'վ': "v", 'տ': "t", 'ր': "r", 'ց': "ts",
	'ւ': "u", 'փ': "p", 'ք': "k", 'օ': "o", 'ֆ': "f", 'և': "ev",
}

// greekPair returns the Latin form of two Greek letters that are written otherwise together than alone (ELOT 743), and
// the number 2; or 0. An accent on the first vowel, or a diaeresis, keeps two vowels apart.
func greekPair(text []rune, i int) (latin string, n int) {
	if i+1 >= len(text) {
		return "", 0
	}
	first, second := unicode.ToLower(text[i]), unicode.ToLower(text[i+1])
	upsilon := second == 'υ' || second == 'ύ'
	switch {
	case first == 'ο' && upsilon:
		return "ou", 2
	case (first == 'α' || first == 'ε' || first == 'η') && upsilon:
		consonant := "f"
		if i+2 < len(text) && isVoicedGreek(text[i+2]) {
			consonant = "v"
		}
		return slugLetters[first] + consonant, 2
	case first == 'γ' && (second == 'γ' || second == 'ξ' || second == 'χ'):
		return "n" + slugLetters[second], 2
	case first == 'μ' && second == 'π' && (i == 0 || !unicode.IsLetter(text[i-1])):
		return "b", 2
	case first == 'ո' && second == 'ւ':
		return "u", 2
	}
	return "", 0
}

// isVoicedGreek reports whether an upsilon before the letter is voiced: before vowels and β γ δ ζ λ μ ν ρ.
func isVoicedGreek(c rune) bool {
	switch unicode.ToLower(c) {
	case 'α', 'ε', 'η', 'ι', 'ο', 'υ', 'ω', 'ά', 'έ', 'ή', 'ί', 'ό', 'ύ', 'ώ', 'ϊ', 'ϋ', 'β', 'γ', 'δ', 'ζ', 'λ', 'μ', 'ν',
		'ρ':
		return true
	}
	return false
}
