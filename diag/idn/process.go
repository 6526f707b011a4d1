package idn

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/text/unicode/norm"
)

// acePrefix begins an A-label (RFC 5890 section 2.3.2.1).
const acePrefix = "xn--"

// Bounds of the DNS, in octets (RFC 1035 section 2.3.4); that of the name is without the final dot.
const (
	maxLabel = 63
	maxName  = 253
)

type kind int

const (
	emptyLabel   kind = 1
	longLabel    kind = 2  // in ASCII
	badPunycode  kind = 3  // an A-label that does not decode
	notCanonical kind = 4  // an A-label that decodes to text with another A-label
	notPlain     kind = 5  // ASCII that is no letter, digit or hyphen
	notAllowed   kind = 6  // a code point that names may not have
	doubleHyphen kind = 7  // in the third and fourth place
	edgeHyphen   kind = 8  // at the beginning or end
	leadingMark  kind = 9  // a combining mark at the beginning
	badDirection kind = 10 // RFC 5893
	badJoiner    kind = 11 // RFC 5892 appendix A.1 and A.2
)

// A fault is a rule that a label does not keep.
type fault struct {
	kind   kind
	detail string // what was seen, a sentence
	at     rule.Location
}

type label struct {
	source  string // what was typed
	at      rule.Location
	unicode string // U-label, or the text as mapped if it cannot be decoded
	ascii   string // A-label, or the text itself if it is ASCII
	encoded bool   // was typed as an A-label
	faults  []fault
}

func (l *label) fail(k kind, format string, args ...any) {
	l.faults = append(l.faults, fault{k, fmt.Sprintf(format, args...), l.at})
}

// failAt is fail for a code point, which is looked for in what was typed.
func (l *label) failAt(k kind, r rune, format string, args ...any) {
	l.fail(k, format, args...)
	if typed, i := l.typed(r); i >= 0 && !l.encoded {
		l.faults[len(l.faults)-1].at = rule.Location{Offset: l.at.Offset + i, Length: utf8.RuneLen(typed)}
	}
}

// typed returns the character that was typed for one of the label, and where; the place is -1 if it is not known.
func (l *label) typed(r rune) (rune, int) {
	if i := strings.IndexRune(l.source, r); i >= 0 {
		return r, i
	}
	for i, c := range l.source {
		if s, to := table().statusOf(c); s == mapped && strings.ContainsRune(to, r) {
			return c, i
		}
	}
	return r, -1
}

// A name is a domain name taken apart.
type name struct {
	labels []*label
	root   bool // ends in a dot
}

func (n *name) ascii() string { return n.join(func(l *label) string { return l.ascii }) }

// unicode returns the name with U-labels, without the final dot.
func (n *name) unicode() string { return n.join(func(l *label) string { return l.unicode }) }

func (n *name) join(form func(*label) string) string {
	return strings.Join(kit.Map(n.labels, form), ".")
}

// process takes a name apart by the algorithm of UTS #46 section 4, non-transitional, with all its
// checks. The text is valid UTF-8.
func process(text string) *name {
	n := &name{labels: split(text)}
	if last := len(n.labels) - 1; last > 0 && n.labels[last].unicode == "" {
		n.labels, n.root = n.labels[:last], true
	}
	for _, l := range n.labels {
		l.convert()
	}
	if n.isBidi() {
		for _, l := range n.labels {
			l.checkDirection()
		}
	}
	return n
}

// split maps and normalizes the text, and divides it at the dots. Neither moves a dot.
func split(text string) []*label {
	p := table()
	var b strings.Builder
	labels := []*label{}
	begin := 0
	end := func(i int) {
		labels = append(labels, &label{
			source: text[begin:i], at: rule.Location{Offset: begin, Length: i - begin}, unicode: nfc(b.String()),
		})
		b.Reset()
	}
	for i, r := range text {
		out := string(r)
		switch s, to := p.statusOf(r); s {
		case ignored:
			continue
		case mapped:
			out = to
		}
		if out == "." {
			end(i)
			begin = i + utf8.RuneLen(r)
			continue
		}
		b.WriteString(out)
	}
	end(len(text))
	return labels
}

