package textutil_test

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleURLEncode() {
	for _, mode := range []textutil.URLMode{textutil.URLComponent, textutil.URLQuery, textutil.URLPath} {
		report, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: "/a b/ü?1+1", Mode: mode})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(report.Result)
	}
	// Output:
	// %2Fa%20b%2F%C3%BC%3F1%2B1
	// %2Fa+b%2F%C3%BC%3F1%2B1
	// /a%20b/%C3%BC%3F1+1
}

func ExampleURLDecode() {
	for _, text := range []string{"caf%C3%A9", "caf%E9", "100%"} {
		report, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: text})
		if err != nil {
			fmt.Println(err)
			return
		}
		if !report.Valid {
			fmt.Println(report.Error.Message, "at byte", report.Error.Offset)
			continue
		}
		fmt.Println(*report.Result)
	}
	// Output:
	// café
	// the byte 0xe9 belongs to no character of UTF-8 at byte 3
	// a percent sign needs two hexadecimal digits at byte 3
}

// TestURLEncodeKeeps compares what stays in each mode with the sets of the standards, byte by byte.
func TestURLEncodeKeeps(t *testing.T) {
	const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	cases := map[textutil.URLMode]string{
		"":          alphanumeric + "-._~",
		"component": alphanumeric + "-._~",
		"query":     alphanumeric + "-._*",
		"path":      alphanumeric + "-._~!$&'()*+,;=:@/",
	}
	for mode, keeps := range cases {
		for c := range rune(0x80) {
			want := fmt.Sprintf("%%%02X", c)
			if strings.ContainsRune(keeps, c) {
				want = string(c)
			} else if c == ' ' && mode == "query" {
				want = "+"
			}
			report, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: string(c), Mode: mode})
			if err != nil || report.Result != want {
				t.Errorf("%q in mode %q: %+v, %v; want %s", c, mode, report, err, want)
			}
		}
	}
}

func TestURLDecode(t *testing.T) {
	cases := []struct {
		name, text string
		mode       textutil.URLMode
		want       string
	}{
		{"plus in a component", "a+b%2B", "component", "a+b+"},
		{"plus in a query", "a+b%2B", "query", "a b+"},
		{"plus in a path", "a+b%2B", "path", "a+b+"},
		{"small digits", "%c3%bc", "", "ü"},
		{"letters as they are", "ü%20ü", "", "ü ü"},
		{"twice encoded", "%2541", "", "%41"},
		{"half a character as it is", "\u00c3%C3%A9", "", "Ãé"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: c.text, Mode: c.mode})
			if err != nil {
				t.Fatal(err)
			}
			if !report.Valid || !report.IsUTF8 || *report.Result != c.want || report.OutputBytes != len(c.want) {
				t.Errorf("got %+v; want %q", report, c.want)
			}
		})
	}
}

func TestURLDecodeFinds(t *testing.T) {
	cases := []struct {
		name, text string
		offset     int
		hex        string
	}{
		{"a sign at the end", "100%", 3, ""},
		{"one digit at the end", "100%a", 3, ""},
		{"letters that are no digits", "a%20%zz", 4, ""},
		{"the form of JScript", "%u00e9", 0, ""},
		{"a sign after a sign", "%%20", 0, ""},
		{"a lone byte of two", "a%20%C3", 4, "6120c3"},
		{"a lone byte before a letter", "%C3é", 0, "c3c3a9"},
		{"an overlong form", "ü%C0%80", 2, "c3bcc080"},
		{"a surrogate", "%41%ED%A0%80", 3, "41eda080"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: c.text})
			if err != nil {
				t.Fatal(err)
			}
			if report.Valid || report.Result != nil || report.Error.Message == "" || report.Error.Offset != c.offset {
				t.Fatalf("got %+v; want a fault at %d", report, c.offset)
			}
			if report.ResultHex != c.hex || report.IsUTF8 {
				t.Errorf("got %+v; want the bytes %q", report, c.hex)
			}
		})
	}
}

