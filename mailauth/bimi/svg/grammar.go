package svg

import (
	"strconv"
	"strings"
)

type reader struct{ rest string }

func (r *reader) white() { r.rest = strings.TrimLeft(r.rest, white) }

// separator skips white space with at most one comma in it (comma-wsp).
func (r *reader) separator() (comma bool) {
	r.white()
	if rest, ok := strings.CutPrefix(r.rest, ","); ok {
		r.rest, comma = rest, true
		r.white()
	}
	return comma
}

func (r *reader) is(c byte) bool { return r.rest != "" && r.rest[0] == c }

// number reads a number (SVG Tiny 1.2 chapter 4). Numbers need no separator where a sign or a second point
// begins the next, and what looks like the beginning of an exponent may be the unit em.
func (r *reader) number() (float64, bool) {
	rest := afterDigits(afterSign(r.rest))
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		rest = afterDigits(fraction)
	}
	if rest != "" && rest[0]|0x20 == 'e' {
		exponent := afterSign(rest[1:])
		if after := afterDigits(exponent); len(after) < len(exponent) {
			rest = after
		}
	}
	f, err := strconv.ParseFloat(r.rest[:len(r.rest)-len(rest)], 64)
	if err == nil {
		r.rest = rest
	}
	return f, err == nil
}

func afterSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func afterDigits(s string) string { return strings.TrimLeft(s, "0123456789") }

func (r *reader) flag() bool {
	if !r.is('0') && !r.is('1') {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// unitsOf are the units of lengths (SVG Tiny 1.2 chapter 7 has them on the root only; software knows them anywhere).
var unitsOf = []string{"", "px", "%", "em", "ex", "in", "cm", "mm", "pt", "pc"}

func parseLength(v string) (size float64, unit string, ok bool) {
	r := reader{strings.Trim(v, white)}
	size, ok = r.number()
	if !ok {
		return 0, "", false
	}
	for _, u := range unitsOf {
		if strings.EqualFold(r.rest, u) {
			return size, u, true
		}
	}
	return 0, "", false
}

func isLength(v string) bool {
	_, _, ok := parseLength(v)
	return ok || collapse(v) == "inherit"
}

func isAreaLength(v string) bool { return isLength(v) || collapse(v) == "auto" }

func isNumber(v string) bool {
	r := reader{strings.Trim(v, white)}
	_, ok := r.number()
	return ok && r.rest == "" || !ok && r.rest == "inherit"
}

func readNumbers(v string) (n int, ok bool) {
	r := reader{strings.Trim(v, white)}
	for r.rest != "" {
		if n > 0 && r.separator() && r.rest == "" {
			return n, false
		}
		if _, ok := r.number(); !ok {
			return n, false
		}
		n++
	}
	return n, true
}

func isNumbers(v string) bool {
	n, ok := readNumbers(v)
	return ok && n > 0 || isLength(v)
}

func isPoints(v string) bool {
	n, ok := readNumbers(v)
	return ok && n%2 == 0
}

func isDashes(v string) bool {
	switch collapse(v) {
	case "none", "inherit":
		return true
	}
	for part := range strings.FieldsFuncSeq(v, func(c rune) bool { return c == ',' || isWhite(c) }) {
		if !isLength(part) {
			return false
		}
	}
	return true
}

// transforms are the functions of transform and how many numbers each may have (SVG Tiny 1.2 chapter 7).
var transforms = map[string]string{
	"matrix": "6", "translate": "1 2", "scale": "1 2", "rotate": "1 3", "skewX": "1", "skewY": "1",
}

func isTransform(v string) bool {
	v = strings.Trim(v, white)
	if v == "none" || v == "ref(svg)" {
		return true
	}
	for v != "" {
		name, rest, ok := strings.Cut(v, "(")
		arguments, rest, closed := strings.Cut(rest, ")")
		allowed := transforms[strings.Trim(name, white)]
		n, numeric := readNumbers(arguments)
		if !ok || !closed || !numeric || allowed == "" || !strings.Contains(" "+allowed+" ", " "+strconv.Itoa(n)+" ") {
			return false
		}
		v = strings.TrimLeft(rest, ","+white)
	}
	return true
}

// commands are the path commands with their number of arguments (SVG Tiny 1.2 chapter 8). Tiny 1.2 has no arcs; they
// are accepted, since the schema allows them and receivers draw them.
var commands = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1, 'c': 6, 's': 4, 'q': 4, 't': 2, 'a': 7, 'z': 0}

// A pen follows a path, and records its extent in each direction.
type pen struct {
	x, y                     float64
	startX, startY           float64 // of the subpath
	moved                    bool
	left, top, right, bottom float64
}

func (p *pen) reach(x, y float64) {
	if !p.moved {
		p.left, p.right, p.top, p.bottom, p.moved = x, x, y, y, true
	}
	p.left, p.right = min(p.left, x), max(p.right, x)
	p.top, p.bottom = min(p.top, y), max(p.bottom, y)
}

func (p *pen) box() Box { return Box{p.left, p.top, p.right - p.left, p.bottom - p.top} }

// isPath reports whether software can draw all of a path.
func isPath(v string) bool {
	_, ok := pathBox(v)
	return ok
}

// pathBox returns the box around the points of a path, control points included, and whether all of it can be drawn.
func pathBox(v string) (Box, bool) {
	r, p := reader{strings.Trim(v, white)}, pen{}
	for first := true; r.rest != ""; first = false {
		letter := r.rest[0]
		n, ok := commands[letter|0x20]
		if !ok || first && letter|0x20 != 'm' {
			return p.box(), false
		}
		r.rest = r.rest[1:]
		r.white()
		if n == 0 {
			p.x, p.y = p.startX, p.startY
		} else if !r.arguments(letter, n, &p) {
			return p.box(), false
		}
		r.white()
	}
	return p.box(), true
}

func (r *reader) arguments(letter byte, n int, p *pen) bool {
	for repeated := false; ; repeated = true {
		var numbers [7]float64
		for i := range n {
			if i > 0 {
				r.separator()
			}
			ok := false
			if letter|0x20 == 'a' && (i == 3 || i == 4) {
				ok = r.flag()
			} else {
				numbers[i], ok = r.number()
			}
			if !ok {
				return false
			}
		}
		p.draw(letter, numbers[:n])
		if letter|0x20 == 'm' && !repeated {
			p.startX, p.startY = p.x, p.y
		}
		comma := r.separator()
		if r.rest == "" || strings.IndexByte("+-.0123456789", r.rest[0]) < 0 {
			return !comma
		}
	}
}

func (p *pen) draw(letter byte, numbers []float64) {
	x, y := 0.0, 0.0
	if letter >= 'a' {
		x, y = p.x, p.y
	}
	switch letter | 0x20 {
	case 'h':
		p.x = x + numbers[0]
	case 'v':
		p.y = y + numbers[0]
	case 'a':
		p.x, p.y = x+numbers[5], y+numbers[6]
	default:
		for i := 0; i+1 < len(numbers); i += 2 {
			p.x, p.y = x+numbers[i], y+numbers[i+1]
			p.reach(p.x, p.y)
		}
	}
	p.reach(p.x, p.y)
}
