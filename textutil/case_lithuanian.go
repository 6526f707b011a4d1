package textutil

import (
	"strings"
	"unicode"
)

// withoutSoftDots removes the dots that Lithuanian writes out above i and j when an accent stands
// there too: capital letters have no dot to keep (SpecialCasing.txt, After_Soft_Dotted).
func withoutSoftDots(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	softDotted := false // such a letter stands before, with nothing above it yet
	for _, r := range text {
		if r == dotAbove && softDotted {
			softDotted = false // behind this dot, which is above the letter, another is not the letter's own
			continue
		}
		b.WriteRune(r)
		switch c := combiningClass(r); {
		case unicode.Is(unicode.Soft_Dotted, r):
			softDotted = true
		case c == 0 || c == above:
			softDotted = false
		}
	}
	return b.String()
}
