package qr

import (
	"errors"
	"fmt"

	qrcode "github.com/yeqown/go-qrcode/v2"
)

// A symbol is a text as modules, finished.
type symbol struct {
	*matrix
	level Level
	mask  int
}

// newSymbol returns the symbol of a text that fits the version, by the mode that modeOf chose.
func newSymbol(text string, m mode, version int, level Level) (*symbol, error) {
	bare, err := unmasked(text, m, version, level)
	if err != nil {
		return nil, err
	}
	masked, mask := bare.bestMask(level)
	return &symbol{matrix: masked, level: level, mask: mask}, nil
}

// unmasked returns the symbol of a text before any mask is applied.
func unmasked(text string, m mode, version int, level Level) (*matrix, error) {
	if m == utf8Bytes {
		return ownMatrix(text, m, version, level), nil
	}
	return libraryMatrix(text, version, level)
}

// ownMatrix writes a text as bytes, without the library.
func ownMatrix(text string, m mode, version int, level Level) *matrix {
	out := newMatrix(version)
	out.place(withCorrection(byteCodewords(m, text, version, level), version, level))
	return out
}

// libraryMatrix lets the library write an ASCII text and takes its mask off again, because of masks that score the same
// the library takes the one whose goroutine ends first.
func libraryMatrix(text string, version int, level Level) (*matrix, error) {
	bitmap, err := libraryBitmap(text, level)
	if err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	out := newMatrix(version)
	if len(bitmap) != out.side {
		return nil, fmt.Errorf("encoding a QR code: %d modules a side instead of %d", len(bitmap), out.side)
	}
	mask, ok := maskOf(bitmap, level)
	if !ok {
		return nil, errors.New("encoding a QR code: the format information names no mask")
	}
	for y, row := range bitmap {
		for x, isDark := range row {
			if out.at(x, y)&function == 0 && isDark {
				out.cells[y*out.side+x] = dark
			}
		}
	}
	out.applyMask(mask)
	return out, nil
}

// maskOf reads from the format information which mask a finished bitmap bears.
func maskOf(bitmap [][]bool, level Level) (mask int, ok bool) {
	format := uint(0)
	for i := range formatBits {
		if x, y := formatPlace(i); bitmap[y][x] {
			format |= 1 << i
		}
	}
	for mask := range maskCount {
		if format == formatInformation(level, mask) {
			return mask, true
		}
	}
	return 0, false
}

// libraryBitmap calls the library, which panics instead of returning some errors. Its version and
// mode are left to it: it takes the smallest version and the densest mode, as versionFor and modeOf
// do, and does not check those that it is given.
func libraryBitmap(text string, level Level) (bitmap [][]bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			bitmap, err = nil, fmt.Errorf("the library panicked: %v", p)
		}
	}()
	option := qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionHighest)
	switch level {
	case low:
		option = qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionLow)
	case medium:
		option = qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionMedium)
	case quartile:
		option = qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionQuart)
	}
	code, err := qrcode.NewWith(text, option)
	if err != nil {
		return nil, err
	}
	var out capture
	if err := code.Save(&out); err != nil {
		return nil, err
	}
	return out.bitmap, nil
}

// A capture receives the library's matrix instead of an image writer.
type capture struct{ bitmap [][]bool }

// Write implements [qrcode.Writer].
func (c *capture) Write(m qrcode.Matrix) error {
	c.bitmap = m.Bitmap()
	return nil
}

// Close implements [qrcode.Writer].
func (*capture) Close() error { return nil }
