package textutil

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxBase64 bounds data_base64: the padded Base64 of MaxText bytes.
const maxBase64 = (MaxText + 2) / 3 * 4

// maxBase64Wrap bounds the length of a line of Base64 (CONTRACT 3.2).
const maxBase64Wrap = 1000

// A Base64Variant is an alphabet of RFC 4648: standard, url_safe or, in a text with characters of both,
// mixed.
type Base64Variant string

const (
	Base64Standard Base64Variant = "standard" // RFC 4648 section 4: + and /
	Base64URLSafe  Base64Variant = "url_safe" // RFC 4648 section 5: - and _
	Base64Mixed    Base64Variant = "mixed"    // characters of both, which no encoder writes
)

// Values lists the variants.
func (Base64Variant) Values() []string { return valuesOf(Base64Standard, Base64URLSafe, Base64Mixed) }

// A Base64EncodeRequest asks for data to be encoded in Base64. Set Text or DataBase64, not both; if both are
// empty, the data is empty.
type Base64EncodeRequest struct {
	Text       string `json:"text" oneof:"input" maxbytes:"1048576" doc:"the data, if it is text" example:"Hello"`
	DataBase64 string `json:"data_base64" oneof:"input" maxbytes:"1398104" doc:"the data in Base64, if it is not text"`

	URLSafe bool  `json:"url_safe,omitempty" default:"false" doc:"use - and _ in place of + and /"`
	Padding *bool `json:"padding,omitempty" default:"true" doc:"fill the last group with ="` // nil: true
	// Wrap is the number of characters on a line; every line but the last ends with a line feed. 0 means a
	// single line.
	Wrap int `json:"wrap,omitempty" default:"0" min:"0" max:"1000" doc:"characters on a line; 0: one line"`
}

// A Base64EncodeReport is the result of encoding data in Base64.
type Base64EncodeReport struct {
	Result      string        `json:"result" doc:"the data in Base64"`
	Variant     Base64Variant `json:"variant" doc:"alphabet of the result: standard or url_safe"`
	InputBytes  int           `json:"input_bytes" min:"0" doc:"length of the data in bytes"`
	OutputBytes int           `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
}

// Base64Encode encodes data in Base64 (RFC 4648 sections 4 and 5). The error is an *[InputError].
func Base64Encode(req Base64EncodeRequest) (*Base64EncodeReport, error) {
	if req.Wrap < 0 || req.Wrap > maxBase64Wrap {
		return nil, invalid("wrap", "is %d; it may be from 0 to %d", req.Wrap, maxBase64Wrap)
	}
	data, err := inputData(req.Text, req.DataBase64)
	if err != nil {
		return nil, err
	}
	encoding, variant := base64.StdEncoding, Base64Standard
	if req.URLSafe {
		encoding, variant = base64.URLEncoding, Base64URLSafe
	}
	if req.Padding != nil && !*req.Padding {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	result := wrapLines(encoding.EncodeToString(data), req.Wrap)
	return &Base64EncodeReport{Result: result, Variant: variant, InputBytes: len(data), OutputBytes: len(result)}, nil
}

// wrapLines breaks ASCII into lines of the given width; 0 means one line.
func wrapLines(text string, width int) string {
	if width == 0 || len(text) <= width {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/width)
	for len(text) > width {
		b.WriteString(text[:width])
		b.WriteByte('\n')
		text = text[width:]
	}
	b.WriteString(text)
	return b.String()
}

// inputData returns the data of a request that gives it as text or in Base64.
func inputData(text, dataBase64 string) ([]byte, error) {
	if dataBase64 == "" {
		if err := checkText("text", text); err != nil {
			return nil, err
		}
		return []byte(text), nil
	}
	switch {
	case text != "":
		return nil, invalid("data_base64", "cannot be combined with text; exactly one of the two is required")
	case len(dataBase64) > maxBase64:
		return nil, invalid("data_base64", "has %d bytes; the most is %d", len(dataBase64), maxBase64)
	}
	d := decodeBase64(dataBase64, false)
	if d.fault != (DecodeFault{}) {
		return nil, invalid("data_base64", "is not Base64: %s at byte %d", d.fault.Message, d.fault.Offset)
	}
	if len(d.data) > MaxText {
		return nil, invalid("data_base64", "decodes to %d bytes; the maximum is %d", len(d.data), MaxText)
	}
	return d.data, nil
}

// A Base64DecodeRequest asks for Base64 to be decoded.
type Base64DecodeRequest struct {
	Text string `json:"text" maxbytes:"1048576" doc:"the Base64" example:"SGVsbG8="`
	// Strict accepts only what RFC 4648 section 4 allows: the standard alphabet with complete padding, no
	// other characters, and no leftover bits. Otherwise white space is ignored, both alphabets are accepted,
	// and padding may be missing but must be correct if present.
	Strict bool `json:"strict,omitempty" default:"false" doc:"refuse white space, - and _, missing padding, spare bits"`
}

// A DecodeFault is the reason that a text cannot be decoded.
type DecodeFault struct {
	Message string `json:"message" doc:"what is wrong"`
	Offset  int    `json:"offset" min:"0" doc:"the byte of the text where it is wrong, from 0"`
}

// A Base64DecodeReport is the result of decoding Base64.
type Base64DecodeReport struct {
	Valid       bool          `json:"valid" doc:"whether the text is Base64"`
	Result      *string       `json:"result" doc:"the decoded text; null if it is not text in UTF-8"`
	IsUTF8      bool          `json:"is_utf8" doc:"whether the decoded data is text in UTF-8"`
	ResultHex   string        `json:"result_hex,omitempty" doc:"the decoded data in hexadecimal, if it is not UTF-8"`
	Variant     Base64Variant `json:"variant" doc:"alphabet of the text; standard if it has no letter that tells"`
	Padded      bool          `json:"padded" doc:"whether the text has padding"`
	Error       DecodeFault   `json:"error,omitzero" doc:"why the text is not valid"`
	InputBytes  int           `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes int           `json:"output_bytes" min:"0" doc:"length of the decoded data in bytes"`
}

