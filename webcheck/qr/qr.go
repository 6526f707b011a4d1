package qr

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
)

// A Format is a kind of image file: png, svg or jpeg.
type Format string

const (
	PNG  Format = "png"  // two colors, one bit a pixel
	SVG  Format = "svg"  // drawn from lines, sharp at any size
	JPEG Format = "jpeg" // for programs that read nothing else
)

// Values lists the formats.
func (Format) Values() []string { return kit.Values(PNG, SVG, JPEG) }

// mediaTypes are those of the formats (that of SVG by W3C SVG 2 appendix P).
var mediaTypes = map[Format]string{PNG: "image/png", SVG: "image/svg+xml", JPEG: "image/jpeg"}

// Bounds and defaults of a request.
const (
	maxData       = 2953 // bytes; version 40 at level L holds no more in byte mode
	minSize       = 64   // pixels
	maxSize       = 4096 // pixels; an image of 16 megapixels bounds the work of one request
	defaultSize   = 512
	maxMargin     = 16 // modules
	defaultMargin = 4  // the quiet zone of ISO/IEC 18004 section 6.3.8
	transparent   = "transparent"
)

// A Request describes the text and the image. Only Data is required.
type Request struct {
	Data string `json:"data" minlen:"1" maxlen:"2953" doc:"text to write, at most 2953 bytes; less at higher error correction levels" example:"https://example.com/"`

	Format          Format `json:"format,omitempty" default:"png" doc:"kind of image"`
	Size            int    `json:"size,omitempty" default:"512" min:"64" max:"4096" doc:"width and height in pixels"`
	ErrorCorrection Level  `json:"error_correction,omitempty" default:"M" doc:"how much of the code may be unreadable: L 7 %, M 15 %, Q 25 %, H 30 %"`
	Margin          *int   `json:"margin,omitempty" default:"4" min:"0" max:"16" doc:"width of the quiet zone in modules; readers expect 4"`
	Foreground      string `json:"foreground,omitempty" default:"#000000" pattern:"^#[0-9A-Fa-f]{6}$" doc:"colour of the modules; must be darker than the background by at least a fifth of the range from black to white"`
	Background      string `json:"background,omitempty" default:"#ffffff" pattern:"^(#[0-9A-Fa-f]{6}|transparent)$" doc:"colour of the light modules and the margin; transparent for png and svg only, to be laid on white"`
}

// What drawing takes at most, in bytes.
const (
	smallMemory = 4 << 20 // all but the samples
	pngSample   = 1       // of a pixel
	jpegSample  = 2       // brightness, half as much of color, and the file
)

// Memory returns an upper bound of the memory that Encode uses, in bytes.
func (r *Request) Memory() int64 {
	size := int64(cmp.Or(r.Size, defaultSize))
	return smallMemory + size*size*map[Format]int64{"": pngSample, PNG: pngSample, JPEG: jpegSample}[r.Format]
}

// An Image is an image of a QR code.
type Image struct {
	ContentType     string // media type: image/png, image/svg+xml or image/jpeg
	Data            []byte // the file
	Version         int    // size of the symbol, 1 to 40: 17+4×Version modules a side
	ErrorCorrection Level  // error correction level
	Mask            int    // mask of the symbol, 0 to 7
}

// MediaType returns the media type of the image.
func (i *Image) MediaType() string { return i.ContentType }

// Bytes returns the file.
func (i *Image) Bytes() []byte { return i.Data }

