package idn

import (
	"cmp"
	_ "embed" // for the data
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/text/unicode/bidi"
)

//go:embed unicode.txt
var unicodeText string

// A span is a range of code points.
type span struct{ first, last rune }

// spans is a sorted list of ranges that do not overlap.
type spans []span

func (s spans) contain(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(s span, r rune) int { return s.compare(r) })
	return found
}

func (s span) compare(r rune) int {
	switch {
	case s.last < r:
		return -1
	case s.first > r:
		return 1
	}
	return 0
}

type mapping struct {
	span
	step  rune   // 2 if only every second code point is meant, else 1
	shift rune   // by how much each moves
	to    string // what all become, if shift is 0
}

// properties is the content of unicode.txt.
type properties struct {
	mapped                     []mapping
	valid, ignored, symbol     spans
	mark, virama               spans
	joinD, joinR, joinL, joinT spans
	classes                    []classSpan
	scripts                    []scriptSpan     // of characters that came after Unicode 15
	combining                  map[rune]uint8   // classes of marks that came after Unicode 15
	composed                   map[[2]rune]rune // characters that came after Unicode 15 by their two parts
	decomposed                 map[rune][2]rune
	later                      map[rune]bool // the characters in the three maps that begin what is joined or sorted
}

type classSpan struct {
	span
	class bidi.Class
}

// classNames are the classes that text in names may have, beside L.
var classNames = map[string]bidi.Class{
	"R": bidi.R, "EN": bidi.EN, "ES": bidi.ES, "ET": bidi.ET, "AN": bidi.AN, "CS": bidi.CS, "B": bidi.B, "S": bidi.S,
	"WS": bidi.WS, "ON": bidi.ON, "BN": bidi.BN, "NSM": bidi.NSM, "AL": bidi.AL,
}

// table returns the Unicode properties of code points. It is parsed on first use. It panics if it is malformed,
// because it is part of the program.
var table = sync.OnceValue(func() *properties {
	p := &properties{
		combining: map[rune]uint8{}, composed: map[[2]rune]rune{}, decomposed: map[rune][2]rune{},
		later: map[rune]bool{},
	}
	section := ""
	for line := range strings.Lines(unicodeText) {
		line = strings.TrimSpace(line)
		switch name, ok := strings.CutPrefix(line, "@"); {
		case line == "" || line[0] == '#':
		case ok:
			section = name
		default:
			p.add(section, strings.Fields(line))
		}
	}
	slices.SortFunc(p.classes, func(a, b classSpan) int { return cmp.Compare(a.first, b.first) })
	slices.SortFunc(p.scripts, func(a, b scriptSpan) int { return cmp.Compare(a.first, b.first) })
	return p
})

func (p *properties) add(section string, words []string) {
	switch section {
	case "mapped":
		p.addMapped(words)
		return
	case "ccc":
		p.addCombining(words)
		return
	case "composed":
		p.addComposed(words)
		return
	}
	list := map[string]*spans{
		"valid": &p.valid, "ignored": &p.ignored, "symbol": &p.symbol, "mark": &p.mark, "virama": &p.virama,
		"joining.D": &p.joinD, "joining.R": &p.joinR, "joining.L": &p.joinL, "joining.T": &p.joinT,
	}[section]
	className, isBidi := strings.CutPrefix(section, "bidi.")
	script, isScript := strings.CutPrefix(section, "script.")
	for _, w := range words {
		s := parseSpan(w)
		switch {
		case isScript:
			p.scripts = append(p.scripts, scriptSpan{s, script})
		case isBidi:
			p.classes = append(p.classes, classSpan{s, classNames[className]})
		default:
			*list = append(*list, s)
		}
	}
}

func (p *properties) addMapped(words []string) {
	text, _, stepped := strings.Cut(words[0], "/")
	m := mapping{span: parseSpan(text), step: 1}
	if stepped {
		m.step = 2
	}
	if target := words[1]; target[0] == '+' || target[0] == '-' {
		m.shift = rune(parseNumber(target, 10))
	} else {
		m.to = string(kit.Map(words[1:], parseRune))
	}
	p.mapped = append(p.mapped, m)
}

func (p *properties) addCombining(words []string) {
	s, class := parseSpan(words[0]), uint8(parseNumber(words[1], 10))
	for r := s.first; r <= s.last; r++ {
		p.combining[r], p.later[r] = class, true
	}
}

func (p *properties) addComposed(words []string) {
	whole, first, second := parseRune(words[0]), parseRune(words[1]), parseRune(words[2])
	p.composed[[2]rune{first, second}] = whole
	p.decomposed[whole] = [2]rune{first, second}
	p.later[whole], p.later[first] = true, true
}

func parseSpan(s string) span {
	first, last, found := strings.Cut(s, "-")
	if !found {
		last = first
	}
	return span{parseRune(first), parseRune(last)}
}

func parseRune(s string) rune { return rune(parseNumber(s, 16)) }

func parseNumber(s string, base int) int64 {
	n, err := strconv.ParseInt(s, base, 32)
	if err != nil {
		panic(err)
	}
	return n
}

// A status is the UTS #46 status of a code point (section 5).
type status int

const (
	disallowed status = 0
	valid      status = 1 // stays
	ignored    status = 2 // is left out
	mapped     status = 3 // becomes something else
)

// statusOf returns the status of a code point; to is the mapping of a mapped one.
func (p *properties) statusOf(r rune) (s status, to string) {
	i, found := slices.BinarySearchFunc(p.mapped, r, func(m mapping, r rune) int { return m.compare(r) })
	switch {
	case found && (r-p.mapped[i].first)%p.mapped[i].step == 0:
		m := p.mapped[i]
		if m.shift != 0 {
			return mapped, string(r + m.shift)
		}
		return mapped, m.to
	case p.valid.contain(r):
		return valid, ""
	case p.ignored.contain(r):
		return ignored, ""
	}
	return disallowed, ""
}

func (p *properties) classOf(r rune) bidi.Class {
	i, found := slices.BinarySearchFunc(p.classes, r, func(c classSpan, r rune) int { return c.compare(r) })
	if !found {
		return bidi.L
	}
	return p.classes[i].class
}
