package fetch

import (
	"bytes"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
)

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/a", "../b?c#d", "//example.org/", "https://example.org", "?q", "/\u00e9 %zz",
		"mailto:a@b"} {
		f.Add(s)
	}
	base := diag.MustURL("https://example.com/dir/page?x#y")
	f.Fuzz(func(t *testing.T, location string) {
		u, failure := Resolve(base, location)
		if u.IsZero() == (failure == nil) {
			t.Fatalf("Resolve(%q) = %q, %v", location, u, failure)
		}
		if failure != nil {
			return
		}
		if again, failure := Resolve(base, u.String()); failure != nil || resource(again) != resource(u) {
			t.Errorf("Resolve(%q) = %q, which resolves to %q, %v", location, u, again, failure)
		}
	})
}

// The recording of a connection is whatever the server sent.
func FuzzFields(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\nA: b\n\n"))
	f.Add([]byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, field := range fields1(data) {
			if strings.ContainsAny(field.Name+field.Value, "\n") || len(field.Value) > 3*len(data) {
				t.Errorf("field %q", field)
			}
		}
		for _, field := range fields2(data) {
			if !bytes.Equal([]byte(field.Name), bytes.ToValidUTF8([]byte(field.Name), nil)) {
				t.Errorf("field %q", field)
			}
		}
	})
}
