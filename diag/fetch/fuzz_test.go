package fetch

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
)

func FuzzReference(f *testing.F) {
	for _, s := range []string{"/a", "../b?c#d", "//example.org/", "https://example.org", "?q", "/\u00e9 %zz",
		"mailto:a@b"} {
		f.Add(s)
	}
	base := diag.MustURL("https://example.com/dir/page?x#y")
	f.Fuzz(func(t *testing.T, location string) {
		u, _, failure := resolve(base, location)
		if u.IsZero() == (failure == nil) {
			t.Fatalf("resolve(%q) = %q, %v", location, u, failure)
		}
		if failure != nil {
			return
		}
		if again, _, failure := resolve(base, u.String()); failure != nil || resource(again) != resource(u) {
			t.Errorf("resolve(%q) = %q, which resolves to %q, %v", location, u, again, failure)
		}
	})
}

// The head of a response may hold any bytes: the repaired head is one that net/http reads, with the reported fields.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "HTTP/1.1 200 OK\nA b\n: c\nA : d\n\n", "HTTP/1.1 200 OK\r\n x\r\nA: \x00\r\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "HTTP/1.0 304 \r\nContent-Length: x\r\n\r\n",
		"SSH-2.0-x\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := readHead(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			if headError(t.Context(), "example.com", err).Message == "" {
				t.Errorf("nothing is said of %v", err)
			}
			return
		}
		h, err := parseHead(raw)
		if err != nil {
			return
		}
		if len(h.faults) > maxHeadFaults {
			t.Errorf("%d faults", len(h.faults))
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(h.clean)), nil)
		if err != nil {
			if !strings.Contains(err.Error(), "malformed HTTP") {
				t.Errorf("%q became %q: %v", raw, h.clean, err)
			}
			return
		}
		for _, field := range h.fields {
			if resp.Header.Get(field.Name) == "" && field.Value != "" && !framesBody(field.Name) {
				t.Errorf("%q: the field %q is lost in %v", raw, field, resp.Header)
			}
		}
	})
}

func framesBody(name string) bool {
	return strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding") || strings.EqualFold(name, "Trailer")
}

// The recording of an HTTP/2 connection is whatever the server sent.
func FuzzFields(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, field := range fields2(data) {
			if !bytes.Equal([]byte(field.Name), bytes.ToValidUTF8([]byte(field.Name), nil)) {
				t.Errorf("field %q", field)
			}
		}
	})
}
