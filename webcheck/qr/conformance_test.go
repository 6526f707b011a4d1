package qr

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	"github.com/stretchr/testify/assert"
)

// vectors reads a file of web/qr/encode among the conformance vectors.
func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	return diagtest.Cases[T](t, diagtest.Vectors(t, "web/qr/encode/"+name))
}

// tally counts the cases that pass and logs the sum.
func tally[T any](t *testing.T, family string, cases []T, pass func(T) bool) {
	t.Helper()
	passed := 0
	for _, c := range cases {
		if pass(c) {
			passed++
		}
	}
	t.Logf("%s: %d/%d", family, passed, len(cases))
}

func TestConformanceQREncodeCapacity(t *testing.T) {
	type row struct {
		Version                     int
		Level                       Level
		Numeric, Alphanumeric, Byte int
	}
	fits := func(r row, m mode, length int) bool {
		version, ok := versionFor(m, length, r.Level)
		next, more := versionFor(m, length+1, r.Level)
		return assert.Equal(t, length, m.capacity(r.Version, r.Level), "%v-%s %v", r.Version, r.Level, m) &&
			assert.True(t, ok) && assert.Equal(t, r.Version, version) &&
			assert.Equal(t, r.Version < maxVersion, more) &&
			(!more || assert.Equal(t, r.Version+1, next))
	}
	fills := func(r row) bool {
		if r.Version%5 > 0 {
			return true // drawing takes longer than counting: one version of five will do
		}
		img, err := Encode(Request{Data: strings.Repeat("a", r.Byte), ErrorCorrection: r.Level, Format: SVG})
		return assert.NoError(t, err) && assert.Equal(t, r.Version, img.Version)
	}
	tally(t, "capacity", vectors[row](t, "capacity.json"), func(r row) bool {
		return fits(r, numeric, r.Numeric) && fits(r, alphanumeric, r.Alphanumeric) &&
			fits(r, plainBytes, r.Byte) && fills(r)
	})
}

func TestConformanceQREncodeMatrices(t *testing.T) {
	type row struct {
		Text    string   `json:"text"`
		Level   Level    `json:"level"`
		Mode    string   `json:"mode"`
		Version int      `json:"version"`
		Hashes  []string `json:"matrix_sha256_by_mask"`
	}
	modes := map[string]mode{"numeric": numeric, "alphanumeric": alphanumeric, "byte": plainBytes}
	same := func(r row, words *gozxing.BitArray) bool {
		for mask, want := range r.Hashes {
			matrix, err := masked(words, r.Version, r.Level, mask)
			if !assert.NoError(t, err) || !assert.Equal(t, want, hash(matrix.GetArray()), "%.20q mask %d", r.Text, mask) {
				return false
			}
		}
		return assert.Len(t, r.Hashes, encoder.QRCode_NUM_MASK_PATERNS)
	}
	tally(t, "matrices", vectors[row](t, "matrices.json"), func(r row) bool {
		m := modeOf(r.Text)
		version, ok := versionFor(m, len(r.Text), r.Level)
		if !assert.Equal(t, modes[r.Mode], m) || !assert.True(t, ok) || !assert.Equal(t, r.Version, version) {
			return false
		}
		words, err := unmasked(r.Text, version, r.Level)
		if !assert.NoError(t, err) || !same(r, words) {
			return false
		}
		drawn, err := newSymbol(r.Text, m, version, r.Level)
		return assert.NoError(t, err) && assert.Equal(t, r.Hashes[drawn.mask], hash(drawn.modules))
	})
}

// hash is the SHA-256 of the rows of a symbol, each a line of zeros and ones.
func hash(modules [][]int8) string {
	sum := sha256.Sum256([]byte(rows(modules)))
	return hex.EncodeToString(sum[:])
}

func TestConformanceQREncodeUnicode(t *testing.T) {
	type row struct {
		ID   string `json:"i"`
		Text string `json:"t"`
	}
	tally(t, "unicode", vectors[row](t, "unicode_payloads.json"), func(r row) bool {
		for _, format := range formats() {
			img, err := Encode(Request{Data: r.Text, Format: format, Size: 200})
			if !assert.NoError(t, err, r.ID) || !assert.Equal(t, r.Text, read(t, pixels(t, img)), r.ID) {
				return false
			}
		}
		return true
	})
}
