package idn

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

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

// decompose appends the full canonical decomposition of a character.
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
	starter, last := -1, uint8(0) // where the letter is, and the class of what stands last behind it
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

// pair joins two characters to one.
func (p *properties) pair(a, b rune) (rune, bool) {
	if c, ok := p.composed[[2]rune{a, b}]; ok {
		return c, true
	}
	joined := []rune(norm.NFC.String(string(a) + string(b)))
	return joined[0], len(joined) == 1
}
