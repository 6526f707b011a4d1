package page

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// detect guesses the encoding of a page that states none, as browsers do (html.spec.whatwg.org section 13.2.3.2). It
// returns the name of the encoding. Browsers do not guess UTF-8, but search engines do.
//
// An encoding of East Asia is recognized by the characters that are frequent in its languages: read in a wrong
// encoding, bytes become rare ones. Of the others the most likely language counts: by its letters beyond ASCII, their
// neighbors and their case. Where the bytes are ambiguous it is windows-1252.
func detect(body []byte) string {
	switch {
	case isISO2022JP(body):
		return "iso-2022-jp"
	case mostlyUTF8(body):
		return "utf-8"
	}
	if name := detectCJK(nonASCIIWords(body)); name != "" {
		return name
	}
	pairs := countPairs(body)
	best, most := "windows-1252", math.Inf(-1)
	for _, m := range models() {
		if p := m.likelihood(pairs); p > most {
			best, most = m.charset, p
		}
	}
	return best
}

// isISO2022JP reports whether a text is ISO-2022-JP: ASCII with escape sequences (RFC 1468).
func isISO2022JP(body []byte) bool {
	escaped := bytes.Contains(body, []byte("\x1B$B")) || bytes.Contains(body, []byte("\x1B$@"))
	return escaped && beyondASCII(body) == len(body)
}

// beyondASCII is the index of the first byte that is not ASCII; the length of the text if all are.
func beyondASCII(text []byte) int {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}

// mostlyUTF8 reports whether a text is UTF-8, apart from hardly any bytes.
func mostlyUTF8(body []byte) bool {
	const most, enough = 50, 1000 // characters for each invalid byte; invalid bytes after which it is not UTF-8
	valid, invalid := 0, 0
	if beyondASCII(body) == len(body) {
		return true
	}
	body = trimRune(body)
	for {
		body = body[beyondASCII(body):]
		if len(body) == 0 || invalid > enough {
			return valid > 0 && invalid*most <= valid
		}
		r, size := utf8.DecodeRune(body)
		if r == utf8.RuneError && size == 1 {
			invalid++
		} else {
			valid++
		}
		body = body[size:]
	}
}

// maxSample bounds what is decoded to find an encoding of East Asia, in bytes.
const maxSample = 8 << 10

// nonASCIIWords collects the words of a text that have bytes beyond ASCII. It cuts at bytes that no encoding has as the
// second of a character.
func nonASCIIWords(body []byte) []byte {
	var out []byte
	for len(body) > 0 && len(out) < maxSample {
		first := beyondASCII(body)
		end := first
		for end < len(body) && end-first < maxSample && !isSeparator(body[end]) {
			end++
		}
		out = append(append(out, body[first:end]...), ' ')
		body = body[end:]
	}
	return out
}

func isSeparator(c byte) bool { return c < '0' || c > '9' && c < '@' }

// eastAsian are the encodings that have characters of several bytes.
var eastAsian = []struct{ name, decode, frequent string }{
	{"shift_jis", "shift_jis", japanese}, {"euc-jp", "euc-jp", japanese}, {"euc-kr", "euc-kr", korean},
	{"gbk", "gb18030", simplified}, {"big5", "big5", traditional},
}

// The bounds of an encoding of East Asia.
const (
	// minFrequent is the least share of frequent characters: texts have a half or more, in a wrong encoding one in ten.
	minFrequent = 0.2
	// maxInvalid is the greatest share of invalid bytes, more than one.
	maxInvalid = 0.05
)

// detectCJK returns the encoding of East Asia in which a text has the most frequent characters; empty if it has few.
func detectCJK(text []byte) string {
	best, most := "", minFrequent
	for _, c := range eastAsian {
		e, _ := htmlindex.Get(c.decode)
		decoded, err := e.NewDecoder().Bytes(text)
		if err != nil {
			continue
		}
		if share := frequency(decoded, frequentOf()[c.name]); share > most {
			best, most = c.name, share
		}
	}
	return best
}

// frequency is the share of frequent characters among those that are no ASCII and no punctuation.
func frequency(text []byte, frequent map[rune]bool) float64 {
	all, known, invalid := 0, 0, 0
	for _, r := range string(text) {
		switch {
		case r == utf8.RuneError:
			invalid++
		case r < utf8.RuneSelf, r >= 0x3000 && r < 0x3040, r >= 0xFF00 && r < 0xFF61:
		case frequent[r]:
			known++
			all++
		default:
			all++
		}
	}
	if float64(invalid) > maxInvalid*float64(all+invalid) && invalid > 1 || all < 2 {
		return 0
	}
	return float64(known) / float64(all)
}

