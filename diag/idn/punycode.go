package idn

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parameters of Punycode (RFC 3492 section 5).
const (
	base        = 36
	tMin        = 1
	tMax        = 26
	skew        = 38
	damp        = 700
	initialBias = 72
	initialN    = 0x80
)

const digits = "abcdefghijklmnopqrstuvwxyz0123456789"

// maxPunycode bounds what is decoded or encoded, in bytes: far more than a name may have, for the work
// grows with the square.
const maxPunycode = 4096

// maxDelta bounds the numbers in Punycode: larger ones belong to no text of that length.
const maxDelta = (utf8.MaxRune + 1) * (maxPunycode + 1)

var errPunycode = errors.New("this is no Punycode")

// decodePunycode returns the text that Punycode stands for (RFC 3492 section 6.2).
func decodePunycode(s string) (string, error) {
	if len(s) > maxPunycode || !isASCII(s) {
		return "", errPunycode
	}
	out := []rune{}
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		out = []rune(s[:i])
		s = s[i+1:]
	}
	n, i, bias := int64(initialN), int64(0), int64(initialBias)
	for first := true; len(s) > 0; first = false {
		delta, rest, err := decodeNumber(s, bias)
		if err != nil {
			return "", err
		}
		count := int64(len(out)) + 1
		bias = adapt(delta, count, first)
		i += delta
		n += i / count
		i %= count
		if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", errPunycode
		}
		out = slices.Insert(out, int(i), rune(n))
		i++
		s = rest
	}
	return string(out), nil
}

// decodeNumber reads a number of variable length (RFC 3492 section 3.3).
func decodeNumber(s string, bias int64) (n int64, rest string, err error) {
	weight := int64(1)
	for i := range len(s) {
		digit := int64(strings.IndexByte(digits, lowerASCII(s[i])))
		if digit < 0 {
			return 0, "", errPunycode
		}
		n += digit * weight
		if n > maxDelta {
			return 0, "", errPunycode
		}
		t := threshold(i, bias)
		if digit < t {
			return n, s[i+1:], nil
		}
		weight *= base - t
		if weight > maxDelta {
			weight = maxDelta + 1 // only zeros may follow
		}
	}
	return 0, "", errPunycode
}

// encodePunycode returns text in Punycode (RFC 3492 section 6.3).
func encodePunycode(text string) (string, error) {
	if len(text) > maxPunycode {
		return "", errPunycode
	}
	rs := []rune(text)
	var b strings.Builder
	for _, r := range rs {
		if r < initialN {
			b.WriteRune(r)
		}
	}
	basic := int64(b.Len())
	if basic > 0 {
		b.WriteByte('-')
	}
	n, delta, bias := rune(initialN), int64(0), int64(initialBias)
	for done := basic; done < int64(len(rs)); {
		next := rune(utf8.MaxRune)
		for _, r := range rs {
			if r >= n {
				next = min(next, r)
			}
		}
		delta += int64(next-n) * (done + 1)
		n = next
		for _, r := range rs {
			if r < n {
				delta++
			}
			if r == n {
				encodeNumber(&b, delta, bias)
				bias = adapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
		n++
	}
	return b.String(), nil
}

func encodeNumber(b *strings.Builder, n, bias int64) {
	for i := 0; ; i++ {
		t := threshold(i, bias)
		if n < t {
			b.WriteByte(digits[n])
			return
		}
		b.WriteByte(digits[t+(n-t)%(base-t)])
		n = (n - t) / (base - t)
	}
}

// threshold tells the digits that end a number at a position from those that do not.
func threshold(position int, bias int64) int64 {
	return min(tMax, max(tMin, int64(position+1)*base-bias))
}

// adapt returns the next bias (RFC 3492 section 6.1).
func adapt(delta, count int64, first bool) int64 {
	if first {
		delta /= damp
	} else {
		delta /= 2
	}
	delta += delta / count
	k := int64(0)
	for ; delta > (base-tMin)*tMax/2; k += base {
		delta /= base - tMin
	}
	return k + (base-tMin+1)*delta/(delta+skew)
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
