package idn

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/text/unicode/bidi"
)

const (
	zwnj = '\u200C' // zero width non-joiner
	zwj  = '\u200D' // zero width joiner
)

// checkText checks the characters of a label (UTS #46 section 4.1).
func (l *label) checkText() {
	p := table()
	rs := []rune(l.unicode)
	if len(rs) == 0 {
		return
	}
	if l.encoded && nfc(l.unicode) != l.unicode {
		l.fail(notCanonical, "%q decodes to text that is not in normalization form C.", l.source)
	}
	if len(rs) >= 4 && rs[2] == '-' && rs[3] == '-' {
		l.fail(doubleHyphen, "The third and fourth characters are hyphens.")
	}
	if rs[0] == '-' || rs[len(rs)-1] == '-' {
		l.fail(edgeHyphen, "The label begins or ends with a hyphen.")
	}
	if p.mark.contain(rs[0]) {
		l.failAt(leadingMark, rs[0], "The label begins with the combining mark %U.", rs[0])
	}
	for i, r := range rs {
		l.checkRune(p, r)
		if r == zwnj || r == zwj {
			l.checkJoiner(p, rs, i)
		}
	}
}

func (l *label) checkRune(p *properties, r rune) {
	if r < utf8.RuneSelf {
		// STD3, RFC 1123 section 2.1.
		if r != '-' && (r < '0' || '9' < r) && (r < 'a' || 'z' < r) {
			from := ""
			if typed, _ := l.typed(r); typed != r {
				from = ", typed as " + input.DescribeRune(typed)
			}
			l.failAt(notPlain, r, "The label has the character %q%s.", r, from)
		}
		return
	}
	switch s, _ := p.statusOf(r); s {
	case valid:
	case disallowed:
		l.failAt(notAllowed, r, "Names may not have %s.", input.DescribeRune(r))
	default:
		l.fail(notCanonical, "%q decodes to text with %s, which maps to other text.", l.source, input.DescribeRune(r))
	}
}

// checkJoiner checks that a joiner is where it changes the look of the text: after a virama, or a non-joiner between
// letters that would join (RFC 5892 appendix A.1, A.2).
func (l *label) checkJoiner(p *properties, rs []rune, i int) {
	if i > 0 && (p.virama.contain(rs[i-1]) || p.combining[rs[i-1]] == 9) {
		return
	}
	if rs[i] == zwnj && p.joinsBefore(rs[:i]) && p.joinsAfter(rs[i+1:]) {
		return
	}
	l.failAt(badJoiner, rs[i], "%s is where it changes nothing.", input.DescribeRune(rs[i]))
}

// joinsBefore reports whether the text ends with a letter that joins to the next one.
func (p *properties) joinsBefore(rs []rune) bool {
	for _, r := range slices.Backward(rs) {
		if !p.joinT.contain(r) {
			return p.joinL.contain(r) || p.joinD.contain(r)
		}
	}
	return false
}

// joinsAfter reports whether the text begins with a letter that joins to the one before.
func (p *properties) joinsAfter(rs []rune) bool {
	for _, r := range rs {
		if !p.joinT.contain(r) {
			return p.joinR.contain(r) || p.joinD.contain(r)
		}
	}
	return false
}

// isBidi reports whether a label has a character that is written from right to left: then all labels
// must keep the rules for such names (RFC 5893 section 1.4).
func (n *name) isBidi() bool {
	p := table()
	for _, l := range n.labels {
		for _, r := range l.unicode {
			if c := p.classOf(r); c == bidi.R || c == bidi.AL || c == bidi.AN {
				return true
			}
		}
	}
	return false
}

// checkDirection checks the six rules of RFC 5893 section 2.
func (l *label) checkDirection() {
	if l.unicode == "" {
		return
	}
	p := table()
	classes := kit.Map([]rune(l.unicode), p.classOf)
	inside := []bidi.Class{bidi.EN, bidi.ES, bidi.CS, bidi.ET, bidi.ON, bidi.BN, bidi.NSM}
	var ends []bidi.Class
	switch classes[0] {
	case bidi.R, bidi.AL:
		inside = append(inside, bidi.R, bidi.AL, bidi.AN)
		ends = []bidi.Class{bidi.R, bidi.AL, bidi.EN, bidi.AN}
	case bidi.L:
		inside = append(inside, bidi.L)
		ends = []bidi.Class{bidi.L, bidi.EN}
	default: // rule 1
		l.fail(badDirection, "In a name with text from right to left, the label does not begin with a letter.")
		return
	}
	for i, r := range []rune(l.unicode) { // rules 2 and 5
		if !slices.Contains(inside, classes[i]) {
			l.failAt(badDirection, r, "In this label text from right to left and from left to right is mixed, by %s.",
				input.DescribeRune(r))
			return
		}
	}
	last := len(classes) - 1
	for last > 0 && classes[last] == bidi.NSM {
		last--
	}
	if !slices.Contains(ends, classes[last]) { // rules 3 and 6
		l.fail(badDirection, "In a name with text from right to left, the label does not end with a letter or digit.")
	}
	if classes[0] != bidi.L && slices.Contains(classes, bidi.EN) && slices.Contains(classes, bidi.AN) { // rule 4
		l.fail(badDirection, "The label has both European and Arabic digits.")
	}
}

