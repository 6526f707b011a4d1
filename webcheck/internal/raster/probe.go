package raster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/gif"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// A Format is a kind of image file: png, jpeg, gif, webp or bmp.
type Format string

// The formats.
const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	GIF  Format = "gif"
	webP Format = "webp"
	BMP  Format = "bmp"
)

// Values lists the formats.
func (Format) Values() []string {
	return []string{string(PNG), string(JPEG), string(GIF), string(webP), string(BMP)}
}

const (
	// maxPixels bounds the image in the file (CONTRACT 1.9).
	maxPixels = 25_000_000
	// maxMemory bounds what reading may take, beside the file itself. Formats that are not read row by
	// row reach it below MaxPixels: progressive JPEG at 5 megapixels, lossless WebP at 5, BMP in color at 10.
	maxMemory = 40 << 20
	// maxScans bounds the scans of a JPEG, each of which may pass over all of the image for a few bytes.
	// Encoders write ten or so.
	maxScans = 64
)

// A Header describes an image before it is decoded.
type Header struct {
	Format        Format
	Width, Height int
	Memory        int64 // bytes that reading takes at most, beside the file
	Animated      bool  // there are further frames, which are not read
}

// A TooLargeError says that an image is beyond the limits.
type TooLargeError struct {
	Header Header
	Reason string
}

func (e *TooLargeError) Error() string { return "reading " + string(e.Header.Format) + ": " + e.Reason }

// Probe measures an image. It returns a *[TooLargeError] for one beyond the limits, with what is known of
// it, and an *[UnreadableError] for what is not an image.
func Probe(data []byte) (Header, error) {
	h := Header{Format: formatOf(data)}
	perPixel, err := h.measure(data)
	switch {
	case h.Format == "":
		return h, &UnreadableError{"", "the file is not a PNG, JPEG, GIF, WebP or BMP image"}
	case err != nil || h.Width <= 0 || h.Height <= 0:
		return h, &UnreadableError{h.Format, "its header is broken"}
	}
	reduced := int64(min(h.Width*h.Height, MaxReduced))
	if h.Width > maxPixels || h.Height > maxPixels || h.Width*h.Height > maxPixels {
		return h, &TooLargeError{h, fmt.Sprintf("the image has %d by %d pixels; at most %d megapixels are read",
			h.Width, h.Height, maxPixels/1_000_000)}
	}
	h.Memory = int64(perPixel*float64(h.Width*h.Height)) + reduced + 64<<10
	switch {
	case perPixel < 0:
		return h, &TooLargeError{h, fmt.Sprintf("the image has more than %d scans", maxScans)}
	case h.Memory > maxMemory:
		return h, &TooLargeError{h, fmt.Sprintf("the image takes %d MiB of memory in this form of %s, and may take %d; "+
			"reduce it to half its width and height", h.Memory>>20, h.Format, maxMemory>>20)}
	}
	return h, nil
}

