package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
)

// decodeBody reads a request from a body of any type that the row takes. Only with a bare file the query has fields.
func (x *exchange) decodeBody(body []byte) (req any, err error) {
	media, boundary := x.uploadType()
	if media == "" {
		req, err = x.ep.Operation.decode(body)
	} else {
		req, err = x.decodeFile(body, boundary)
	}
	if x.r.URL.RawQuery != "" && (media == "" || boundary != "") {
		err = refuseQuery(x.r.URL.RawQuery, err)
	}
	return req, err
}

// readBody reads the body within the bounds of the row.
func (x *exchange) readBody() ([]byte, *failure) {
	limit := x.ep.Operation.body
	if x.r.ContentLength > limit {
		return nil, tooLargeProblem(limit)
	}
	if x.r.ContentLength == 0 && x.r.Header["Content-Type"] == nil {
		return []byte("{}"), nil // no body means an empty object
	}
	if media, _ := x.uploadType(); media == "" && !isJSON(x.r.Header) {
		return nil, x.ep.Operation.mediaTypeProblem()
	}
	size := x.r.ContentLength
	if size < 0 {
		size = limit
	}
	var body []byte
	var err error
	if x.body, err = x.Budget.Bodies.Take(x.r.Context(), x.owner(), size); err != nil {
		return nil, problemFor(err)
	}
	if x.r.ContentLength >= 0 {
		body = make([]byte, x.r.ContentLength)
		_, err = io.ReadFull(x.r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	}
	if err != nil {
		return nil, bodyReadProblem(err)
	}
	if int64(len(body)) > limit {
		return nil, tooLargeProblem(limit)
	}
	return body, nil
}

// bodyReadProblem is the problem of a body that broke off, or came too slowly.
func bodyReadProblem(err error) *failure {
	f := invalidRequestProblem(http.StatusBadRequest, reasonMalformed, "The body could not be read to its end.")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f = invalidRequestProblem(http.StatusRequestTimeout, reasonBodyTimeout,
			"The body did not arrive in time. Send the request again with the whole body.")
	}
	f.cause = err
	return f
}

func isJSON(h http.Header) bool {
	if hasContentCoding(h) {
		return false
	}
	types := h["Content-Type"]
	if len(types) != 1 || types[0] == jsonMedia {
		return len(types) == 1
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == jsonMedia && (!given || strings.EqualFold(charset, "utf-8"))
}

func hasContentCoding(h http.Header) bool {
	codings := h["Content-Encoding"]
	return codings != nil && !strings.EqualFold(codings[0], "identity")
}

// readOptionalBody reads the body of a row that does not require one. On GET it must be empty: it would have no
// meaning, and a body that a server ignores and a proxy does not, or the other way round, smuggles requests (RFC 9110
// section 9.3.1). On POST no body means an empty object, whatever the media type.
func (x *exchange) readOptionalBody() ([]byte, *failure) {
	if more, f := x.hasContent(); f != nil || !more {
		return nil, f
	}
	if x.ep.Method == http.MethodGet {
		return nil, problemFor(&ViolationsError{[]Violation{
			{"", reasonInvalid, "a GET request has no body; its fields are in the path and the query"},
		}})
	}
	return x.readBody()
}

// hasContent reports whether there is a body. That its length is not known in advance does not mean that there is one.
func (x *exchange) hasContent() (bool, *failure) {
	if x.r.ContentLength >= 0 {
		return x.r.ContentLength > 0, nil
	}
	first := make([]byte, 1)
	switch _, err := io.ReadFull(x.r.Body, first); {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, bodyReadProblem(err)
	}
	x.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), x.r.Body), x.r.Body}
	return true, nil
}

// bufferBody reads the body of a request that another handler decodes.
func (x *exchange) bufferBody(limit int64) *failure {
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return bodyReadProblem(err)
	}
	if int64(len(body)) > limit {
		return tooLargeProblem(limit)
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
