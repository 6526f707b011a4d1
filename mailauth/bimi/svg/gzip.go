package svg

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong says that an image has more than [MaxBytes] bytes when it is decompressed.
var ErrTooLong = fmt.Errorf("it has more than %d bytes when it is decompressed", MaxBytes)

// Compressed reports whether a file begins as gzip does (RFC 1952 section 2.3.1).
func Compressed(file []byte) bool { return bytes.HasPrefix(file, []byte{0x1F, 0x8B}) }

// Decode returns the image in a file that may be compressed with gzip, as .svgz files and the images in mark
// certificates are. At most [MaxBytes] bytes come out of it, whatever went in: a longer image is [ErrTooLong]. What
// follows the compressed data is an error, since software differs on whether it belongs to the image.
func Decode(file []byte) (image []byte, compressed bool, err error) {
	if !Compressed(file) {
		if len(file) > MaxBytes {
			return nil, false, ErrTooLong
		}
		return file, false, nil
	}
	rest := bytes.NewReader(file)
	z, err := gzip.NewReader(rest)
	if err != nil {
		return nil, true, gzipError(err)
	}
	z.Multistream(false)
	image, err = io.ReadAll(io.LimitReader(z, MaxBytes+1))
	switch {
	case len(image) > MaxBytes:
		return nil, true, ErrTooLong
	case err != nil:
		return nil, true, gzipError(err)
	case rest.Len() > 0:
		return nil, true, fmt.Errorf("%d bytes follow the compressed data", rest.Len())
	}
	return image, true, nil
}

// gzipError says what is wrong with compressed data.
func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the compressed data ends too early")
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("the checksum of the compressed data does not match")
	default:
		return errors.New("the compressed data is damaged")
	}
}
