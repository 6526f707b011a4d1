package decode

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/diagkit/diagkit/webcheck/internal/scan"
)

const (
	// MaxBytes is the maximum size of the file (CONTRACT 1.9).
	MaxBytes     = 5 << 20
	defaultCodes = 10 // CONTRACT 3.4
	maxCodes     = 50
)

// A Request asks for the codes in an image.
type Request struct {
	Image    []byte `json:"image_base64" minlen:"1" maxbytes:"5242880" doc:"a PNG, JPEG, GIF, WebP or BMP file of at most 25 megapixels; its content decides which" example:"iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAABlBMVEX///8AAABVwtN+AAAAuUlEQVR4AcyRoQoCQRRFL4tok1kQJq1jVDDYNQiubFlQtsgaxOAH6B/4CQZNBqsgiMlqMtiEdaJ+gMlkVXzX/Yd9ZQ73ncuEh3SczAMAcw9evxeqd1MCOl5dCZ3zH8IuQcU+HWMHbKEwFRelSdQXKu72B8KzxpauRnNJyo8367n6sSGJN2zRyW/XdLxkU5EVXJeysZagghk3uv1hov3LWCI9avJTFZ4kgEmWC5JM9m/hAAAAfAMAAP//v0MlAMed8zgAAAAASUVORK5CYII="`
	MaxCodes int    `json:"max_codes,omitempty" default:"10" min:"1" max:"50" doc:"most codes in the reply"`
}

const (
	fixedMemory = 4 << 20 // tables, the reply and small things
	fileFactor  = 3       // the file as it was sent in base64, and decoded
	scanFactor  = 6       // bytes for each pixel of a reduced image
)

// Memory returns an upper bound of the memory that Decode uses, in bytes.
func (r *Request) Memory() int64 {
	header, _ := raster.Probe(r.Image)
	reduced := int64(min(header.Width*header.Height, raster.MaxReduced))
	return fixedMemory + fileFactor*int64(len(r.Image)) + max(header.Memory, scanFactor*reduced)
}

// A Report lists the codes in the image, in reading order.
type Report struct {
	Found      bool   `json:"found" doc:"whether there is a code"`
	CodesCount int    `json:"codes_count" min:"0" max:"50" doc:"number of codes in the reply"`
	Codes      []Code `json:"codes" maxitems:"50" doc:"the codes in reading order: by rows, and in a row from left to right"`
	Image      Image  `json:"image" doc:"what is known of the image"`
	Partial    bool   `json:"partial,omitempty" doc:"whether a limit or further frames kept a part of the image from being searched"`
	diag.Text
	Findings []diag.Finding `json:"findings" doc:"requirements that were not fulfilled, the worst first"`
}

// A Format is an image file format: png, jpeg, gif, webp or bmp.
type Format = raster.Format

// A TooLargeError means that an image exceeds the limits.
type TooLargeError = raster.TooLargeError

// An Image describes the image file.
type Image struct {
	Format Format `json:"format,omitempty" doc:"kind of file; absent if it is none that is known"`
	Width  int    `json:"width,omitempty" doc:"pixels; absent if the file does not tell"`
	Height int    `json:"height,omitempty" doc:"pixels; absent if the file does not tell"`
	Bytes  int    `json:"bytes" min:"0" doc:"size of the file"`
}

// A Code is one QR code.
type Code struct {
	Text        string      `json:"text" doc:"what the code says; bytes that are no UTF-8 are decoded by the character set that the code names or that is likely"`
	Bytes       []byte      `json:"bytes_base64,omitempty" doc:"the bytes of the code; absent if they are the text in UTF-8"`
	IsUTF8      bool        `json:"is_utf8" doc:"whether the bytes of the code are the text in UTF-8"`
	ContentType ContentType `json:"content_type" doc:"what a phone takes the text for"`
	Parsed      *Parsed     `json:"parsed,omitempty" doc:"the parts of the text; absent for plain text, and for what is malformed"`

	Version         int     `json:"version" min:"1" max:"40" doc:"size of the code: 17 + 4 × version modules a side"`
	ErrorCorrection string  `json:"error_correction" enum:"L M Q H" doc:"how much of the code may be unreadable: L 7 %, M 15 %, Q 25 %, H 30 %"`
	Mask            int     `json:"mask" min:"0" max:"7" doc:"mask of the code"`
	Position        []Point `json:"position" maxitems:"4" doc:"the corners of the code in pixels of the image, from its own top left clockwise as it is read"`

	Modes            []scan.Mode  `json:"modes" doc:"how the parts of the text are written"`
	ECI              *int         `json:"eci,omitempty" doc:"assignment number of the character set that the code names first"`
	ErrorsCorrected  int          `json:"errors_corrected" min:"0" doc:"codewords that were unreadable and restored"`
	ErrorsCorrigible int          `json:"errors_correctable" min:"0" doc:"codewords that can be restored if the damage is spread evenly"`
	Mirrored         bool         `json:"mirrored" doc:"whether the code is a mirror image"`
	Inverted         bool         `json:"inverted" doc:"whether light modules are on a dark background"`
	GS1              bool         `json:"gs1" doc:"whether the code holds data elements of GS1 (FNC1 in first position)"`
	Append           *AppendState `json:"structured_append,omitempty" doc:"which part of a text this code is, if the text is spread over several"`

	symbol  *scan.Symbol
	content *scan.Content
	fault   string // why what looks like a Wi-Fi network, account or place is invalid
}

// An AppendState identifies the part of a text that a code has, if the text is spread over several codes.
type AppendState struct {
	Part   int `json:"part" min:"1" max:"16" doc:"number of the part"`
	Parts  int `json:"parts" min:"1" max:"16" doc:"number of parts"`
	Parity int `json:"parity" min:"0" max:"255" doc:"the bytes of the whole text, combined by exclusive or"`
}

