package textutil

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func sentencesOf(text string) int {
	n, state := 0, -1
	for text != "" {
		_, text, state = uniseg.FirstSentenceInString(text, state)
		n++
	}
	return n
}

// sentenceLetters stand for the classes in sentenceRules: R is CR, N LF, P Sep, X Extend, S Sp, l Lower,
// U Upper, O OLetter, 1 Numeric, A ATerm, c SContinue, T STerm, C Close.
var sentenceLetters = map[rune]rune{
	'\r': 'R', '\n': 'N', 0x2028: 'P', 0x301: 'X', 0xad: 'X', 0x200d: 'X', ' ': 'S', 'a': 'l', 'B': 'U', 'א': 'O', '1': '1',
	'.': 'A',
	',': 'c', '!': 'T', ')': 'C', '"': 'C', '₤': '_',
}

// sentenceRules are those of UAX 29 section 5.1 as they are written there.
var sentenceRules = []struct {
	left, right string
	breaks      bool
}{
	{`R$`, `^N`, false},                 // SB3
	{`[PRN]$`, ``, true},                // SB4
	{``, `^X`, false},                   // SB5
	{`A$`, `^1`, false},                 // SB6
	{`[Ul]A$`, `^U`, false},             // SB7
	{`AC*S*$`, `^[^OUlPRNAT]*l`, false}, // SB8
	{`[AT]C*S*$`, `^[cAT]`, false},      // SB8a
	{`[AT]C*$`, `^[CSPRN]`, false},      // SB9
	{`[AT]C*S*$`, `^[SPRN]`, false},     // SB10
	{`[AT]C*S*[PRN]?$`, ``, true},       // SB11
	{``, ``, false},                     // SB998
}

// TestSentenceRules compares with the rules as they are written, which other implementations do not
// follow where a paragraph ends behind spaces.
func TestSentenceRules(t *testing.T) {
	random := rand.New(rand.NewChaCha8([32]byte{}))
	alphabet := []rune{}
	for _, c := range "\r\n\u2028\u0301\u00ad\u200d aBא1.,!)\"₤" {
		alphabet = append(alphabet, c)
	}
	rules := make([][2]*regexp.Regexp, len(sentenceRules))
	for i, r := range sentenceRules {
		rules[i] = [2]*regexp.Regexp{regexp.MustCompile(r.left), regexp.MustCompile(r.right)}
	}
	for range 4000 {
		text, classes := "", ""
		for range 1 + random.IntN(12) {
			c := alphabet[random.IntN(len(alphabet))]
			text += string(c)
			classes += string(sentenceLetters[c])
		}
		want := 1
		for i := 1; i < len(classes); i++ {
			left, right := withoutExtend(classes[:i]), classes[i:]
			if !strings.HasPrefix(right, "X") {
				right = withoutExtend(right)
			}
			for j, r := range rules {
				if r[0].MatchString(left) && r[1].MatchString(right) {
					if sentenceRules[j].breaks {
						want++
					}
					break
				}
			}
		}
		if got := countSentences(text); got != want {
			t.Errorf("%+q (%s): %d sentences; want %d", text, classes, got, want)
		}
	}
}

var extends = regexp.MustCompile(`([^PRNX])X+`)

// withoutExtend applies rule SB5.
func withoutExtend(classes string) string { return extends.ReplaceAllString(classes, "$1") }
