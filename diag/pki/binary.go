package pki

import (
	"encoding/binary"
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
	modulus element // the polynomial
}

func newBinaryField(p *big.Int) *binaryField {
	return &binaryField{m: p.BitLen() - 1, modulus: newElement(p)}
}

func newElement(n *big.Int) (e element) {
	var text [words * 8]byte
	n.FillBytes(text[:])
	for i := range e {
		e[i] = binary.BigEndian.Uint64(text[(words-1-i)*8:])
	}
	return e
}

func (e element) number() *big.Int {
	var text [words * 8]byte
	for i, word := range e {
		binary.BigEndian.PutUint64(text[(words-1-i)*8:], word)
	}
	return new(big.Int).SetBytes(text[:])
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

// shifted is e·t^n, for n above 0.
func (e element) shifted(n int) (product element) {
	skip, shift := n/64, n%64
	for i := skip; i < words; i++ {
		product[i] = e[i-skip] << shift
		if i > skip {
			product[i] |= e[i-skip-1] >> (64 - shift)
		}
	}
	return product
}

func (f *binaryField) mul(a, b element) (product element) {
	for i := f.m - 1; i >= 0; i-- {
		product = product.shifted(1)
		if product[f.m/64]>>(f.m%64)&1 == 1 {
			product = product.plus(f.modulus)
		}
		if a[i/64]>>(i%64)&1 == 1 {
			product = product.plus(b)
		}
	}
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
		u, g = u.plus(v.shifted(n)), g.plus(h.shifted(n))
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

// add follows SEC 1 section 2.2.2, also for a point and itself, whose slope alone is another.
func (f *binaryField) add(p, q binaryPoint, a element) binaryPoint {
	var slope element
	switch {
	case p.infinite:
		return q
	case q.infinite:
		return p
	case p.x == q.x && (p.y != q.y || p.x == element{}):
		return binaryPoint{infinite: true}
	case p.x == q.x:
		slope = p.x.plus(f.mul(p.y, f.invert(p.x)))
	default:
		slope = f.mul(p.y.plus(q.y), f.invert(p.x.plus(q.x)))
	}
	x := f.mul(slope, slope).plus(slope).plus(p.x).plus(q.x).plus(a)
	return binaryPoint{x: x, y: f.mul(slope, p.x.plus(x)).plus(x).plus(p.y)}
}

// sum is [Curve.sum].
func (f *binaryField) sum(c *Curve, u1, u2, x, y *big.Int) *big.Int {
	a := newElement(c.A)
	base := binaryPoint{x: newElement(c.X), y: newElement(c.Y)}
	key := binaryPoint{x: newElement(x), y: newElement(y)}
	add := func(p, q binaryPoint) binaryPoint { return f.add(p, q, a) }
	p := sumOf(u1, u2, base, key, binaryPoint{infinite: true}, add)
	if p.infinite {
		return nil
	}
	return p.x.number()
}
