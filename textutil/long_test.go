//go:build !race

package textutil

// The race detector makes these many times slower, and nothing in them runs at once.

import (
	"fmt"
	"slices"
	"testing"
	"unicode"
)

// TestSentenceClasses compares the classes of all characters with those of another table of Unicode 15,
// through the boundaries that they make. Planes 2 to 13 have ideographs alone.
func TestSentenceClasses(t *testing.T) {
	for c := range rune(unicode.MaxRune) {
		if 0x20100 <= c && c < 0xe0000 || c > 0xe1000 {
			continue
		}
		if 0xd800 <= c && c <= 0xdfff || c == unicode.ReplacementChar { // the other one stops at U+FFFD
			continue
		}
		text := fmt.Sprintf("%cB.%cA. %cb!%c D a%c.B5%c.5", c, c, c, c, c, c)
		if got, want := len(slices.Collect(sentences(text))), sentencesOf(text); got != want {
			t.Errorf("%U: %d sentences; want %d", c, got, want)
		}
	}
}
