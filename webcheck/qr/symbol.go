package qr

import (
	"fmt"
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	qrcode "github.com/yeqown/go-qrcode/v2"
)

// A symbol is a text as modules, finished.
type symbol struct {
	modules [][]int8 // by rows; 1 is dark
	side    int
	mask    int
}

func (s *symbol) isDark(x, y int) bool { return s.modules[y][x] == 1 }

// newSymbol returns the symbol of a text that fits the version, by the mode that modeOf chose.
func newSymbol(text string, m mode, version int, level Level) (*symbol, error) {
	if m == utf8Bytes {
		return announced(text, version, level)
	}
	bits, err := unmasked(text, version, level)
	if err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	return best(bits, version, level)
}

// announced writes a text behind ECI 26, which says that it is UTF-8: readers guess wrongly at bytes above 127, and the
// library that writes ASCII cannot announce a character set.
func announced(text string, version int, level Level) (*symbol, error) {
	code, err := encoder.Encoder_encode(text, level.zxing(), map[gozxing.EncodeHintType]any{
		gozxing.EncodeHintType_CHARACTER_SET: "UTF-8", gozxing.EncodeHintType_QR_VERSION: version,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	return &symbol{code.GetMatrix().GetArray(), sideOf(version), code.GetMaskPattern()}, nil
}

// unmasked returns the codewords of an ASCII text. The library's mask is taken off: of masks that score the same it
// takes the one whose goroutine ends first. Its version and mode are left to it: it takes the smallest version and the
// densest mode, as versionFor and modeOf do, does not check those that it is given, and panics instead of returning
// some errors.
func unmasked(text string, version int, level Level) (bits *gozxing.BitArray, err error) {
	defer func() {
		if p := recover(); p != nil {
			bits, err = nil, fmt.Errorf("the library panicked: %v", p)
		}
	}()
	code, err := qrcode.NewWith(text, map[Level]qrcode.EncodeOption{
		Low:      qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionLow),
		Medium:   qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionMedium),
		Quartile: qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionQuart),
		High:     qrcode.WithErrorCorrectionLevel(qrcode.ErrorCorrectionHighest),
	}[level])
	if err != nil {
		return nil, err
	}
	var out capture
	if err := code.Save(&out); err != nil {
		return nil, err
	}
	if len(out) != sideOf(version) {
		return nil, fmt.Errorf("%d modules a side instead of %d", len(out), sideOf(version))
	}
	matrix, err := gozxing.ParseBoolMapToBitMatrix(out)
	if err != nil {
		return nil, err
	}
	parser, err := decoder.NewBitMatrixParser(matrix)
	if err != nil {
		return nil, err
	}
	words, err := parser.ReadCodewords()
	bits = gozxing.NewBitArray(8 * len(words))
	for i := range bits.GetSize() {
		if words[i/8]>>(7-i%8)&1 != 0 {
			bits.Set(i)
		}
	}
	return bits, err
}

// A capture receives the library's matrix instead of an image writer.
type capture [][]bool

// Write implements [qrcode.Writer].
func (c *capture) Write(m qrcode.Matrix) error {
	*c = m.Bitmap()
	return nil
}

// Close implements [qrcode.Writer].
func (*capture) Close() error { return nil }

// best returns the symbol of codewords under the mask with the lowest penalty (ISO/IEC 18004 section 7.8.3.1). Of equal
// ones it takes the first, so that the same text always gives the same symbol.
func best(bits *gozxing.BitArray, version int, level Level) (best *symbol, err error) {
	lowest := math.MaxInt
	for mask := range encoder.QRCode_NUM_MASK_PATERNS {
		matrix, err := masked(bits, version, level, mask)
		if err != nil {
			return nil, fmt.Errorf("encoding a QR code: %w", err)
		}
		penalty := encoder.MaskUtil_applyMaskPenaltyRule1(matrix) + encoder.MaskUtil_applyMaskPenaltyRule2(matrix) +
			encoder.MaskUtil_applyMaskPenaltyRule3(matrix) + encoder.MaskUtil_applyMaskPenaltyRule4(matrix)
		if penalty < lowest {
			best, lowest = &symbol{matrix.GetArray(), sideOf(version), mask}, penalty
		}
	}
	return best, nil
}

// masked places codewords under a mask, among the patterns and the information of version and format.
func masked(bits *gozxing.BitArray, version int, level Level, mask int) (*encoder.ByteMatrix, error) {
	v, err := decoder.Version_GetVersionForNumber(version)
	if err != nil {
		return nil, err
	}
	matrix := encoder.NewByteMatrix(sideOf(version), sideOf(version))
	return matrix, encoder.MatrixUtil_buildMatrix(bits, level.zxing(), v, mask, matrix)
}
