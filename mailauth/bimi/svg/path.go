package svg

import "strings"

// commands are those of paths with how many numbers follow each (SVG Tiny 1.2 chapter 8). Tiny 1.2 has no arcs;
// since the schema takes them and receivers draw them, they are fine.
var commands = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1, 'c': 6, 's': 4, 'q': 4, 't': 2, 'a': 7, 'z': 0}

// A pen follows a path, and remembers how far it went in each direction.
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
	_, ok := outline(v)
	return ok
}

// outline returns the box around the points of a path, control points included, and whether all of it can be drawn.
func outline(v string) (Box, bool) {
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

// arguments reads the numbers of a command, once or more.
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
