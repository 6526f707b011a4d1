package qr

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// versionStep returns which versions a test takes: with -short one in thirteen, which still has the first and the last.
func versionStep(step int) int {
	if testing.Short() {
		return 13
	}
	return step
}

// truncated cuts a text between characters.
func truncated(text string, length int) string {
	for !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length]
}

func rows(array [][]int8) string {
	var b strings.Builder
	for _, row := range array {
		for _, module := range row {
			b.WriteByte('0' + byte(module))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLibraryFaultsAreErrors(t *testing.T) {
	_, err := unmasked(strings.Repeat("a", 2954), maxVersion, Low)
	assert.Error(t, err)
	_, err = unmasked("a", 2, Low)
	assert.EqualError(t, err, "21 modules a side instead of 25")
}