var frequentOf = sync.OnceValue(func() map[string]map[rune]bool {
	sets := map[string]map[rune]bool{}
	for _, c := range eastAsian {
		set := map[rune]bool{}
		for _, r := range c.frequent {
			set[r] = true
		}
		if c.frequent == japanese {
			for r := rune(0x3041); r < 0x30FF; r++ { // kana
				set[r] = true
			}
		}
		sets[c.name] = set
	}
	return sets
})

// A pair is a byte and the one before it.
type pair struct {
	before, at byte
	count      float64
}

// countPairs counts the bytes beyond ASCII, each with the byte before it. Many equal ones say little more than a few.
func countPairs(body []byte) (pairs []pair) {
	counts := make([]int32, 1<<15)
	before := byte(' ')
	for _, c := range body {
		if c >= utf8.RuneSelf {
			counts[int(before)<<7|int(c&0x7F)]++
		}
		before = c
	}
	for i, n := range counts {
		if n > 0 {
			pairs = append(pairs, pair{byte(i >> 7), byte(i&0x7F) | 0x80, math.Sqrt(float64(n))})
		}
	}
	return pairs
}

// A model is a language in an encoding.
type model struct {
	charset string
	latin   bool         // words have letters of ASCII
	letters [128]float64 // logarithm of the probability of each byte beyond ASCII
	class   [128]class
	prior   float64
}

type class int

const (
	noLetter class = iota
	lowerCase
	upperCase
	mark // that combines with the letter before it
)

// The logarithms of probabilities by which neighbors count.
var (
	logLikely    = math.Log(0.9)
	logUnlikely  = math.Log(0.06)
	logWrongCase = math.Log(0.01)
	capital      = math.Log(0.2) // of a letter, at the beginning of a word
	inside       = math.Log(0.5) // of a capital behind another
	sign         = math.Log(0.005)
	logForeign   = math.Log(0.0004)  // a letter that the language does not have, or a symbol
	undefined    = math.Log(0.00001) // no character
)

// likelihood is the logarithm of how likely a text is.
func (m *model) likelihood(pairs []pair) float64 {
	sum := m.prior
	for _, p := range pairs {
		i := p.at & 0x7F
		score := m.letters[i]
		before, ascii := noLetter, isLetter(p.before)
		if p.before >= utf8.RuneSelf {
			before = m.class[p.before&0x7F]
		} else if ascii && p.before >= 'a' {
			before = lowerCase
		} else if ascii {
			before = upperCase
		}
		switch at := m.class[i]; {
		case at == mark:
		case at == noLetter:
			if before != noLetter && m.letters[i] <= logForeign {
				score += logUnlikely
			}
		case before == noLetter:
			if at == upperCase {
				score += capital
			}
		case ascii == m.latin:
			score += logLikely
		default:
			score += logUnlikely
		}
		if m.class[i] == upperCase && before == lowerCase {
			score += logWrongCase
		} else if m.class[i] == upperCase && before == upperCase {
			score += inside
		}
		sum += score * p.count
	}
	return sum
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// models are the languages in each of their encodings.
var models = sync.OnceValue(func() (list []*model) {
	for _, l := range languages {
		for _, name := range strings.Fields(l.charsets) {
			list = append(list, newModel(name, l.letters, l.latin))
		}
	}
	return list
})

// newModel makes a model of letters in the order of their frequency: the probability of a letter falls with its rank.
func newModel(name, letters string, latin bool) *model {
	m := &model{charset: name, latin: latin}
	if name != "windows-1252" {
		m.prior = math.Log(0.03)
	}
	rank, total := map[rune]float64{}, 0.0
	for _, r := range letters {
		rank[r] = 1 / (float64(len(rank)) + 3)
		total += rank[r]
	}
	e, _ := htmlindex.Get(name)
	table := e.(*charmap.Charmap)
	for i := range m.letters {
		r := table.DecodeByte(byte(i) | 0x80)
		low := unicode.ToLower(r)
		switch {
		case unicode.IsMark(r) && rank[r] > 0:
			m.class[i] = mark
		case unicode.IsLetter(r) && low != r:
			m.class[i] = upperCase
		case unicode.IsLetter(r):
			m.class[i] = lowerCase
		}
		switch {
		case rank[low] > 0:
			m.letters[i] = math.Log(rank[low] / total)
		case r == utf8.RuneError, r < 0xA0:
			m.letters[i] = undefined
		case strings.ContainsRune(signs, r):
			m.letters[i] = sign
		default:
			m.letters[i] = logForeign
		}
	}
	return m
}

// signs are those of all languages.
const signs = "\u00A0«»“”„‚‘’–—…©®°§·•№€£×´\u200E\u200F"