// A Point is a position in the image.
type Point struct {
	X int `json:"x" doc:"pixels from the left edge"`
	Y int `json:"y" doc:"pixels from the top edge"`
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// Decode reads the codes in an image. The error is a *[TooLargeError] if the image exceeds the limits, a
// *[diag.InputError] if the request is otherwise invalid, or that of the context if it ended. A malformed
// image is a finding. The environment is not used, and may be nil.
//
// The work is bounded: any image takes less than about two seconds of one core.
func Decode(ctx context.Context, _ *diag.Env, req Request) (*Report, error) {
	switch {
	case len(req.Image) == 0:
		return nil, input.Invalid("image_base64", "must not be empty")
	case len(req.Image) > MaxBytes:
		return nil, input.Invalid("image_base64", "must have at most %d bytes, not %d", MaxBytes, len(req.Image))
	case req.MaxCodes < 0 || req.MaxCodes > maxCodes:
		return nil, input.Invalid("max_codes", "must be from 1 to %d", maxCodes)
	}
	e := &evidence{maxCodes: cmp.Or(req.MaxCodes, defaultCodes)}
	if err := e.read(ctx, req.Image); err != nil {
		return nil, err
	}
	return e.report(), nil
}

// evidence is the input of the rules.
type evidence struct {
	image    Image
	broken   *raster.UnreadableError // nil: the image could be read
	maxCodes int                     // codes in the reply
	total    int                     // codes in the image
	codes    []*Code

	animated bool // the image has further frames, which were not looked at
	cut      bool // a limit ended the search

	foreign scan.Symbology // the code found instead of a QR code; empty if unknown
}

func (e *evidence) read(ctx context.Context, data []byte) error {
	header, err := raster.Probe(data)
	e.image = Image{header.Format, header.Width, header.Height, len(data)}
	e.animated = header.Animated
	if errors.As(err, &e.broken) {
		return nil
	}
	if err != nil {
		return err
	}
	// Light modules without a ground of their own are seen on a dark one only.
	for _, ground := range []byte{0xff, 0} {
		img, err := raster.Read(ctx, data, header, ground)
		if errors.As(err, &e.broken) {
			return nil
		}
		if err != nil {
			return err
		}
		symbols, whole, err := scan.Scan(ctx, img, maxCodes+1) // one more than fits, to know of it
		if err != nil {
			return err
		}
		e.cut = !whole
		if e.addSymbols(img, symbols); len(symbols) == 0 {
			e.foreign = cmp.Or(e.foreign, scan.Foreign(img))
		}
		if len(symbols) > 0 || !img.Transparent {
			break
		}
	}
	return nil
}

func (e *evidence) addSymbols(img *raster.Gray, symbols []scan.Symbol) {
	inReadingOrder(symbols)
	e.total = len(symbols)
	for i := range symbols[:min(len(symbols), e.maxCodes)] {
		e.codes = append(e.codes, newCode(img, &symbols[i]))
	}
}

// inReadingOrder sorts symbols by rows: a row is what lies beside the upper half of its first symbol.
func inReadingOrder(list []scan.Symbol) {
	slices.SortStableFunc(list, func(a, b scan.Symbol) int {
		return cmp.Or(cmp.Compare(a.Centre().Y, b.Centre().Y), cmp.Compare(a.Centre().X, b.Centre().X))
	})
	for len(list) > 0 {
		end := list[0].Centre().Y + list[0].Height()/2
		n := 1
		for n < len(list) && list[n].Centre().Y < end {
			n++
		}
		slices.SortStableFunc(list[:n], func(a, b scan.Symbol) int { return cmp.Compare(a.Centre().X, b.Centre().X) })
		list = list[n:]
	}
}

// newCode describes a symbol.
func newCode(img *raster.Gray, s *scan.Symbol) *Code {
	content := s.Content
	c := &Code{
		Text: content.Text(), Version: s.Version, ErrorCorrection: s.Level, Mask: s.Mask, Modes: []scan.Mode{},
		ErrorsCorrected: s.Errors, ErrorsCorrigible: s.Capacity, Mirrored: s.Mirrored, Inverted: s.Inverted,
		GS1: content.FNC1 == 1, symbol: s, content: content,
	}
	raw := content.Bytes()
	if c.IsUTF8 = string(raw) == c.Text; !c.IsUTF8 {
		c.Bytes = raw
	}
	for _, segment := range content.Segments {
		if !slices.Contains(c.Modes, segment.Mode) {
			c.Modes = append(c.Modes, segment.Mode)
		}
		if segment.ECI != scan.NoECI && c.ECI == nil {
			c.ECI = new(segment.ECI)
		}
	}
	if content.Parts > 0 {
		c.Append = &AppendState{content.Part, content.Parts, int(content.Parity)}
	}
	for _, p := range s.Corners {
		c.Position = append(c.Position, Point{inFile(p.X, img.Factor, img.Offset.X), inFile(p.Y, img.Factor, img.Offset.Y)})
	}
	c.ContentType, c.Parsed, c.fault = parse(c.Text)
	return c
}

// inFile turns a place in a reduced image into one in the file.
func inFile(at float64, factor, offset int) int { return int(at*float64(factor)+.5) + offset }

func (e *evidence) report() *Report {
	v := rules.Judge(e, e.texts())
	return &Report{
		Found: len(e.codes) > 0, CodesCount: len(e.codes), Codes: kit.Map(e.codes, func(c *Code) Code { return *c }),
		Image: e.image, Text: v.Text(), Findings: v.Findings,
		Partial: e.animated || e.cut,
	}
}
