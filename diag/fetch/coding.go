package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

// A Coding is a declared Content-Encoding and the actual coding of the body (RFC 9110 section 8.4).
type Coding struct {
	// Unknown are the tokens that are not registered content codings. If there are any, the body is left as
	// received, as in browsers.
	Unknown    []string
	RawDeflate bool // deflate without the zlib format that RFC 9110 section 8.4.1.2 requires
	Compressed bool // the body is still a gzip stream after decoding
}

// A CodingError means that a body could not be decoded.
type CodingError struct {
	Coding string // registered name of the content coding
	// Unasked means that the coding is not supported, and that the request did not offer it. Otherwise the
	// body is not encoded as declared.
	Unasked bool

	cause error
}

// Error implements error.
func (e *CodingError) Error() string {
	if e.Unasked {
		return "the body has a content coding that was not asked for: " + e.Coding
	}
	return "the body cannot be decompressed by its Content-Encoding " + e.Coding
}

// Unwrap returns the cause.
func (e *CodingError) Unwrap() error { return e.cause }

// registered are the content codings of the registry of IANA ("HTTP Content Coding Registry", November 2026).
var registered = []string{
	"aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "identity", "pack200-gzip",
	"x-compress", "x-gzip", "zstd",
}

// offered are those that a request asks for.
const offered = "gzip, deflate"

// maxCodings bounds the codings of a body; real ones have one.
const maxCodings = 3

// codingsOf lists the content codings of an answer in the order in which they were applied, in lower case.
func codingsOf(h http.Header) (list []string) {
	for part := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if token := strings.ToLower(strings.Trim(part, " \t")); token != "" {
			list = append(list, token)
		}
	}
	return list
}

// readBody reads the body of the last hop, decoded.
func (r *Result) readBody(resp *http.Response, req Request) error {
	wire := &counter{r: resp.Body}
	defer func() { r.TransferBytes = wire.n }()
	codings := codingsOf(resp.Header)
	r.Encoding = strings.Join(codings, ", ")
	if req.Method == http.MethodHead {
		return nil
	}
	if req.Raw {
		codings = nil
	}
	body, err := r.Coding.decode(wire, codings)
	if err == nil {
		r.Body, err = io.ReadAll(io.LimitReader(body, req.MaxBytes+1))
	}
	if int64(len(r.Body)) > req.MaxBytes {
		r.Body, r.Truncated = r.Body[:req.MaxBytes], true
	}
	if err != nil {
		r.Truncated = true
		return codingError(err, codings)
	}
	r.Coding.Compressed = !req.Raw && bytes.HasPrefix(r.Body, gzipMagic)
	return nil
}

// codingError names the coding where an error is that of a decoder.
func codingError(err error, codings []string) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrHeader) ||
		errors.Is(err, zlib.ErrChecksum) {
		return &CodingError{Coding: strings.Join(codings, ", "), cause: err}
	}
	return err
}

// decode undoes content codings (RFC 9110 section 8.4.1). One token that is not registered leaves all as it is.
func (c *Coding) decode(wire *counter, codings []string) (io.Reader, error) {
	for _, token := range codings {
		if !slices.Contains(registered, token) {
			c.Unknown = append(c.Unknown, phrase.Clip(strings.ToValidUTF8(token, "\uFFFD"), maxHeadLine))
		}
	}
	if len(c.Unknown) > 0 {
		c.Unknown = c.Unknown[:min(len(c.Unknown), maxCodings)]
		return wire, nil
	}
	codings = slices.DeleteFunc(slices.Clone(codings), func(token string) bool { return token == "identity" })
	if len(codings) > maxCodings {
		return nil, &CodingError{Coding: strings.Join(codings, ", "), Unasked: true}
	}
	var body io.Reader = wire
	for _, token := range slices.Backward(codings) {
		buffered := bufio.NewReader(body)
		if _, err := buffered.Peek(1); err == io.EOF {
			return buffered, nil // no body at all
		}
		next, err := c.undo(buffered, token)
		if err != nil {
			return nil, err
		}
		body = &expander{r: next, wire: wire}
	}
	return body, nil
}

var gzipMagic = []byte{0x1f, 0x8b, 8} // RFC 1952 section 2.3.1

// undo undoes one coding.
func (c *Coding) undo(r *bufio.Reader, coding string) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		if head, _ := r.Peek(len(gzipMagic)); !bytes.HasPrefix(gzipMagic, head) {
			return nil, gzip.ErrHeader
		}
		return gzip.NewReader(r)
	case "deflate":
		head, _ := r.Peek(2)
		// RFC 1950 section 2.2: the two bytes are a multiple of 31, and the method is 8.
		if len(head) == 2 && head[0]&15 == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			return zlib.NewReader(r)
		}
		c.RawDeflate = true // some send it so, and browsers read it
		return flate.NewReader(r), nil
	default:
		return nil, &CodingError{Coding: coding, Unasked: true}
	}
}
