package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

type scanRequest struct {
	Image    []byte `json:"image_base64" doc:"a picture" minlen:"2" maxbytes:"1000"`
	Max      int    `json:"max_codes,omitempty" doc:"how many" default:"10" min:"1" max:"50"`
	Filename string `json:"filename,omitempty" doc:"its name" maxlen:"20"`
}

type scanReport struct {
	Image    string `json:"image"`
	Max      int    `json:"max"`
	Filename string `json:"filename"`
}

func scan(_ context.Context, _ *diag.Env, req scanRequest) (*scanReport, error) {
	return &scanReport{string(req.Image), req.Max, req.Filename}, nil
}

var scanRow = Endpoint{"POST", "/scan", metering.WebRead, 2, "test", Call(scan).acceptUpload("image_base64", 500, "image/png", "image/gif")}

// form is a form of parts: name, file name or nothing, and contents, for each.
func form(t testing.TB, parts ...string) (body, media string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	require.NoError(t, w.SetBoundary("------------------------a1b2c3d4e5f60718"))
	for i := 0; i < len(parts); i += 3 {
		create := func() error { return w.WriteField(parts[i], parts[i+2]) }
		if parts[i+1] != "" {
			create = func() error {
				part, err := w.CreateFormFile(parts[i], parts[i+1])
				if err == nil {
					_, err = part.Write([]byte(parts[i+2]))
				}
				return err
			}
		}
		require.NoError(t, create())
	}
	require.NoError(t, w.Close())
	return b.String(), w.FormDataContentType()
}

func TestUploads(t *testing.T) {
	a := newAPI(t, "self", nil, scanRow, row("/echo", 1, echo))
	b64 := base64.StdEncoding.EncodeToString
	large := strings.Repeat("x", 501)
	type test struct {
		name, path, media, body string
		want                    scanReport
		status                  int
		field, reason           string
	}
	inForm := func(name string, want scanReport, status int, field, reason string, parts ...string) test {
		body, media := form(t, parts...)
		return test{name, "/scan", media, body, want, status, field, reason}
	}
	const good, bad = 200, 400
	cases := []test{
		{"JSON", "/scan", jsonMedia, `{"image_base64":"` + b64([]byte("PNG!")) + `","max_codes":3}`, scanReport{"PNG!", 3, ""}, good, "", ""},
		{"no base64", "/scan", jsonMedia, `{"image_base64":"a-b_"}`, scanReport{}, bad, "image_base64", reasonInvalid},
		{"base64 in lines", "/scan", jsonMedia, `{"image_base64":"iVBO\nRw=="}`, scanReport{}, bad, "image_base64", reasonInvalid},
		{"too few bytes", "/scan", jsonMedia, `{"image_base64":"eA=="}`, scanReport{}, bad, "image_base64", reasonInvalid},
		{"too many bytes", "/scan", jsonMedia, `{"image_base64":"` + b64(make([]byte, 1001)) + `"}`, scanReport{}, bad, "image_base64", reasonInvalid},
		{"a number", "/scan", jsonMedia, `{"image_base64":7}`, scanReport{}, bad, "image_base64", reasonInvalid},
		{"no file", "/scan", jsonMedia, `{}`, scanReport{}, bad, "image_base64", reasonMissing},
		{"raw", "/scan", "image/png", "PNG!", scanReport{"PNG!", 0, ""}, good, "", ""},
		{"raw with a query", "/scan?max_codes=7", "image/gif", "GIF89a", scanReport{"GIF89a", 7, ""}, good, "", ""},
		{"raw with a bad query", "/scan?max_codes=70", "image/gif", "GIF89a", scanReport{}, bad, "max_codes", reasonInvalid},
		{"raw with an unknown query", "/scan?codes=7", "image/gif", "GIF89a", scanReport{}, bad, "codes", reasonUnknown},
		{"raw and base64", "/scan?image_base64=eA==", "image/gif", "GIF89a", scanReport{}, bad, "image_base64", reasonInvalid},
		{"raw and empty", "/scan", "image/gif", "", scanReport{}, bad, "file", reasonInvalid},
		{"raw and too large", "/scan", "image/gif", large, scanReport{}, 413, "", reasonTooLarge},
		{"raw of another type", "/scan", "image/bmp", "BM", scanReport{}, 415, "", reasonMediaType},
		{"a row without uploads", "/echo", "image/png", "PNG!", scanReport{}, 415, "", reasonMediaType},
		{"a form without a boundary", "/scan", formMedia, "x", scanReport{}, 415, "", reasonMediaType},
		{"a form cut off", "/scan", formMedia + "; boundary=x", "--x\r\nContent-Dis", scanReport{}, bad, "", reasonMalformed},
		inForm("form", scanReport{"GIF89a", 9, "a.gif"}, good, "", "", "file", "a.gif", "GIF89a", "max_codes", "", "9"),
		inForm("form with a file that has no name", scanReport{"GIF89a", 0, ""}, good, "", "", "file", "", "GIF89a"),
		inForm("form with two files", scanReport{}, bad, "file", reasonInvalid, "file", "a", "aa", "file", "b", "bb"),
		inForm("form with another file", scanReport{}, bad, "other", reasonUnknown, "file", "a", "aa", "other", "b", "bb"),
		inForm("form with a bad field", scanReport{}, bad, "max_codes", reasonInvalid, "file", "a", "aa", "max_codes", "", "many"),
		inForm("form with a field twice", scanReport{}, bad, "max_codes", reasonInvalid, "file", "a", "aa", "max_codes", "", "1", "max_codes", "", "2"),
		inForm("form with an unknown field", scanReport{}, bad, "x", reasonUnknown, "file", "a", "aa", "x", "", "1"),
		inForm("form with broken UTF-8", scanReport{}, bad, "filename", reasonInvalid, "file", "", "aa", "filename", "", "\xff"),
		inForm("form without the file", scanReport{}, bad, "image_base64", reasonMissing, "max_codes", "", "1"),
		inForm("form with a file too large", scanReport{}, 413, "", reasonTooLarge, "file", "a", large),
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			used := a.used()
			r := a.post(c.path, c.body, "Content-Type", c.media)
			require.Equal(t, c.status, r.Code, "%s", r.Body)
			if c.status == good {
				var got scanReport
				require.NoError(t, json.Unmarshal(r.Body.Bytes(), &got))
				require.Equal(t, c.want, got)
				require.Equal(t, used+2, a.used())
				return
			}
			p := r.problem()
			require.Equal(t, c.reason, p.Details.Reason)
			if c.field != "" {
				require.Equal(t, c.field, p.Details.Fields[0].Field)
			}
			require.Equal(t, used, a.used(), "a refusal is free")
		})
	}
}

