package idn

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxPunycode bounds what is decoded or encoded, in bytes: far more than a name may have, for the work
// grows with the square.
const maxPunycode = 4096

var errPunycode = errors.New("this is no Punycode")

// decodePunycode decodes Punycode (RFC 3492 section 6.2). Text that is all ASCII ends in a hyphen when encoded,
// which the library refuses.
func decodePunycode(s string) (string, error) {
	if len(s) > maxPunycode || !isASCII(s) {
		return "", errPunycode
	}
	if plain, ok := strings.CutSuffix(s, "-"); ok || s == "" {
		return plain, nil
	}
	text, err := idna.Punycode.ToUnicode(acePrefix + s)
	if err != nil || strings.ContainsRune(text, utf8.RuneError) { // which half of a surrogate pair becomes
		return "", errPunycode
	}
	return text, nil
}

// encodePunycode returns text with characters beyond ASCII in Punycode (RFC 3492 section 6.3).
func encodePunycode(text string) (string, error) {
	if len(text) > maxPunycode {
		return "", errPunycode
	}
	ascii, _ := idna.Punycode.ToASCII(text) // its error is that of a text which begins like an A-label
	puny, ok := strings.CutPrefix(ascii, acePrefix)
	if !ok || !isASCII(puny) {
		return "", errPunycode
	}
	return puny, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