func TestURLRefuses(t *testing.T) {
	cases := []struct {
		name, text string
		mode       textutil.URLMode
		field      string
	}{
		{"unknown mode", "a", "fragment", "mode"},
		{"no UTF-8", "\xff", "", "text"},
		{"long", strings.Repeat("a", textutil.MaxText+1), "", "text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			encoded, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: c.text, Mode: c.mode})
			refused(t, encoded, err, c.field)
			decoded, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: c.text, Mode: c.mode})
			refused(t, decoded, err, c.field)
		})
	}
}

func TestConformanceURL(t *testing.T) {
	t.Run("percent_encode", func(t *testing.T) {
		var cases []struct{ Input, RFC3986, Form string }
		conformance(t, &cases, diagtest.Vectors(t, "text/url/percent_encode.json"))
		passed := 0
		for _, c := range cases {
			component, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: c.Input})
			if err != nil || component.Result != c.RFC3986 {
				t.Errorf("%q: %+v, %v; want %s", c.Input, component, err, c.RFC3986)
				continue
			}
			query, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: c.Input, Mode: textutil.URLQuery})
			if err != nil || query.Result != c.Form {
				t.Errorf("%q in a query: %+v, %v; want %s", c.Input, query, err, c.Form)
				continue
			}
			passed++
		}
		t.Logf("percent_encode: %d/%d", passed, len(cases))
	})
	t.Run("percent_decode", func(t *testing.T) {
		var cases []struct {
			Input     string
			Component *string
			OK        bool `json:"component_ok"`
			Form      string
		}
		conformance(t, &cases, diagtest.Vectors(t, "text/url/percent_decode.json"))
		passed := 0
		for _, c := range cases {
			if decodesAs(t, c.Input, textutil.URLComponent, c.Component) {
				// A form parser replaces what it cannot decode; that is shown here, in both modes.
				want := &c.Form
				if !c.OK {
					want = nil
				}
				if decodesAs(t, c.Input, textutil.URLQuery, want) {
					passed++
				}
			}
		}
		t.Logf("percent_decode: %d/%d", passed, len(cases))
	})
}

func decodesAs(t *testing.T, text string, mode textutil.URLMode, want *string) bool {
	t.Helper()
	report, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: text, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	if want == nil && !report.Valid || want != nil && report.Valid && *report.Result == *want {
		return true
	}
	t.Errorf("%q in mode %s: %+v; want %v", text, mode, report, want)
	return false
}

func FuzzURL(f *testing.F) {
	for _, mode := range []string{"component", "query", "path"} {
		f.Add("a b+c/é?%20", mode)
		f.Add("%C3%", mode)
		f.Add("%c3%28", mode)
	}
	f.Fuzz(func(t *testing.T, text, mode string) {
		encoded, err := textutil.URLEncode(textutil.URLEncodeRequest{Text: text, Mode: textutil.URLMode(mode)})
		if (encoded == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", encoded, err)
		}
		if err != nil {
			return
		}
		back, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: encoded.Result, Mode: textutil.URLMode(mode)})
		if err != nil || !back.Valid || *back.Result != text {
			t.Fatalf("%q became %q and then %+v, %v", text, encoded.Result, back, err)
		}
		report, err := textutil.URLDecode(textutil.URLDecodeRequest{Text: text, Mode: textutil.URLMode(mode)})
		if err != nil || report.Valid != (report.Error.Message == "") || report.Valid != (report.Result != nil) {
			t.Fatalf("%q: %+v, %v", text, report, err)
		}
		if report.Error.Message != "" && report.Error.Offset >= len(text) {
			t.Fatalf("%q: %+v", text, report.Error)
		}
		unescape := url.PathUnescape
		if mode == "query" {
			unescape = url.QueryUnescape
		}
		want, err := unescape(text)
		switch data, _ := hex.DecodeString(report.ResultHex); {
		case (err == nil) != (report.Valid || report.ResultHex != ""):
			t.Fatalf("%q: %+v; the library says %v", text, report, err)
		case report.Valid && *report.Result != want, report.ResultHex != "" && string(data) != want:
			t.Fatalf("%q: %+v; the library says %q", text, report, want)
		}
	})
}
