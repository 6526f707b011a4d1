package qr

import "strings"

// eciUTF8 is the assignment number of UTF-8 among the Extended Channel Interpretations (AIM ECI, part 3). It announces
// text that is not ASCII, for readers guess wrongly at bytes above 127.
const eciUTF8 = 26

// Mode indicators of ISO/IEC 18004 table 2.
const (
	indicatorNumeric      = 0b0001
	indicatorAlphanumeric = 0b0010
	indicatorBytes        = 0b0100
	indicatorECI          = 0b0111
)

// encode returns the data codewords of a text (ISO/IEC 18004 section 7.4). The text fits the version.
func encode(text string, m mode, version int, level Level) []byte {
	size := dataCodewords(version, level)
	w := bitWriter{out: make([]byte, 0, size)}
	if m == utf8Bytes {
		w.write(indicatorECI, 4)
		w.write(eciUTF8, 8)
	}
	w.write([...]uint{indicatorNumeric, indicatorAlphanumeric, indicatorBytes, indicatorBytes}[m], 4)
	w.write(uint(len(text)), m.lengthBits(version))
	switch m {
	case numeric:
		w.writeGroups(text, "0123456789", []int{0, 4, 7, 10})
	case alphanumeric:
		w.writeGroups(text, alphanumericSet, []int{0, 6, 11})
	default:
		for i := range len(text) {
			w.write(uint(text[i]), 8)
		}
	}
	w.write(0, min(4, 8*size-w.bits)) // the terminator, cut short by the end of the symbol
	for pad := byte(0b11101100); len(w.out) < size; pad ^= 0b11101100 ^ 0b00010001 {
		w.out = append(w.out, pad)
	}
	return w.out
}

// A bitWriter appends bits to bytes, the most significant first. A byte that is begun is filled up
// with zeros. Its zero value is ready for use.
type bitWriter struct {
	out  []byte
	bits int
}

func (w *bitWriter) write(value uint, bits int) {
	for i := bits - 1; i >= 0; i-- {
		if w.bits%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.bits/8] |= byte(value>>i&1) << (7 - w.bits%8)
		w.bits++
	}
}

// writeGroups appends characters of a set as numbers, several at a time: sizes are the bits of a group by its length.
func (w *bitWriter) writeGroups(text, set string, sizes []int) {
	for text != "" {
		n, value := min(len(text), len(sizes)-1), 0
		for i := range n {
			value = value*len(set) + strings.IndexByte(set, text[i])
		}
		w.write(uint(value), sizes[n])
		text = text[n:]
	}
}

// withCorrection cuts the data codewords into blocks, computes the error correction codewords of
// each, and returns all of them interleaved (ISO/IEC 18004 section 7.6). The first blocks may be one
// data codeword shorter than the last ones.
func withCorrection(data []byte, version int, level Level) []byte {
	l := layoutOf(version, level)
	short := len(data) / l.blocks
	firstLong := l.blocks - len(data)%l.blocks
	generator := generatorPolynomial(l.correction)
	out := make([]byte, codewords(version))
	correction := out[len(data):]
	for b := range l.blocks {
		size := short
		if b >= firstLong {
			size++
		}
		for i := range size {
			at := i*l.blocks + b
			if i == short { // only the long blocks have a codeword here
				at -= firstLong
			}
			out[at] = data[i]
		}
		for i, c := range remainder(data[:size], generator) {
			correction[i*l.blocks+b] = c
		}
		data = data[size:]
	}
	return out
}

// fieldPolynomial is the modulus of GF(256): x^8+x^4+x^3+x^2+1 (ISO/IEC 18004 section 7.5.2).
const fieldPolynomial = 0b1_0001_1101

// multiply multiplies in GF(256).
func multiply(a, b byte) byte {
	product := 0
	for i := 7; i >= 0; i-- {
		product <<= 1
		if product&0x100 != 0 {
			product ^= fieldPolynomial
		}
		if b>>i&1 != 0 {
			product ^= int(a)
		}
	}
	return byte(product)
}

// generatorPolynomial returns the coefficients, without the leading 1, of the product of x-2^i for i
// from 0 to degree-1 (ISO/IEC 18004 annex A).
func generatorPolynomial(degree int) []byte {
	out := make([]byte, degree)
	out[degree-1] = 1
	root := byte(1)
	for range degree {
		for i := range out {
			out[i] = multiply(out[i], root)
			if i+1 < degree {
				out[i] ^= out[i+1]
			}
		}
		root = multiply(root, 2)
	}
	return out
}

// remainder returns the remainder of a block, moved up by the degree of the generator, divided by it:
// the block's error correction codewords.
func remainder(block, generator []byte) []byte {
	out := make([]byte, len(generator))
	for _, word := range block {
		factor := word ^ out[0]
		copy(out, out[1:])
		out[len(out)-1] = 0
		for i, g := range generator {
			out[i] ^= multiply(g, factor)
		}
	}
	return out
}
