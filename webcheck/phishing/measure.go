package phishing

import (
	"math"
	"strings"
	"unicode"
)

// entropy is that of the characters of a text, in bits for each (Shannon).
func entropy(s string) float64 {
	count, n := map[rune]int{}, 0
	for _, r := range s {
		count[r]++
		n++
	}
	bits := 0.0
	for _, c := range count {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}

// minToken is the length from which a text may be called random.
const minToken = 16

// random reports whether a text looks as if a machine had drawn it: long, with letters and digits mixed.
func random(s string) bool {
	if len(s) < minToken {
		return false
	}
	turns, hex := 0, true
	for i := range len(s) {
		hex = hex && isHex(s[i])
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			turns++
		}
	}
	return hex && turns >= 3 || turns >= 6 && entropy(s) >= 3.2
}

// digitsIn counts the decimal digits of a text.
func digitsIn(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// consonants is the length of the longest run of letters that are no vowels: no language has many in a row.
func consonants(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if c := s[i]; 'a' <= c && c <= 'z' && !strings.ContainsRune("aeiouy", rune(c)) {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// words cuts a text at what is neither letter nor digit.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// coded reports whether a word is a short code: small and capital letters and digits mixed.
func coded(s string) bool {
	lower, upper, digits, turns := 0, 0, 0, 0
	kind := func(c byte) int {
		switch {
		case isDigit(c):
			return 1
		case 'a' <= c && c <= 'z':
			return 2
		case 'A' <= c && c <= 'Z':
			return 3
		}
		return 0
	}
	for i := range len(s) {
		switch kind(s[i]) {
		case 1:
			digits++
		case 2:
			lower++
		case 3:
			upper++
		}
		if i > 0 && kind(s[i]) != kind(s[i-1]) {
			turns++
		}
	}
	return len(s) >= 6 && turns >= 3 && digits > 0 && (upper > 0 && lower > 0 || turns >= 4)
}