// Base64Decode decodes Base64. If the text is not Base64, the report has Valid false. The error is an
// *[InputError].
//
// Without Strict, it accepts what the forgiving-base64 decode algorithm of the WHATWG Infra Standard accepts,
// and also the characters - and _ of the URL-safe alphabet.
func Base64Decode(req Base64DecodeRequest) (*Base64DecodeReport, error) {
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	d := decodeBase64(req.Text, req.Strict)
	report := &Base64DecodeReport{
		Valid: d.fault == (DecodeFault{}), Variant: d.variant(), Padded: d.pads > 0, Error: d.fault,
		InputBytes: len(req.Text),
	}
	if d.fault != (DecodeFault{}) {
		return report, nil
	}
	report.OutputBytes = len(d.data)
	if report.IsUTF8 = utf8.Valid(d.data); report.IsUTF8 {
		text := string(d.data)
		report.Result = &text
	} else {
		report.ResultHex = hex.EncodeToString(d.data)
	}
	return report, nil
}

// A base64Decoding is Base64 in the course of being decoded.
type base64Decoding struct {
	data      []byte
	fault     DecodeFault
	plus, url bool // whether + or /, - or _ occur

	letters       []byte // so far
	pads          int
	lastAt, padAt int // offset of the last letter and of the first =
	strict        bool
}

// decodeBase64 decodes text; strict is that of Base64DecodeRequest.
func decodeBase64(text string, strict bool) *base64Decoding {
	d := &base64Decoding{strict: strict, letters: make([]byte, 0, len(text))}
	for i := 0; i < len(text) && d.fault == (DecodeFault{}); i++ {
		d.step(text, i)
	}
	if d.fault == (DecodeFault{}) {
		d.finish(len(text))
	}
	return d
}

func (d *base64Decoding) step(text string, i int) {
	switch c := text[i]; {
	case isBase64Space(c):
		if d.strict {
			d.fail(i, "there is white space")
		}
	case c == '=':
		if d.pads++; d.pads == 1 {
			d.padAt = i
		}
	case strings.IndexByte(base64Letters, c) < 0:
		r, _ := utf8.DecodeRuneInString(text[i:])
		d.fail(i, fmt.Sprintf("%q is not a letter of Base64", r))
	case d.pads > 0:
		d.fail(d.padAt, "there is padding before the end")
	case (c == '-' || c == '_') && d.strict:
		d.fail(i, fmt.Sprintf("%q is of the URL-safe alphabet; strict reads the standard one", c))
	default:
		d.plus = d.plus || c == '+' || c == '/'
		d.url = d.url || c == '-' || c == '_'
		d.lastAt = i
		d.letters = append(d.letters, c)
	}
}

func (d *base64Decoding) finish(end int) {
	left, encoding := len(d.letters)%4, base64.RawStdEncoding
	if d.strict {
		encoding = encoding.Strict()
	}
	switch {
	case left == 1:
		d.fail(d.lastAt, "the last group has one letter; at least two make a byte")
	case d.pads > 0 && (left == 0 || left+d.pads != 4):
		d.fail(d.padAt, fmt.Sprintf("the padding has %d characters where %d belong", d.pads, (4-left)%4))
	case d.strict && left > 0 && d.pads == 0:
		d.fail(end, fmt.Sprintf("%d characters of padding are missing", 4-left))
	default:
		letters := strings.NewReplacer("-", "+", "_", "/").Replace(string(d.letters))
		var err error
		if d.data, err = encoding.DecodeString(letters); err != nil {
			// RFC 4648 section 3.5: a decoder may refuse letters whose spare bits are not zero.
			d.fail(d.lastAt, "the last letter holds bits that belong to no byte")
		}
	}
}

func (d *base64Decoding) fail(offset int, message string) {
	d.fault, d.data = DecodeFault{Message: message, Offset: offset}, nil
}

func (d *base64Decoding) variant() Base64Variant {
	switch {
	case d.plus && d.url:
		return Base64Mixed
	case d.url:
		return Base64URLSafe
	}
	return Base64Standard
}

// isBase64Space reports whether c is ASCII white space (WHATWG Infra Standard section 4.6), which
// leaves out the vertical tab.
func isBase64Space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// base64Letters are the letters of both alphabets.
const base64Letters = asciiAlphanumeric + "+/-_"
