package dkim

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// formEncoded reports whether base64 becomes a key with plus signs in place of its blanks.
func formEncoded(value string) bool {
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(value, " ", "+"))
	return err == nil && identify(data).public != nil
}

// lengths returns how many bytes of base64 there are, and how many the key says that it has.
func lengths(text string) (n, total int) {
	data, err := base64.StdEncoding.DecodeString(text[:len(text)/4*4])
	if err != nil {
		return 0, 0
	}
	total, _ = derLength(data)
	return len(data), total
}

// unfold removes the white space that may stand anywhere in base64 (RFC 6376 section 2.10).
func unfold(s string) string {
	if !strings.ContainsAny(s, white) {
		return s
	}
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(s)
}

// A flaw is what is wrong with a value that should be base64.
type flaw struct {
	text  string
	at, n int // where in the value; n is 0 if all of it is meant
}

// whatIsWrong says why a value is not base64.
func whatIsWrong(value string) flaw {
	digits := strings.TrimRight(unfold(value), "=")
	padding := strings.IndexByte(value, '=')
	foreign := strings.IndexFunc(value, func(r rune) bool {
		return !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("+/="+white, r))
	})
	switch lines := armour().FindStringIndex(value); {
	case lines != nil:
		return flaw{"p= holds the lines of a PEM file (-----BEGIN …-----), which are not base64", lines[0], lines[1] - lines[0]}
	case strings.HasPrefix(value, "ssh-"):
		return flaw{"p= holds a key in the format of SSH, which is not the base64 of a DKIM key", 0, strings.Index(value+" ", " ")}
	case foreign >= 0:
		_, n := utf8.DecodeRuneInString(value[foreign:])
		return flaw{"p= has the character " + quoted(value[foreign:foreign+n]) + ", which base64 does not have", foreign, n}
	case strings.Contains(digits, "="):
		return flaw{"p= has an equals sign before the end of its base64 value", padding, 1}
	case len(digits)%4 == 1:
		return flaw{text: fmt.Sprintf("the base64 value of p= has %d characters, so that at least one is missing", len(digits))}
	default:
		return flaw{text: "the base64 value of p= is not padded with equals signs to a multiple of 4 characters"}
	}
}