// outOfContext describes the character of a label that IDNA 2008 does not allow in its context; empty without one
// (RFC 5892 appendix A.3 to A.9). Registries check these rules; lookups need not.
func outOfContext(text string) string {
	rs := []rune(text)
	for i, r := range rs {
		if why := contextOf(rs, i); why != "" {
			return fmt.Sprintf("%s %s.", input.DescribeRune(r), why)
		}
	}
	return ""
}

// contextOf returns why a character is not allowed in its place; empty if it is.
func contextOf(rs []rune, i int) string {
	script := func(i int) []string {
		if i < 0 || i == len(rs) {
			return nil
		}
		return scriptsOf(string(rs[i]))
	}
	within := func(first, last rune) bool {
		return slices.ContainsFunc(rs, func(r rune) bool { return first <= r && r <= last })
	}
	switch r := rs[i]; {
	case r == '·' && !(0 < i && i+1 < len(rs) && rs[i-1] == 'l' && rs[i+1] == 'l'):
		return "is not between two letters l"
	case r == '\u0375' && !slices.Contains(script(i+1), "Greek"):
		return "is not followed by a Greek letter"
	case (r == '\u05F3' || r == '\u05F4') && !slices.Contains(script(i-1), "Hebrew"):
		return "does not follow a Hebrew letter"
	case r == '・' && !slices.ContainsFunc(scriptsOf(string(rs)), isJapanese):
		return "is in a label without Japanese characters"
	case '\u0660' <= r && r <= '\u0669' && within('\u06F0', '\u06F9'):
		return "is mixed with digits of the other Arabic kind"
	}
	return ""
}

func isJapanese(script string) bool {
	return script == "Hiragana" || script == "Katakana" || script == "Han"
}

// A scriptSpan is a range of code points of one script.
type scriptSpan struct {
	span
	script string
}

// scriptSpans lists the ranges of all scripts that the standard library knows, in order.
var scriptSpans = sync.OnceValue(func() []scriptSpan {
	var list []scriptSpan
	for name, t := range unicode.Scripts {
		for _, r := range t.R16 {
			list = appendSpans(list, name, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			list = appendSpans(list, name, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(list, func(a, b scriptSpan) int { return cmp.Compare(a.first, b.first) })
	return list
})

func appendSpans(list []scriptSpan, script string, first, last, stride rune) []scriptSpan {
	if stride == 1 {
		return append(list, scriptSpan{span{first, last}, script})
	}
	for r := first; r <= last; r += stride {
		list = append(list, scriptSpan{span{r, r}, script})
	}
	return list
}

// scriptsOf lists the scripts of a text, sorted, without those that go with every script, and those of
// code points that are no characters.
func scriptsOf(text string) []string {
	list := []string{}
	known, later := scriptSpans(), table().scripts
	for _, r := range text {
		script := cmp.Or(scriptIn(known, r), scriptIn(later, r), "Common")
		if script != "Common" && script != "Inherited" && !slices.Contains(list, script) {
			list = append(list, script)
		}
	}
	slices.Sort(list)
	return list
}

// scriptIn returns the script of a code point, or nothing if it is not in the list.
func scriptIn(list []scriptSpan, r rune) string {
	i, found := slices.BinarySearchFunc(list, r, func(s scriptSpan, r rune) int { return s.compare(r) })
	if !found {
		return ""
	}
	return list[i].script
}

// together lists the scripts that languages use together, beside Latin (UTS #39 section 5.2, Highly Restrictive).
var together = [][]string{
	{"Han", "Hiragana", "Katakana", "Latin"}, // Japanese
	{"Bopomofo", "Han", "Latin"},             // Chinese
	{"Han", "Hangul", "Latin"},               // Korean
}

// aMix says how unusual the scripts of a label are together.
type aMix int

const (
	usual   aMix = 0 // one script, or scripts that a language uses together
	unusual aMix = 1 // Latin and one other, which cannot be confused with it
	mixed   aMix = 2
)

// recommended lists scripts that go with Latin in names without danger: those in modern use (UAX #31 table 5), less
// Cyrillic and Greek, whose letters look like Latin ones (UTS #39 section 5.2, Moderately Restrictive).
var recommended = []string{"Arabic", "Armenian", "Bengali", "Bopomofo", "Devanagari", "Ethiopic", "Georgian",
	"Gujarati", "Gurmukhi", "Han", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Lao", "Malayalam",
	"Myanmar", "Oriya", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai", "Tibetan"}

func mixOf(scripts []string) aMix {
	if len(scripts) < 2 {
		return usual
	}
	for _, t := range together {
		if !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(t, s) }) {
			return usual
		}
	}
	latin := slices.Index(scripts, "Latin")
	if len(scripts) == 2 && latin >= 0 && slices.Contains(recommended, scripts[1-latin]) {
		return unusual
	}
	return mixed
}
