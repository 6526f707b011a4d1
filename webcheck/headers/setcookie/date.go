package setcookie

import (
	"strings"
	"time"
)

// parseDate reads a date as browsers read it in cookies: the parts in any order, whatever stands between them
// (RFC 6265bis section 5.1.1).
func parseDate(s string) (time.Time, bool) {
	var clock [3]int
	day, month, year := -1, 0, -1
	gotClock := false
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && isDelimiter(byte(r)) }) {
		if !gotClock {
			if t, ok := clockOf(word); ok {
				clock, gotClock = t, true
				continue
			}
		}
		if n, ok := number(word, 1, 2); ok && day < 0 {
			day = n
			continue
		}
		if m := monthOf(word); m > 0 && month == 0 {
			month = m
			continue
		}
		if n, ok := number(word, 2, 4); ok && year < 0 {
			year = n
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if !gotClock || month == 0 || day < 1 || day > 31 || year < 1601 || clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, clock[0], clock[1], clock[2], 0, time.UTC)
	return t, t.Day() == day
}

func isDelimiter(c byte) bool {
	return c == '\t' || c >= 0x20 && c <= 0x2F || c >= 0x3B && c <= 0x40 || c >= 0x5B && c <= 0x60 || c >= 0x7B && c <= 0x7E
}

// number reads the digits at the beginning of a word, if there are so many and none follows.
func number(word string, least, most int) (int, bool) {
	n, digits := 0, 0
	for digits < len(word) && word[digits] >= '0' && word[digits] <= '9' {
		if digits == most {
			return 0, false
		}
		n = 10*n + int(word[digits]-'0')
		digits++
	}
	return n, digits >= least
}

func clockOf(word string) (t [3]int, ok bool) {
	parts := strings.SplitN(word, ":", 3)
	if len(parts) != 3 {
		return t, false
	}
	for i, p := range parts {
		if t[i], ok = number(p, 1, 2); !ok || i < 2 && strings.Trim(p, "0123456789") != "" {
			return t, false
		}
	}
	return t, true
}

func monthOf(word string) int {
	if len(word) < 3 {
		return 0
	}
	i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:3]))
	if i < 0 || i%3 != 0 {
		return 0
	}
	return i/3 + 1
}