// convert finds both forms of a label and checks it.
func (l *label) convert() {
	if l.unicode == "" {
		l.fail(emptyLabel, "The name has an empty label between two dots.")
		return
	}
	if puny, ok := strings.CutPrefix(l.unicode, acePrefix); ok {
		l.encoded = true
		switch text, err := decodePunycode(puny); {
		case err != nil:
			l.fail(badPunycode, "%q does not decode.", l.unicode)
		case text == "":
			// UTS #46 section 4 (P4): an error, and a label must not vanish because of it.
			l.fail(badPunycode, "%q decodes to nothing.", l.unicode)
		default:
			if isASCII(text) {
				l.fail(badPunycode, "%q decodes to plain ASCII, %q, which needs no encoding.", l.unicode, text)
			}
			l.unicode = text
			l.checkText()
		}
	} else {
		l.checkText()
	}
	l.ascii = l.unicode
	if !isASCII(l.unicode) {
		// Text of this length always has an encoding, see maxPunycode.
		if puny, err := encodePunycode(l.unicode); err == nil {
			l.ascii = acePrefix + puny
		}
	}
	l.checkLength()
}

func (l *label) checkLength() {
	if len(l.ascii) > maxLabel {
		l.fail(longLabel, "The label has %d octets in ASCII; the most is %d.", len(l.ascii), maxLabel)
	}
}

// nfc returns the text in normalization form C. The library knows the characters of Unicode 15; text
// with later ones that matter is normalized here, step by step (Unicode Standard section 3.11).
func nfc(text string) string {
	p := table()
	if !strings.ContainsFunc(text, p.normalizesAnew) {
		return norm.NFC.String(text)
	}
	var rs []rune
	for _, r := range text {
		rs = p.decompose(rs, r)
	}
	p.order(rs)
	return string(p.compose(rs))
}

// normalizesAnew reports whether the library does not know how a character is normalized.
func (p *properties) normalizesAnew(r rune) bool { return r >= 0x80 && p.later[r] }

func (p *properties) decompose(to []rune, r rune) []rune {
	if parts, ok := p.decomposed[r]; ok {
		return p.decompose(p.decompose(to, parts[0]), parts[1])
	}
	return append(to, []rune(norm.NFD.String(string(r)))...)
}

func (p *properties) combiningClass(r rune) uint8 {
	if class, ok := p.combining[r]; ok {
		return class
	}
	return norm.NFD.PropertiesString(string(r)).CCC()
}

// order sorts the marks behind each letter by their classes.
func (p *properties) order(rs []rune) {
	for i := 0; i < len(rs); {
		j := i
		for j < len(rs) && p.combiningClass(rs[j]) != 0 {
			j++
		}
		slices.SortStableFunc(rs[i:j], func(a, b rune) int {
			return int(p.combiningClass(a)) - int(p.combiningClass(b))
		})
		i = j + 1
	}
}

// compose joins each letter with the marks behind it that are not blocked by others.
func (p *properties) compose(rs []rune) []rune {
	out := make([]rune, 0, len(rs))
	starter, last := -1, uint8(0) // the place of the letter, and the class of the last character after it
	for _, r := range rs {
		class := p.combiningClass(r)
		adjacent := starter == len(out)-1
		if starter >= 0 && (adjacent || last != 0 && last < class) {
			if c, ok := p.pair(out[starter], r); ok {
				out[starter] = c
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, r)
	}
	return out
}

func (p *properties) pair(a, b rune) (rune, bool) {
	if c, ok := p.composed[[2]rune{a, b}]; ok {
		return c, true
	}
	joined := []rune(norm.NFC.String(string(a) + string(b)))
	return joined[0], len(joined) == 1
}
