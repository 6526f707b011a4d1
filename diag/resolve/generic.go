package resolve

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
)

// lineWords are words in names that providers give to lines of their customers.
var lineWords = []string{"adsl", "broadband", "cable", "dhcp", "dial", "dialin", "dialup", "dsl", "dyn", "dynamic",
	"dynip", "pool", "ppp", "pppoe", "vdsl"}

// generic says why a host name looks as if it were made from the address, or by a rule for many hosts.
func generic(host string, ip diag.IP) (why string, is bool) {
	words := strings.FieldsFunc(strings.ToLower(host), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		if plain := strings.Trim(w, "0123456789"); slices.Contains(lineWords, plain) {
			return fmt.Sprintf("contains %q, as names of customer lines do", plain), true
		}
	}
	if ip.Is4() {
		return "contains the address", holdsIPv4(words, ip)
	}
	return "contains the address", holdsIPv6(words, ip)
}

// holdsIPv4 looks for the four octets one after the other in either direction, in decimal or in
// hexadecimal digits: 192-0-2-1, 1.2.0.192, ip192000002001, c0000201.
func holdsIPv4(words []string, ip diag.IP) bool {
	b := ip.As4()
	numbers := []string{}
	for _, w := range words {
		numbers = append(numbers, strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsDigit(r) })...)
	}
	for i, n := range numbers {
		numbers[i] = strings.TrimLeft(n, "0")
	}
	joined := "," + strings.Join(numbers, ",") + ","
	texts := strings.Join(words, " ")
	for range 2 {
		if strings.Contains(joined, fmt.Sprintf(",%s,%s,%s,%s,", number(b[0]), number(b[1]), number(b[2]), number(b[3]))) ||
			strings.Contains(texts, fmt.Sprintf("%03d%03d%03d%03d", b[0], b[1], b[2], b[3])) ||
			strings.Contains(texts, hex.EncodeToString(b[:])) {
			return true
		}
		slices.Reverse(b[:])
	}
	return false
}

// number is an octet in decimal without leading zeros, of which zero is one.
func number(octet byte) string { return strings.TrimLeft(fmt.Sprint(octet), "0") }

// holdsIPv6 looks for the lower half of the address, which tells hosts of a network apart: its four
// groups one after the other as they are written, or all of its digits, in either direction.
func holdsIPv6(words []string, ip diag.IP) bool {
	b := ip.As16()
	if b[8]|b[9]|b[10]|b[11]|b[12]|b[13] == 0 {
		return false // ::1 and the like: the digits are too few to be more than chance
	}
	groups := make([]string, 4)
	for i := range groups {
		groups[i] = strings.TrimLeft(hex.EncodeToString(b[8+2*i:10+2*i]), "0")
	}
	trimmed := diag.Map(words, func(w string) string { return strings.TrimLeft(w, "0") })
	digits := []byte(hex.EncodeToString(b[8:]))
	joined := strings.Join(words, "")
	if strings.Contains(","+strings.Join(trimmed, ",")+",", ","+strings.Join(groups, ",")+",") ||
		strings.Contains(joined, string(digits)) {
		return true
	}
	slices.Reverse(digits)
	return strings.Contains(joined, string(digits))
}
