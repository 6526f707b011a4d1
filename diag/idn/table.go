package idn

import (
	"cmp"
	_ "embed" // for the data
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// table returns what Unicode says of code points. It is read when it is needed first.
var table = sync.OnceValue(func() *properties {
	p, err := parseTable(unicodeText)
	if err != nil {
		panic(err) // the text is a part of the program
	}
	return p
})

func parseTable(text string) (*properties, error) {
	p := &properties{
		combining: map[rune]uint8{}, composed: map[[2]rune]rune{}, decomposed: map[rune][2]rune{},
		later: map[rune]bool{},
	}
	section := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch name, ok := strings.CutPrefix(line, "@"); {
		case line == "" || line[0] == '#':
		case ok:
			section = name
		default:
			if err := p.add(section, strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("unicode.txt: line %d: %w", n, err)
			}
		}
	}
	slices.SortFunc(p.classes, func(a, b classSpan) int { return cmp.Compare(a.first, b.first) })
	slices.SortFunc(p.scripts, func(a, b scriptSpan) int { return cmp.Compare(a.first, b.first) })
	return p, nil
}

func (p *properties) add(section string, words []string) error {
	switch section {
	case "mapped":
		return p.addMapped(words)
	case "ccc":
		return p.addCombining(words)
	case "composed":
		return p.addComposed(words)
	}
	list := map[string]*spans{
		"valid": &p.valid, "ignored": &p.ignored, "symbol": &p.symbol, "mark": &p.mark, "virama": &p.virama,
		"joining.D": &p.joinD, "joining.R": &p.joinR, "joining.L": &p.joinL, "joining.T": &p.joinT,
	}[section]
	className, isBidi := strings.CutPrefix(section, "bidi.")
	class, known := classNames[className]
	script, isScript := strings.CutPrefix(section, "script.")
	if list == nil && !isScript && (!isBidi || !known) {
		return fmt.Errorf("unknown section %q", section)
	}
	for _, w := range words {
		s, err := parseSpan(w)
		switch {
		case err != nil:
			return err
		case isScript:
			p.scripts = append(p.scripts, scriptSpan{s, script})
		case isBidi:
			p.classes = append(p.classes, classSpan{s, class})
		default:
			*list = append(*list, s)
		}
	}
	return nil
}

func (p *properties) addMapped(words []string) error {
	text, every, stepped := strings.Cut(words[0], "/")
	s, err := parseSpan(text)
	if err != nil || len(words) < 2 || stepped && every != "2" {
		return fmt.Errorf("bad mapping %q", words)
	}
	m := mapping{span: s, step: 1}
	if stepped {
		m.step = 2
	}
	if target := words[1]; target[0] == '+' || target[0] == '-' {
		n, err := strconv.ParseInt(target, 10, 32)
		m.shift = rune(n)
		p.mapped = append(p.mapped, m)
		return err
	}
	for _, w := range words[1:] {
		r, err := parseRune(w)
		if err != nil {
			return err
		}
		m.to += string(r)
	}
	p.mapped = append(p.mapped, m)
	return nil
}

func (p *properties) addCombining(words []string) error {
	s, err := parseSpan(words[0])
	if err != nil || len(words) != 2 {
		return fmt.Errorf("bad combining class %q", words)
	}
	class, err := strconv.ParseUint(words[1], 10, 8)
	for r := s.first; r <= s.last; r++ {
		p.combining[r], p.later[r] = uint8(class), true
	}
	return err
}

func (p *properties) addComposed(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("bad composition %q", words)
	}
	var rs [3]rune
	for i, w := range words {
		var err error
		if rs[i], err = parseRune(w); err != nil {
			return err
		}
	}
	p.composed[[2]rune{rs[1], rs[2]}] = rs[0]
	p.decomposed[rs[0]] = [2]rune{rs[1], rs[2]}
	p.later[rs[0]], p.later[rs[1]] = true, true
	return nil
}

func parseSpan(s string) (span, error) {
	first, last, found := strings.Cut(s, "-")
	if !found {
		last = first
	}
	a, err := parseRune(first)
	if err != nil {
		return span{}, err
	}
	b, err := parseRune(last)
	return span{a, b}, err
}

func parseRune(s string) (rune, error) {
	n, err := strconv.ParseUint(s, 16, 21)
	return rune(n), err
}

// A status says what becomes of a code point in a name (UTS #46 section 5).
type status int

const (
	disallowed status = 0
	valid      status = 1 // stays
	ignored    status = 2 // is left out
	mapped     status = 3 // becomes something else
)

// statusOf returns what becomes of a code point; to is what a mapped one becomes.
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