// The same file in another form, or with another query, is another request (CONTRACT 5.2).
func TestUploadFingerprint(t *testing.T) {
	a := newAPI(t, "self", nil, scanRow)
	body, media := form(t, "file", "a.gif", "GIF89a")
	sent := [][3]string{{"/scan", "image/gif", "GIF89a"}, {"/scan", "image/png", "GIF89a"}, {"/scan?max_codes=1", "image/gif", "GIF89a"},
		{"/scan", media, body}, {"/scan", jsonMedia, `{"image_base64":"R0lGODlh"}`}}
	for i, first := range sent {
		key := "upload-key-" + string(rune('a'+i))
		for j, other := range sent {
			want := http.StatusConflict
			if i == j {
				want = http.StatusOK
			}
			require.Equal(t, http.StatusOK, a.post(first[0], first[2], "Content-Type", first[1], "Idempotency-Key", key).Code)
			require.Equal(t, want, a.post(other[0], other[2], "Content-Type", other[1], "Idempotency-Key", key).Code)
		}
	}
	require.Equal(t, int64(2*len(sent)), a.used())
}

// The document describes each form of the body that a row takes.
func TestUploadDescribed(t *testing.T) {
	doc := describeRow(t, scanRow)
	require.JSONEq(t, `{"required": true, "description": "At most 66204 bytes", "content": {
		"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["image_base64"], "properties": {
			"image_base64": {"type": "string", "contentEncoding": "base64", "minLength": 4, "maxLength": 1336, "description": "A picture"},
			"max_codes": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many"},
			"filename": {"type": "string", "maxLength": 20, "description": "Its name"}}}},
		"multipart/form-data": {"schema": {"type": "object", "additionalProperties": false, "required": ["file"], "properties": {
			"file": {"type": "string", "contentMediaType": "application/octet-stream", "maxLength": 500, "description": "The file, in place of image_base64"},
			"max_codes": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many"},
			"filename": {"type": "string", "maxLength": 20, "description": "Its name"}}}},
		"image/png": {"schema": {"type": "string", "contentMediaType": "image/png", "maxLength": 500}},
		"image/gif": {"schema": {"type": "string", "contentMediaType": "image/gif", "maxLength": 500}}}}`, toJSON(t, doc["requestBody"]))
	require.JSONEq(t, `[
		{"name": "max_codes", "in": "query", "required": false, "schema": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
			"description": "How many; only where the body is the file itself"},
		{"name": "filename", "in": "query", "required": false, "schema": {"type": "string", "maxLength": 20},
			"description": "Its name; only where the body is the file itself"},
		{"$ref": "#/components/parameters/IdempotencyKey"}]`, toJSON(t, doc["parameters"]))
}

func TestUploadRowsThatCannotBe(t *testing.T) {
	require.Panics(t, func() { Call(scan).acceptUpload("max_codes", 1) }, "the field holds no bytes")
	require.Panics(t, func() { Call(echo).acceptUpload("image_base64", 1) }, "there is no such field")
	type lists struct {
		Image []byte   `json:"image"`
		Words []string `json:"words"`
	}
	require.Panics(t, func() { Pure(func(lists) (*scanReport, error) { return nil, nil }).acceptUpload("image", 1) })
}

// Whatever a form holds, it is a request or a fault, and no file is larger than the row allows.
func FuzzForm(f *testing.F) {
	for _, parts := range [][]string{{"file", "a.gif", "GIF89a", "max_codes", "", "9"}, {"file", "", ""}, {"x", "y", "z"}} {
		body, _ := form(f, parts...)
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/scan", bytes.NewReader(body))
		r.Header.Set("Content-Type", formMedia+"; boundary=------------------------a1b2c3d4e5f60718")
		x := &exchange{r: r, ep: &scanRow}
		req, err := x.decodeBody(body)
		require.NotEqual(t, req == nil, err == nil)
		if err != nil {
			require.Less(t, problemFor(err).status, 500)
			return
		}
		got := req.(*scanRequest)
		require.True(t, len(got.Image) >= 2 && len(got.Image) <= 500, "%d bytes", len(got.Image))
		require.True(t, got.Max == 0 || got.Max >= 1 && got.Max <= 50)
	})
}
