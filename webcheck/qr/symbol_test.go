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

func (m *matrix) rows() string {
	array := make([][]int8, m.side)
	for y := range array {
		array[y] = make([]int8, m.side)
		for x := range array[y] {
			array[y][x] = int8(m.at(x, y) & dark)
		}
	}
	return rows(array)
}

func TestLibraryFaultsAreErrors(t *testing.T) {
	_, err := libraryMatrix(strings.Repeat("a", 2954), maxVersion, low)
	assert.ErrorContains(t, err, "encoding a QR code")
	_, err = libraryMatrix("a", 2, low)
	assert.EqualError(t, err, "encoding a QR code: 21 modules a side instead of 25")
}

func TestPenalty(t *testing.T) {
	tests := []struct {
		name string
		line string
		want int
	}{
		{"four alike", "1111010", 0},
		{"five alike", "11111010", 3},
		{"seven alike", "00000001", 5},
		{"finder at the start: light outside", "1011101", 40},
		{"finder with four light before", "1100001011101101", 40},
		{"finder with four light after", "110111010000101101", 40},
		{"finder with four light on both sides", "1000010111010000101", 40},
		{"finder with three light on both sides", "110001011101000101", 0},
		{"two finders", "10111010000010111011", 40 + 40 + 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for line := range 64 {
				var b bundle
				for i := range len(tt.line) {
					b[outside+i] = uint64(tt.line[i]-'0') << line
				}
				var empty bundle
				others := empty.penalty(line, len(tt.line))
				assert.Equal(t, tt.want, b.penalty(line+1, len(tt.line))-others, "line %d", line)
			}
		})
	}
}