// Encode draws a QR code. The image is exactly as large as requested. In PNG and JPEG, each module is a
// square of as many whole pixels as fit (an even number in a color JPEG), and the remaining pixels widen the
// margin evenly. An SVG image fills its size, because it can be scaled.
//
// Digits alone, and digits with capital letters and the punctuation " $%*+-./:", take less space than other
// ASCII text. Other text is written as UTF-8 and marked as such, which takes one more byte.
//
// Encode refuses colors of similar brightness, which readers cannot distinguish, and modules lighter than the
// background, which ZXing and ZBar do not find. A transparent background counts as white.
//
// The error is a *diag.InputError.
func Encode(r Request) (*Image, error) {
	p, err := r.picture()
	if err != nil {
		return nil, err
	}
	m := modeOf(r.Data)
	level := cmp.Or(r.ErrorCorrection, Medium)
	version, ok := versionFor(m, len(r.Data), level)
	if !ok {
		return nil, input.Invalid("data", "is %d bytes long; "+
			"at error correction level %s a code holds at most %d bytes of %s",
			len(r.Data), level, m.capacity(maxVersion, level), m)
	}
	if least := p.unit() * (sideOf(version) + 2*p.margin); p.size < least {
		return nil, input.Invalid("size", "must be at least %d for this data, error correction, margin and format", least)
	}
	if p.symbol, err = newSymbol(r.Data, m, version, level); err != nil {
		return nil, err
	}
	data, err := p.draw()
	if err != nil {
		return nil, err
	}
	return &Image{
		ContentType: mediaTypes[p.format], Data: data, Version: version, ErrorCorrection: level, Mask: p.symbol.mask,
	}, nil
}

// picture checks the request, apart from whether the data fit, and returns the picture without its symbol.
func (r *Request) picture() (*picture, error) {
	if err := r.checkData(); err != nil {
		return nil, err
	}
	if err := oneOf("format", r.Format); err != nil {
		return nil, err
	}
	if err := oneOf("error_correction", r.ErrorCorrection); err != nil {
		return nil, err
	}
	p := &picture{format: cmp.Or(r.Format, PNG), size: cmp.Or(r.Size, defaultSize), margin: defaultMargin}
	if p.size < minSize || p.size > maxSize {
		return nil, input.Invalid("size", "must be from %d to %d", minSize, maxSize)
	}
	if r.Margin != nil {
		p.margin = *r.Margin
	}
	if p.margin < 0 || p.margin > maxMargin {
		return nil, input.Invalid("margin", "must be from 0 to %d", maxMargin)
	}
	return p, r.colours(p)
}

func (r *Request) checkData() error {
	switch {
	case r.Data == "":
		return input.Invalid("data", "must not be empty")
	case len(r.Data) > maxData:
		return input.Invalid("data", "is %d bytes long; a code holds at most %d", len(r.Data), maxData)
	case !utf8.ValidString(r.Data):
		return input.Invalid("data", "must be valid UTF-8")
	}
	return nil
}

// oneOf checks an enumeration, of which the empty string is the default.
func oneOf[T interface {
	~string
	Values() []string
}](field string, value T) error {
	if values := value.Values(); value != "" && !slices.Contains(values, string(value)) {
		return input.Invalid(field, "must be one of %v", values)
	}
	return nil
}

// minContrast is by how much darker than the background the modules must be, of 255: below a fifth a print fails
// (ISO/IEC 15415 section 7.8.3, symbol contrast), and readers such as ZBar see nothing.
const minContrast = 51

func (r *Request) colours(p *picture) error {
	var ok bool
	if p.foreground, ok = parseColour(cmp.Or(r.Foreground, "#000000")); !ok {
		return input.Invalid("foreground", "must be a colour like #1a2b3c")
	}
	if r.Background == transparent {
		p.transparent = true
		p.background = colour{0xff, 0xff, 0xff} // for programs that do not know transparency
		if r.Format == JPEG {
			return input.Invalid("background", "cannot be transparent in a JPEG image")
		}
	} else if p.background, ok = parseColour(cmp.Or(r.Background, "#ffffff")); !ok {
		return input.Invalid("background", "must be a colour like #1a2b3c, or %s", transparent)
	}
	if c := contrast(p.foreground, p.background); c < minContrast {
		return input.Invalid("foreground", "must be darker than the background by %d of 255 for readers, not by %d; "+
			"a transparent one counts as white", minContrast, c)
	}
	return nil
}
