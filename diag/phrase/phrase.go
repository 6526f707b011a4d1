package phrase

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Sentence turns the text of an error into a sentence. Its first letter is capitalized only if the first word
// is a common one, because an error may begin with a name.
func Sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if slices.Contains([]string{"a", "an", "the", "there", "that", "this", "no", "its", "more", "port", "white"}, first) {
		s = Capitalize(s)
	}
	return s + "."
}

// Capitalize returns s with its first letter in upper case.
func Capitalize(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Count formats a number of things, with a plural in s: "1 record", "2 records".
func Count[N int | int64 | uint32](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Duration formats a duration for people: "6 h 2 min", "21 s", "3 days".
func Duration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		if m := int(d.Minutes()) % 60; m > 0 {
			return fmt.Sprintf("%d h %d min", int(d.Hours()), m)
		}
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return Count(int64(d.Hours()/24), "day")
}

// Series formats a list for a sentence, naming at most that many things: "a", "a and b", "a, b and c", "a, b
// and 3 more".
func Series(list []string, most int) string {
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// maxQuoted bounds what a sentence quotes from a record, in bytes.
const maxQuoted = 200

// Clip returns an untrusted text as valid UTF-8, cut to at most that many bytes and followed by an ellipsis
// if it is longer.
func Clip(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Quote makes an untrusted text safe to use in a sentence: valid UTF-8, cut to 200 bytes and an ellipsis, and
// quoted as a Go string if it has control characters.
func Quote(s string) string {
	s = Clip(s, maxQuoted)
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// maxCompared bounds the words that are compared, in bytes: what is misspelled is not much longer than what was meant.
const maxCompared = 64

// Distance returns how many letters have to be changed, inserted, deleted or swapped with their neighbors to
// turn one word into the other. For long words it is only a large number.
func Distance(a, b string) int {
	if a == b {
		return 0
	}
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	var last, row, next [maxCompared + 1]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
		last, row = row, next
	}
	return row[len(b)]
}
