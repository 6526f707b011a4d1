package httpapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

const (
	formMedia = "multipart/form-data"
	// filePart is the name of the part of a form that is the file (CONTRACT 1.11).
	filePart = "file"
	// fileName is the field that takes the name of the file, in requests that have it.
	fileName = "filename"
)

// An upload describes how a row takes a file in place of JSON.
type upload struct {
	field    string   // of the request, a []byte: base64 in JSON
	maxBytes int64    // bytes of the file
	media    []string // types of a body that is only the file; other fields are in the query then
	kinds    map[*field][]string
}

// acceptUpload makes a row accept a file of at most so many bytes: in JSON as the base64 of a field, as the part
// "file" of a form (RFC 7578), and, if media types are given, as the whole body.
func (op Operation) acceptUpload(name string, maxBytes int64, media ...string) Operation {
	op.upload = &upload{field: name, maxBytes: maxBytes, media: media, kinds: map[*field][]string{}}
	op.upload.check(op.request)
	return op.WithMaxBody(int64(base64.StdEncoding.EncodedLen(int(maxBytes))) + defaultBody)
}

// check sorts the fields of a request, and panics where a form or a query cannot carry them.
func (u *upload) check(t reflect.Type) {
	o := objectOf(t)
	if f := o.byName[u.field]; f == nil || f.typ != byteListType || f.location != InBody {
		panic(fmt.Sprintf("httpapi: an upload needs a field %s in the body, of bytes", u.field))
	}
	for _, f := range o.fields {
		p := paramOf(f)
		if p.List || slices.Contains(p.Kinds, "object") || f.location != InBody {
			panic(fmt.Sprintf("httpapi: field %s: a form carries one text of the body, no list and no object", f.name))
		}
		u.kinds[f] = p.Kinds
	}
}

// uploadType returns the media type of a body that is a form or a file, and its boundary if it is a form. For JSON, and
// for types that the row does not accept, it returns nothing.
func (x *exchange) uploadType() (media, boundary string) {
	u, types := x.ep.Operation.upload, x.r.Header["Content-Type"]
	if u == nil || len(types) != 1 || hasContentCoding(x.r.Header) {
		return "", ""
	}
	media, params, err := mime.ParseMediaType(types[0])
	switch {
	case err != nil:
		return "", ""
	case media == formMedia && params["boundary"] != "":
		return media, params["boundary"]
	case slices.Contains(u.media, media):
		return media, ""
	}
	return "", ""
}

// mediaTypeProblem refuses a body of a type that the row does not take.
func (op *Operation) mediaTypeProblem() *failure {
	text := "Send the body with the header Content-Type: application/json"
	if op.upload != nil {
		text += " or " + strings.Join(append([]string{formMedia}, op.upload.media...), " or ")
	}
	return invalidRequestProblem(http.StatusUnsupportedMediaType, reasonMediaType,
		text+", in UTF-8 and without a content encoding.")
}

// decodeFile reads a request from a form, or from a bare file if there is no boundary.
func (x *exchange) decodeFile(body []byte, boundary string) (any, error) {
	target, u := reflect.New(x.ep.Operation.request), x.ep.Operation.upload
	r := &fieldReader{
		parser: &parser{}, v: target.Elem(), object: objectOf(x.ep.Operation.request), kinds: u.kinds, kind: "field",
	}
	var err error
	if boundary != "" {
		err = u.readForm(r, body, boundary)
	} else if err = u.setFile(r, body); err == nil {
		r.readQuery(x.r.URL.RawQuery)
	}
	if err != nil {
		return nil, err
	}
	r.checkPresence(r.object, r.seen, 0)
	if err := r.finish(target.Interface()); err != nil {
		return nil, err
	}
	return target.Interface(), nil
}

func (u *upload) setFile(r *fieldReader, file []byte) error {
	if int64(len(file)) > u.maxBytes {
		return tooLargeProblem(u.maxBytes)
	}
	f := r.object.byName[u.field]
	r.seen = append(r.seen, u.field)
	r.path = append(r.path[:0], filePart...)
	if r.checkBytes(file, &f.limits) {
		r.v.FieldByIndex(f.index).SetBytes(file)
	}
	return nil
}

// readForm reads the parts of a form (RFC 7578): the file, and other fields as text.
func (u *upload) readForm(r *fieldReader, body []byte, boundary string) error {
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return nil
		}
		var value []byte
		if err == nil {
			value, err = io.ReadAll(part) // no larger than the body
		}
		if err != nil {
			return &ViolationsError{[]Violation{{"", reasonMalformed, "the form is broken: " + formFault(err)}}}
		}
		name := part.FormName()
		switch {
		case name == filePart && slices.Contains(r.seen, u.field):
			r.path = append(r.path[:0], filePart...)
			r.invalid("is given twice")
		case name == filePart:
			if err := u.setFile(r, value); err != nil {
				return err
			}
			if text := part.FileName(); text != "" && r.object.byName[fileName] != nil {
				r.read(fileName, text)
			}
		case name == u.field || part.FileName() != "":
			r.path = r.path[:0]
			r.setPath(0, name)
			r.addViolation(reasonUnknown, "is not a part of this form; the file is the part %s", filePart)
		default:
			r.read(name, string(value))
		}
	}
}

// formFault describes what is wrong with a form, without the words of the library.
func formFault(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends before its last boundary"
	}
	return "a part cannot be read"
}
