package pki

import (
	"math/big"
	"math/bits"
)

// words hold the largest field of a curve with a name, 2^571.
const words = 9

// An element of a binary field is a polynomial, the coefficient of t^i in bit i.
type element [words]uint64

// A binaryField is that of the polynomials modulo one of degree m (SEC 1 section 2.1.2).
type binaryField struct {
	m       int
	terms   []int   // exponents of the polynomial below m
	modulus element // the polynomial
}

func newBinaryField(p *big.Int) *binaryField {
	f := &binaryField{m: p.BitLen() - 1, modulus: newElement(p)}
	for i := range f.m {
		if p.Bit(i) == 1 {
			f.terms = append(f.terms, i)
		}
	}
	return f
}

func newElement(n *big.Int) (e element) {
	var text [words * 8]byte
	n.FillBytes(text[:])
	for i := range e {
		for _, b := range text[(words-1-i)*8 : (words-i)*8] {
			e[i] = e[i]<<8 | uint64(b)
		}
	}
	return e
}

func (e element) number() *big.Int {
	n := new(big.Int)
	for i := words - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(e[i]))
	}
	return n
}

func (e element) plus(other element) element {
	for i := range e {
		e[i] ^= other[i]
	}
	return e
}

func (e *element) degree() int {
	for i := words - 1; i >= 0; i-- {
		if e[i] != 0 {
			return i*64 + bits.Len64(e[i]) - 1
		}
	}
	return -1
}

// addShifted adds other·t^n.
func (e *element) addShifted(other *element, n int) {
	skip, shift := n/64, uint(n%64)
	for i := words - 1; i >= skip; i-- {
		v := other[i-skip] << shift
		if shift > 0 && i > skip {
			v |= other[i-skip-1] >> (64 - shift)
		}
		e[i] ^= v
	}
}

func (f *binaryField) mul(a, b element) (product element) {
	var c [2 * words]uint64
	for k := 63; k >= 0; k-- {
		for j, w := range a {
			if w>>k&1 == 1 {
				for i, v := range b {
					c[i+j] ^= v
				}
			}
		}
		if k > 0 {
			for i := 2*words - 1; i > 0; i-- {
				c[i] = c[i]<<1 | c[i-1]>>63
			}
			c[0] <<= 1
		}
	}
	for i := 2*f.m - 2; i >= f.m; i-- {
		if c[i/64]>>(i%64)&1 == 0 {
			continue
		}
		for _, t := range f.terms {
			at := i - f.m + t
			c[at/64] ^= 1 << (at % 64)
		}
		c[i/64] ^= 1 << (i % 64)
	}
	copy(product[:], c[:])
	return product
}

// invert uses Euclid's algorithm for polynomials. The inverse of 0 is 0.
func (f *binaryField) invert(a element) element {
	u, v := a, f.modulus
	g, h := element{1}, element{}
	for u.degree() > 0 {
		n := u.degree() - v.degree()
		if n < 0 {
			u, v, g, h, n = v, u, h, g, -n
		}
		u.addShifted(&v, n)
		g.addShifted(&h, n)
	}
	if u.degree() < 0 {
		return element{}
	}
	return g
}

// binaryPoint is a point in affine coordinates.
type binaryPoint struct {
	x, y     element
	infinite bool
}

func (f *binaryField) on(c *Curve, x, y *big.Int) bool {
	if x.BitLen() > f.m || y.BitLen() > f.m {
		return false
	}
	ex, ey := newElement(x), newElement(y)
	xx := f.mul(ex, ex)
	right := f.mul(xx, ex.plus(newElement(c.A))).plus(newElement(c.B))
	return f.mul(ey, ey.plus(ex)) == right
}

// add follows SEC 1 section 2.2.2, also for a point and itself.
func (f *binaryField) add(p, q binaryPoint, a element) binaryPoint {
	switch {
	case p.infinite:
		return q
	case q.infinite:
		return p
	case p.x == q.x && (p.y != q.y || p.x == element{}):
		return binaryPoint{infinite: true}
	case p.x == q.x:
		slope := p.x.plus(f.mul(p.y, f.invert(p.x)))
		x := f.mul(slope, slope).plus(slope).plus(a)
		return binaryPoint{x: x, y: f.mul(p.x, p.x).plus(f.mul(slope, x)).plus(x)}
	default:
		slope := f.mul(p.y.plus(q.y), f.invert(p.x.plus(q.x)))
		x := f.mul(slope, slope).plus(slope).plus(p.x).plus(q.x).plus(a)
		return binaryPoint{x: x, y: f.mul(slope, p.x.plus(x)).plus(x).plus(p.y)}
	}
}

func (f *binaryField) sum(c *Curve, u1, u2, x, y *big.Int) *big.Int {
	a := newElement(c.A)
	base := binaryPoint{x: newElement(c.X), y: newElement(c.Y)}
	key := binaryPoint{x: newElement(x), y: newElement(y)}
	both := f.add(base, key, a)
	p := binaryPoint{infinite: true}
	for i := max(u1.BitLen(), u2.BitLen()) - 1; i >= 0; i-- {
		p = f.add(p, p, a)
		switch {
		case u1.Bit(i) == 1 && u2.Bit(i) == 1:
			p = f.add(p, both, a)
		case u1.Bit(i) == 1:
			p = f.add(p, base, a)
		case u2.Bit(i) == 1:
			p = f.add(p, key, a)
		}
	}
	if p.infinite {
		return nil
	}
	return p.x.number()
}
