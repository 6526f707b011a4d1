package pki

import (
	_ "embed" // curves.txt
	"encoding/asn1"
	"math/big"
	"strings"
	"sync"

	"golang.org/x/crypto/cryptobyte"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// A Curve is an elliptic curve: y² = x³ + Ax + B modulo the prime P, or if it is binary y² + xy = x³ + Ax² + B
// over the field of the polynomial P.
type Curve struct {
	Name    string
	OID     string // empty without one
	Bits    int    // size of the field
	Binary  bool
	P, A, B *big.Int
	X, Y    *big.Int // of the base point
	N       *big.Int // its order
}

//go:embed data/curves.txt
var curvesText string

type curveTable struct {
	list  []*Curve
	byOID map[string]*Curve
}

// curves are the built-in curves. They are read when the first key off the usual ones comes.
var curves = sync.OnceValue(func() curveTable {
	t := curveTable{byOID: map[string]*Curve{}}
	for line := range strings.Lines(curvesText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c := parseCurve(line)
		t.list, t.byOID[c.OID] = append(t.list, c), c
	}
	return t
})

// parseCurve panics if the line is malformed: the text is a part of the program, and a test reads all of it.
func parseCurve(line string) *Curve {
	words := strings.Fields(line)
	c := &Curve{Name: words[0], OID: words[1], Binary: words[2] == "binary"}
	for i, number := range []**big.Int{&c.P, &c.A, &c.B, &c.X, &c.Y, &c.N} {
		n, ok := new(big.Int).SetString(words[3+i], 16)
		if !ok {
			panic("pki: a number of the curve " + c.Name)
		}
		*number = n
	}
	c.Bits = c.P.BitLen()
	if c.Binary {
		c.Bits--
	}
	return c
}

// maxCurveBits bounds the field of a curve that is given by its parameters. The largest curve with a name has 571.
const maxCurveBits = 640

// readCurve reads explicit parameters (SEC 1 section C.2), and finds the name that they have if they are those of a
// curve with a name.
func readCurve(params cryptobyte.String) *Curve {
	var all, field, curve, a, b, base cryptobyte.String
	var version int
	var kind asn1.ObjectIdentifier
	order := new(big.Int)
	if !params.ReadASN1(&all, asn1tag.SEQUENCE) || !all.ReadASN1Integer(&version) ||
		!all.ReadASN1(&field, asn1tag.SEQUENCE) ||
		!field.ReadASN1ObjectIdentifier(&kind) || !all.ReadASN1(&curve, asn1tag.SEQUENCE) ||
		!curve.ReadASN1(&a, asn1tag.OCTET_STRING) || !curve.ReadASN1(&b, asn1tag.OCTET_STRING) ||
		!all.ReadASN1(&base, asn1tag.OCTET_STRING) ||
		!all.ReadASN1Integer(order) {
		return nil
	}
	c := &Curve{
		Name: "unnamed", A: new(big.Int).SetBytes(a), B: new(big.Int).SetBytes(b), N: order, P: new(big.Int),
		Binary: kind.String() == "1.2.840.10045.1.2",
	}
	if c.Binary {
		return binaryCurve(c, field)
	}
	if kind.String() != "1.2.840.10045.1.1" || !field.ReadASN1Integer(c.P) || c.P.Sign() <= 0 ||
		c.P.BitLen() > maxCurveBits ||
		order.BitLen() > maxCurveBits || c.A.BitLen() > maxCurveBits ||
		c.B.BitLen() > maxCurveBits {
		return nil
	}
	c.Bits = c.P.BitLen()
	for _, known := range curves().list {
		if !known.Binary && known.P.Cmp(c.P) == 0 && known.A.Cmp(c.A) == 0 && known.B.Cmp(c.B) == 0 &&
			known.N.Cmp(order) == 0 {
			return known
		}
	}
	if size := (c.Bits + 7) / 8; len(base) == 1+2*size {
		c.X, c.Y = new(big.Int).SetBytes(base[1:1+size]), new(big.Int).SetBytes(base[1+size:])
	}
	return c
}

// binaryCurve finds the name of a binary curve by its degree, coefficients and order. One without a name is described
// by its size.
func binaryCurve(c *Curve, field cryptobyte.String) *Curve {
	var set cryptobyte.String
	if !field.ReadASN1(&set, asn1tag.SEQUENCE) || !set.ReadASN1Integer(&c.Bits) || c.Bits < 1 || c.Bits > maxCurveBits {
		return nil
	}
	for _, known := range curves().list {
		if known.Binary && known.Bits == c.Bits && known.A.Cmp(c.A) == 0 && known.B.Cmp(c.B) == 0 && known.N.Cmp(c.N) == 0 {
			return known
		}
	}
	return c
}

// On reports whether a point lies on the curve. For a binary curve without a name it returns true without a
// check.
func (c *Curve) On(x, y *big.Int) bool {
	if c.Binary {
		return c.OID == "" || newBinaryField(c.P).on(c, x, y)
	}
	if x.Cmp(c.P) >= 0 || y.Cmp(c.P) >= 0 {
		return false
	}
	left := new(big.Int).Mul(y, y)
	return left.Mod(left, c.P).Cmp(c.right(x)) == 0
}

func (c *Curve) right(x *big.Int) *big.Int {
	r := new(big.Int).Mul(x, x)
	r.Add(r, c.A).Mul(r, x).Add(r, c.B)
	return r.Mod(r, c.P)
}

// y returns the y of a compressed point, nil if it is not on the curve (SEC 1 section 2.3.4).
func (c *Curve) y(x *big.Int, odd uint) *big.Int {
	if c.OID == "" || x.Cmp(c.P) >= 0 { // the modulus of untrusted parameters may not be a prime
		return nil
	}
	y := new(big.Int).ModSqrt(c.right(x), c.P)
	if y != nil && y.Bit(0) != odd && y.Sign() > 0 {
		y.Sub(c.P, y)
	}
	return y
}

// sum returns the x of u1·(base point) + u2·(x, y), nil if that is the point at infinity or cannot be computed.
func (c *Curve) sum(u1, u2, x, y *big.Int) *big.Int {
	if c.X == nil || y == nil || c.Binary && c.OID == "" {
		return nil
	}
	if c.Binary {
		return newBinaryField(c.P).sum(c, u1, u2, x, y)
	}
	base, key := &jacobian{c.X, c.Y, big.NewInt(1)}, &jacobian{x, y, big.NewInt(1)}
	p := sumOf(u1, u2, base, key, &jacobian{new(big.Int), new(big.Int), new(big.Int)}, c.add)
	inverse := new(big.Int).ModInverse(p.z, c.P)
	if p.z.Sign() == 0 || inverse == nil {
		return nil
	}
	inverse.Mul(inverse, inverse).Mul(inverse, p.x)
	return inverse.Mod(inverse, c.P)
}

// sumOf is u1·base + u2·key, by doubling and adding from zero, the point at infinity.
func sumOf[P any](u1, u2 *big.Int, base, key, zero P, add func(P, P) P) P {
	both, sum := add(base, key), zero
	for i := max(u1.BitLen(), u2.BitLen()) - 1; i >= 0; i-- {
		sum = add(sum, sum)
		switch {
		case u1.Bit(i) == 1 && u2.Bit(i) == 1:
			sum = add(sum, both)
		case u1.Bit(i) == 1:
			sum = add(sum, base)
		case u2.Bit(i) == 1:
			sum = add(sum, key)
		}
	}
	return sum
}

// jacobian is the point (x/z², y/z³), or that at infinity if z is 0.
type jacobian struct{ x, y, z *big.Int }

func (c *Curve) mul(a, b *big.Int) *big.Int {
	r := new(big.Int).Mul(a, b)
	return r.Mod(r, c.P)
}

func (c *Curve) sub(a, b *big.Int) *big.Int {
	r := new(big.Int).Sub(a, b)
	if r.Sign() < 0 {
		r.Add(r, c.P)
	}
	return r
}

// double follows SEC 1 in Jacobian coordinates: S = 4xy², M = 3x² + az⁴.
func (c *Curve) double(p *jacobian) *jacobian {
	if p.z.Sign() == 0 {
		return p
	}
	yy, zz := c.mul(p.y, p.y), c.mul(p.z, p.z)
	s := c.mul(big.NewInt(4), c.mul(p.x, yy))
	m := new(big.Int).Mul(big.NewInt(3), c.mul(p.x, p.x))
	m.Add(m, c.mul(c.A, c.mul(zz, zz))).Mod(m, c.P)
	x := c.sub(c.sub(c.mul(m, m), s), s)
	y := c.sub(c.mul(m, c.sub(s, x)), c.mul(big.NewInt(8), c.mul(yy, yy)))
	return &jacobian{x, y, c.mul(big.NewInt(2), c.mul(p.y, p.z))}
}

func (c *Curve) add(p, q *jacobian) *jacobian {
	if p.z.Sign() == 0 {
		return q
	}
	if q.z.Sign() == 0 {
		return p
	}
	pz, qz := c.mul(p.z, p.z), c.mul(q.z, q.z)
	u1, u2 := c.mul(p.x, qz), c.mul(q.x, pz)
	s1, s2 := c.mul(p.y, c.mul(qz, q.z)), c.mul(q.y, c.mul(pz, p.z))
	h, r := c.sub(u2, u1), c.sub(s2, s1)
	if h.Sign() == 0 {
		if r.Sign() == 0 {
			return c.double(p)
		}
		return &jacobian{new(big.Int), new(big.Int), new(big.Int)}
	}
	hh := c.mul(h, h)
	hhh, v := c.mul(h, hh), c.mul(u1, hh)
	x := c.sub(c.sub(c.sub(c.mul(r, r), hhh), v), v)
	y := c.sub(c.mul(r, c.sub(v, x)), c.mul(s1, hhh))
	return &jacobian{x, y, c.mul(h, c.mul(p.z, q.z))}
}
