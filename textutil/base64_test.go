package textutil_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleBase64Encode() {
	report, err := textutil.Base64Encode(textutil.Base64EncodeRequest{Text: "postmaster@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Result, report.Variant)
	// Output:
	// cG9zdG1hc3RlckBleGFtcGxlLmNvbQ== standard
}

func ExampleBase64Decode() {
	for _, text := range []string{"ZXhhbXBsZS5jb20=", "ZXhhb*Bs"} {
		report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: text})
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
	// example.com
	// '*' is not a letter of Base64 at byte 5
}

func TestBase64Encode(t *testing.T) {
	no := false
	cases := []struct {
		name string
		req  textutil.Base64EncodeRequest
		want string
	}{
		{"empty", textutil.Base64EncodeRequest{}, ""},
		{"text", textutil.Base64EncodeRequest{Text: "żółw"}, "xbzDs8WCdw=="},
		{"data", textutil.Base64EncodeRequest{DataBase64: "-_-_"}, "+/+/"},
		{"data in the other alphabet", textutil.Base64EncodeRequest{DataBase64: "+/+/", URLSafe: true}, "-_-_"},
		{"without padding", textutil.Base64EncodeRequest{Text: "f", Padding: &no}, "Zg"},
		{"in lines", textutil.Base64EncodeRequest{Text: "foobar", Wrap: 3}, "Zm9\nvYm\nFy"},
		{"in whole lines", textutil.Base64EncodeRequest{Text: "foobar", Wrap: 4}, "Zm9v\nYmFy"},
		{"in one long line", textutil.Base64EncodeRequest{Text: "foobar", Wrap: 8}, "Zm9vYmFy"},
		{"letter by letter", textutil.Base64EncodeRequest{Text: "f", Wrap: 1}, "Z\ng\n=\n="},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Base64Encode(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if report.Result != c.want || report.OutputBytes != len(c.want) {
				t.Errorf("got %+v; want %q", report, c.want)
			}
		})
	}
}

func TestBase64EncodeRefuses(t *testing.T) {
	cases := []struct {
		name  string
		req   textutil.Base64EncodeRequest
		field string
	}{
		{"negative wrap", textutil.Base64EncodeRequest{Wrap: -1}, "wrap"},
		{"wide wrap", textutil.Base64EncodeRequest{Wrap: 1001}, "wrap"},
		{"text and data", textutil.Base64EncodeRequest{Text: "a", DataBase64: "YQ=="}, "data_base64"},
		{"broken data", textutil.Base64EncodeRequest{DataBase64: "YQ="}, "data_base64"},
		{"no UTF-8", textutil.Base64EncodeRequest{Text: "\xc0\x80"}, "text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Base64Encode(c.req)
			refused(t, report, err, c.field)
		})
	}
	report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: strings.Repeat("A", textutil.MaxText+1)})
	refused(t, report, err, "text")
}

func TestBase64Decode(t *testing.T) {
	const forgiving, strict = false, true
	cases := []struct {
		name    string
		text    string
		strict  bool
		result  string // in hexadecimal
		variant textutil.Base64Variant
	}{
		{"empty", "", strict, "", "standard"},
		{"white space alone", " \t\r\n\f", forgiving, "", "standard"},
		{"one byte", "Zg==", strict, "66", "standard"},
		{"two bytes", "Zm8=", strict, "666f", "standard"},
		{"letters that are not UTF-8", "+/+/", strict, "fbffbf", "standard"},
		{"URL-safe", "-_-_", forgiving, "fbffbf", "url_safe"},
		{"both alphabets", "+/-_", forgiving, "fbffbf", "mixed"},
		{"no padding", "Zg", forgiving, "66", "standard"},
		{"spare bits", "Zh==", forgiving, "66", "standard"},
		{"padding among white space", "Zg = \n=", forgiving, "66", "standard"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: c.text, Strict: c.strict})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := decoded(t, report)
			if !ok || hex.EncodeToString(got) != c.result || report.Variant != c.variant || report.Error.Message != "" {
				t.Errorf("got %+v; want %s, %s", report, c.result, c.variant)
			}
		})
	}
}

// decoded returns what a report says the text stood for.
func decoded(t *testing.T, report *textutil.Base64DecodeReport) ([]byte, bool) {
	t.Helper()
	switch {
	case !report.Valid:
		return nil, false
	case report.IsUTF8:
		return []byte(*report.Result), true
	}
	if report.Result != nil {
		t.Errorf("result %q of data that are no text", *report.Result)
	}
	data, err := hex.DecodeString(report.ResultHex)
	if err != nil || report.OutputBytes != len(data) {
		t.Errorf("result_hex %q, %v, output_bytes %d", report.ResultHex, err, report.OutputBytes)
	}
	return data, true
}

