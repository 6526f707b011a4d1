package textutil

import (
	"math/rand/v2"
	"regexp"
	"slices"
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

// sentenceLetters are the symbols of the classes in sentenceRules: R is CR, N LF, P Sep, X Extend, S Sp, l Lower,
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
		if got := len(slices.Collect(sentences(text))); got != want {
			t.Errorf("%+q (%s): %d sentences; want %d", text, classes, got, want)
		}
	}
}

var extends = regexp.MustCompile(`([^PRNX])X+`)

// withoutExtend applies rule SB5.
func withoutExtend(classes string) string { return extends.ReplaceAllString(classes, "$1") }

func TestSentencesOfPeople(t *testing.T) {
	for text, want := range map[string]int{
		// Abbreviations and initials.
		"Dr. Smith went home.": 1, "Mr. and Mrs. Jones met Prof. Lee. They talked.": 2, "DR. SMITH WENT. HE SLEPT.": 2,
		"J. R. R. Tolkien wrote it. John F. Kennedy read it.": 2, "Fruit, e.g. Apples, i.e. Braeburn.": 1,
		"See No. 5 and Fig. 3, p. 12. It is vol. 2.": 2, "No. That is wrong.": 2, "Is it? No. 5 is right.": 2,
		"Acme Inc. Chief Executive Jane Roe left. She works at Acme Inc. The firm is large.": 3,
		"The U.S. Senate met at 5 p.m. Monday. He lives in the U.S. She does not.":           3,
		"Martin Luther King Jr. Day is in January. Ask Dr. “Bones” McCoy.":                   2,
		"She has a Ph.D. Her name is Roe.":                                                   2,
		"Apples, pears, etc. Then we left.":                                                  2, "Roe v. Wade. St. Peter. Mt. Everest.": 3, "He came 3rd. John won.": 2,
		"On Dec. 5 they met. In Sept. John came.": 2, "Das ist z.B. Herr Müller bzw. Frau Roe. Er kommt.": 2,
		"(Dr. Smith) went. [See Prof. Lee.] Yes.": 3,
		// Numbers, names of hosts and items of lists.
		"It is 3.14 or 1,234.56. Right.": 2, "Visit example.com. It works.": 2, "Read www.example.com/a.html now.": 1,
		"1. First do this.\n2. Then do that.": 2, "It was 1990. He left.": 2, "Version 2.0.1 is out. Get it.": 2,
		// Ends of sentences.
		"What?! Really... Yes!": 3, "Wait... what?": 1, "\"Why?\" he asked. (No!) she said.": 2,
		"He said “Go.” She went.": 2, "It ends (here.) Then it goes on.": 2, "One.\nTwo.": 2, "Dr.\nSmith": 2,
		"今日は。元気？はい！": 3, "「はい。」と言った。": 2, "Plan B. The end.": 2, "": 0, "Dr.": 1, "a": 1,
	} {
		if got := countSentences(text); got != want {
			t.Errorf("%q: %d sentences; want %d", text, got, want)
		}
	}
}
