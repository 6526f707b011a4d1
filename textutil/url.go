package textutil

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// A URLMode is the part of a URL for which a text is encoded.
type URLMode string

// The modes. Empty means URLComponent.
const (
	// URLComponent is for a single value in any part of a URL: it keeps only the unreserved characters of RFC
	// 3986 section 2.3.
	URLComponent URLMode = "component"
	// URLQuery is for a name or value of a form in the query: the application/x-www-form-urlencoded
	// serializer of the WHATWG URL Standard, which encodes a space as a plus sign.
	URLQuery URLMode = "query"
	// URLPath is for a whole path: it keeps slashes, and all characters that RFC 3986 section 3.3 allows in a
	// segment.
	URLPath URLMode = "path"
)

// Values lists the modes.
func (URLMode) Values() []string { return valuesOf(URLComponent, URLQuery, URLPath) }

// The unescaped characters of each mode, in addition to ASCII letters and digits.
const (
	urlUnreserved = "-._~"                           // RFC 3986 section 2.3
	urlForm       = "*-._"                           // WHATWG URL Standard section 1.3, the form set
	urlPath       = urlUnreserved + "!$&'()*+,;=:@/" // RFC 3986 section 3.3: pchar and the slash
)

func (m URLMode) check() error {
	switch m {
	case "", URLComponent, URLQuery, URLPath:
		return nil
	}
	return invalid("mode", "%.40q is not one of component, query, path", string(m))
}

// keeps returns the characters that are not escaped, in addition to letters and digits.
func (m URLMode) keeps() string {
	switch m {
	case URLQuery:
		return urlForm
	case URLPath:
		return urlPath
	}
	return urlUnreserved
}

// A URLEncodeRequest asks for a text to be encoded for a URL.
type URLEncodeRequest struct {
	Text string  `json:"text" maxbytes:"1048576" doc:"the text" example:"a b&c"`
	Mode URLMode `json:"mode,omitempty" default:"component" doc:"part of the URL that the text is for"` // empty: component
}

// A URLEncodeReport is the result of encoding a text for a URL.
type URLEncodeReport struct {
	Result      string `json:"result" doc:"the encoded text, ASCII only"`
	InputBytes  int    `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes int    `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
}

// URLEncode percent-encodes the characters that have a special meaning in a URL or are not allowed in one
// (RFC 3986 section 2.1). The error is an *[InputError].
func URLEncode(req URLEncodeRequest) (*URLEncodeReport, error) {
	if err := req.Mode.check(); err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	const digits = "0123456789ABCDEF" // RFC 3986 section 2.1: in capitals
	var keep [256]bool
	for _, c := range []byte(asciiAlphanumeric + req.Mode.keeps()) {
		keep[c] = true
	}
	result := make([]byte, 0, len(req.Text)+len(req.Text)/4)
	for i := range len(req.Text) {
		switch c := req.Text[i]; {
		case keep[c]:
			result = append(result, c)
		case c == ' ' && req.Mode == URLQuery:
			result = append(result, '+')
		default:
			result = append(result, '%', digits[c>>4], digits[c&0xf])
		}
	}
	return &URLEncodeReport{Result: string(result), InputBytes: len(req.Text), OutputBytes: len(result)}, nil
}

const asciiAlphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// A URLDecodeRequest asks for a part of a URL to be decoded.
type URLDecodeRequest struct {
	Text string  `json:"text" maxbytes:"1048576" doc:"the piece of a URL" example:"a%20b%26c"`
	Mode URLMode `json:"mode,omitempty" default:"component" doc:"part of the URL; in a query, + is a space"`
}

// A URLDecodeReport is the result of decoding a part of a URL.
type URLDecodeReport struct {
	Valid       bool        `json:"valid" doc:"whether every escape is whole and the result is text in UTF-8"`
	Result      *string     `json:"result" doc:"the decoded text; null if the piece is not valid"`
	IsUTF8      bool        `json:"is_utf8" doc:"whether the decoded bytes are UTF-8; false if an escape is bad"`
	ResultHex   string      `json:"result_hex,omitempty" doc:"the decoded bytes in hexadecimal, if they are not UTF-8"`
	Error       DecodeFault `json:"error,omitzero" doc:"why the piece is not valid"`
	InputBytes  int         `json:"input_bytes" min:"0" doc:"length of the piece in bytes"`
	OutputBytes int         `json:"output_bytes" min:"0" doc:"number of decoded bytes; 0 after a bad escape"`
}

// URLDecode decodes percent-encoding. If a percent sign is not followed by two hexadecimal digits, or the
// bytes are not UTF-8, the report has Valid false; nothing is replaced silently. The error is an
// *[InputError].
func URLDecode(req URLDecodeRequest) (*URLDecodeReport, error) {
	if err := req.Mode.check(); err != nil {
		return nil, err
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	decode := url.PathUnescape
	if req.Mode == URLQuery {
		decode = url.QueryUnescape
	}
	text, err := decode(req.Text)
	report := &URLDecodeReport{InputBytes: len(req.Text)}
	if escape, bad := errors.AsType[url.EscapeError](err); bad {
		offset := strings.Index(req.Text, string(escape))
		if len(escape) < len("%00") { // at the end
			offset = len(req.Text) - len(escape)
		}
		report.Error = DecodeFault{Message: "a percent sign needs two hexadecimal digits", Offset: offset}
		return report, nil
	}
	report.OutputBytes = len(text)
	if report.IsUTF8 = utf8.ValidString(text); !report.IsUTF8 {
		report.ResultHex = hex.EncodeToString([]byte(text))
		report.Error = notUTF8(req.Text, text)
		return report, nil
	}
	report.Valid, report.Result = true, &text
	return report, nil
}

// notUTF8 returns the byte of the text that encodes the first decoded byte that belongs to no character.
func notUTF8(text, data string) DecodeFault {
	bad := invalidByte(data)
	offset := 0
	for range bad {
		if text[offset] == '%' {
			offset += 2
		}
		offset++
	}
	return DecodeFault{Message: fmt.Sprintf("the byte %#02x belongs to no character of UTF-8", data[bad]), Offset: offset}
}