func TestBase64DecodeFinds(t *testing.T) {
	const forgiving, strict = false, true
	cases := []struct {
		name    string
		text    string
		strict  bool
		offset  int
		message string
	}{
		{"a foreign letter", "Zm9!", forgiving, 3, `'!' is not`},
		{"a foreign letter of two bytes", "Zm9é", forgiving, 3, `'é' is not`},
		{"a vertical tab", "Zm\v9", forgiving, 2, `'\v' is not`},
		{"one letter too many", "Zm9v\nZ\n", forgiving, 5, "one letter"},
		{"padding in the middle", "Zg==Zg==", forgiving, 2, "before the end"},
		{"too little padding", "Zg=", forgiving, 2, "1 characters where 2"},
		{"too much padding", "Zm9v====", forgiving, 4, "4 characters where 0"},
		{"padding alone", "====", forgiving, 0, "4 characters where 0"},
		{"white space", "Zm9v\n", strict, 4, "white space"},
		{"URL-safe letters", "Zm-v", strict, 2, "URL-safe"},
		{"missing padding", "Zg", strict, 2, "2 characters of padding are missing"},
		{"spare bits of two letters", "Zh==", strict, 1, "belong to no byte"},
		{"spare bits of three letters", "Zm9=", strict, 2, "belong to no byte"},
		{"highest spare bit of two letters", "Zo==", strict, 1, "belong to no byte"},
		{"highest spare bit of three letters", "Zm+=", strict, 2, "belong to no byte"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: c.text, Strict: c.strict})
			if err != nil {
				t.Fatal(err)
			}
			if report.Valid || report.Result != nil || report.Error.Message == "" {
				t.Fatalf("got %+v; want a fault", report)
			}
			if report.Error.Offset != c.offset || !strings.Contains(report.Error.Message, c.message) {
				t.Errorf("got %+v; want %q at %d", report.Error, c.message, c.offset)
			}
		})
	}
}

func TestConformanceBase64(t *testing.T) {
	t.Run("rfc4648", func(t *testing.T) {
		var cases []struct{ Hex, Std, URL, RawStd, RawURL string }
		conformance(t, &cases, diagtest.Vectors(t, "text/base64/rfc4648_and_generated.json"))
		passed, total := 0, 0
		for _, c := range cases {
			data, err := hex.DecodeString(c.Hex)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{c.Std, c.URL, c.RawStd, c.RawURL} {
				total++
				padding := i < 2
				encoded, err := textutil.Base64Encode(textutil.Base64EncodeRequest{
					DataBase64: base64.StdEncoding.EncodeToString(data), URLSafe: i%2 == 1, Padding: &padding,
				})
				if err != nil || encoded.Result != want {
					t.Errorf("%s: %+v, %v; want %s", c.Hex, encoded, err, want)
					continue
				}
				report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: want, Strict: i == 0})
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := decoded(t, report); !ok || !bytes.Equal(got, data) {
					t.Errorf("%s: %+v; want %s", want, report, c.Hex)
					continue
				}
				passed++
			}
		}
		t.Logf("rfc4648: %d/%d", passed, total)
	})
	t.Run("wpt_forgiving_decode", func(t *testing.T) {
		var cases []struct {
			Input string
			Bytes []int // nil: a failure
		}
		conformance(t, &cases, diagtest.Suite(t, "text/base64/wpt_forgiving_decode.json"))
		passed, other := 0, 0
		for _, c := range cases {
			report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: c.Input})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := decoded(t, report)
			if strings.ContainsAny(c.Input, "-_") {
				// The contract reads the URL-safe alphabet too, at which the WHATWG algorithm fails.
				other++
				continue
			}
			want := make([]byte, len(c.Bytes))
			for i, b := range c.Bytes {
				want[i] = byte(b)
			}
			if ok != (c.Bytes != nil) || !bytes.Equal(got, want) {
				t.Errorf("%q: %+v; want %v", c.Input, report, c.Bytes)
				continue
			}
			passed++
		}
		t.Logf("wpt_forgiving_decode: %d/%d, and %d with URL-safe letters", passed, len(cases)-other, other)
	})
}

func FuzzBase64Decode(f *testing.F) {
	for _, seed := range []string{"", "Zg==", "Zg", "Z", "-_+/", "Zm9v Zm8=", "====", "Zh==", "é"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		report, err := textutil.Base64Decode(textutil.Base64DecodeRequest{Text: text, Strict: strict})
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		if err != nil {
			return
		}
		if report.Valid != (report.Error.Message == "") || report.Error.Message != "" && report.Error.Offset > len(text) {
			t.Fatalf("%q: %+v", text, report)
		}
		got, ok := decoded(t, report)
		want, err := base64.StdEncoding.Strict().DecodeString(text)
		if clean := err == nil && !strings.ContainsAny(text, "\r\n"); clean && (!ok || !bytes.Equal(got, want)) {
			t.Fatalf("%q: %+v; want %x", text, report, want)
		} else if strict && ok && !clean {
			t.Fatalf("%q is no strict Base64: %v", text, err)
		}
		if !ok {
			return
		}
		again, err := textutil.Base64Encode(textutil.Base64EncodeRequest{DataBase64: text})
		if text != "" && (err != nil || again.InputBytes != len(got)) {
			t.Fatalf("%q: %+v, %v", text, again, err)
		}
	})
}