// formatOf detects a format by the first bytes of a file.
func formatOf(data []byte) Format {
	begins := func(s string) bool { return bytes.HasPrefix(data, []byte(s)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return PNG
	case begins("\xff\xd8\xff"):
		return JPEG
	case begins("GIF87a"), begins("GIF89a"):
		return GIF
	case begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return webP
	case begins("BM"):
		return BMP
	}
	return ""
}

// measure reads the size of the image, and returns how many bytes the decoder takes for each pixel.
func (h *Header) measure(data []byte) (perPixel float64, err error) {
	switch h.Format {
	case PNG:
		return h.measurePNG(data)
	case JPEG:
		return h.measureJPEG(data)
	case GIF:
		c, err := gif.DecodeConfig(bytes.NewReader(data))
		h.Width, h.Height = c.Width, c.Height
		h.Animated = gifFrames(data) > 1
		return 1, err
	case webP:
		c, err := webp.DecodeConfig(bytes.NewReader(data))
		h.Width, h.Height = c.Width, c.Height
		return webpNeeds(data), err
	case BMP:
		c, err := bmp.DecodeConfig(bytes.NewReader(data))
		h.Width, h.Height = c.Width, c.Height
		return 4, err
	}
	return 0, nil
}

// measurePNG reads IHDR, which comes first (section 11.2.1).
func (h *Header) measurePNG(data []byte) (perPixel float64, err error) {
	if len(data) < 33 || string(data[12:16]) != "IHDR" {
		return 0, errPNG
	}
	width, height := binary.BigEndian.Uint32(data[16:]), binary.BigEndian.Uint32(data[20:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return 0, errPNG
	}
	h.Width, h.Height = int(width), int(height)
	h.Animated = bytes.Contains(data[33:min(len(data), 512)], []byte("acTL\x00")) // PNG section 11.3.6.1: before the data
	if data[28] != 0 {
		return 1, nil // interlaced
	}
	return 0, nil
}

// gifFrames counts the frames of a GIF (89a, sections 18 to 26), up to the second.
func gifFrames(data []byte) (frames int) {
	const screen, image = 13, 9 // bytes of the descriptors before a color table
	table := func(packed byte) int { return int(packed>>7) * 3 << (packed&7 + 1) }
	at := screen
	if len(data) >= screen {
		at += table(data[10])
	}
	for at+1 < len(data) && frames < 2 {
		switch data[at] {
		case ',':
			if at+1+image >= len(data) {
				return frames
			}
			frames++
			at += 1 + image + table(data[at+image]) + 1 // and the size of codes
		case '!':
			at += 2
		default:
			return frames
		}
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		at++
	}
	return frames
}

// webpNeeds returns the memory that the decoder of x/image takes: planes of lossy images, four bytes a pixel of
// lossless ones, twice while a palette is applied, and both where the transparency of a lossy image is compressed.
func webpNeeds(data []byte) float64 {
	switch {
	case len(data) < 21:
		return 0
	case string(data[12:16]) == "VP8 ":
		return 1.5
	case string(data[12:16]) == "VP8X" && data[20]&(1<<4) == 0 && !bytes.Contains(data, []byte("VP8L")):
		return 1.5
	}
	return 8
}

// measureJPEG reads the frame header (ITU-T T.81 section B.2.2), and counts the scans.
func (h *Header) measureJPEG(data []byte) (perPixel float64, err error) {
	scans, rgb := 0, false
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			at++ // entropy-coded data, or rubbish
			continue
		}
		marker := data[at+1]
		if marker == 0 || marker == 0xff || marker >= 0xd0 && marker <= 0xd8 || marker == 1 {
			at += 1 + min(1, int(marker^0xff)) // a fill byte may begin a marker
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		switch {
		case marker == 0xd9 || length < 2 || at+2+length > len(data): // the length counts itself
			at = len(data)
			continue
		case marker >= 0xc0 && marker <= 0xc2 && h.Width == 0:
			perPixel = h.frame(marker, data[at+4:at+2+length])
		case marker == 0xda:
			scans++
		case marker == 0xee && length >= 14 && string(data[at+4:at+9]) == "Adobe":
			rgb = rgb || data[at+15] == 0 // not transformed
		}
		at += 2 + length
	}
	if scans > maxScans {
		return -1, nil
	}
	if rgb {
		perPixel += 4
	}
	return perPixel, nil
}

// frame reads a frame header. Decoded planes take a byte for each of their samples, coefficients of progressive images
// four more; four components, and three that are red, green and blue, are brought together at four a pixel.
func (h *Header) frame(marker byte, data []byte) (perPixel float64) {
	if len(data) < 6 || len(data) < 6+3*int(data[5]) {
		return 0
	}
	h.Height, h.Width = int(binary.BigEndian.Uint16(data[1:])), int(binary.BigEndian.Uint16(data[3:]))
	components, most, samples := int(data[5]), 1, 0
	for i := range components {
		across, down := int(data[7+3*i]>>4), int(data[7+3*i]&15)
		most = max(most, across*down)
		samples += across * down
	}
	perPixel = float64(samples) / float64(most)
	if components == 1 {
		perPixel = 1
	}
	if marker == 0xc2 {
		perPixel *= 5
	}
	if components == 4 || components == 3 && data[6] == 'R' && data[9] == 'G' && data[12] == 'B' {
		perPixel += 4
	}
	return perPixel
}

// Sentence returns the reason as a sentence for the sender of the image.
func (e *TooLargeError) Sentence() string { return strings.ToUpper(e.Reason[:1]) + e.Reason[1:] + "." }
