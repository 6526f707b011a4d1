package input

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseHost(t *testing.T) {
	tests := map[string]string{
		"Under_Score.example.com": "under_score.example.com",
		"_a.example_.com":         "_a.example_.com",
		"example.com":             "example.com",
		"EXAMPLE.com.":            "example.com",
		"xn--bcher-kva.example":   "xn--bcher-kva.example",
		"bücher.example":          "xn--bcher-kva.example",
		"b%C3%BCcher.example":     "xn--bcher-kva.example",
		"ex%61mple.com":           "example.com",
		"example。com":             "example.com",
		"ｅｘａｍｐｌｅ．ｃｏｍ":             "example.com",
		"10.0.0.1.example.com":    "10.0.0.1.example.com",
		"1.2.3.4a":                "1.2.3.4a",
		"0x7f.com":                "0x7f.com",
		"0xg":                     "0xg",

		// Every spelling of an IPv4 address that a browser understands.
		"127.0.0.1":          "127.0.0.1",
		"127.0.0.1.":         "127.0.0.1",
		"127.1":              "127.0.0.1",
		"127.0.1":            "127.0.0.1",
		"127.65535":          "127.0.255.255",
		"2130706433":         "127.0.0.1",
		"017700000001":       "127.0.0.1",
		"0x7f000001":         "127.0.0.1",
		"0X7F.1":             "127.0.0.1",
		"0x7f.0.0.0x1":       "127.0.0.1",
		"0177.0.0.01":        "127.0.0.1",
		"0x.0x.0":            "0.0.0.0",
		"0x":                 "0.0.0.0",
		"0":                  "0.0.0.0",
		"00000000000.0":      "0.0.0.0",
		"4294967295":         "255.255.255.255",
		"127。0。0。1":          "127.0.0.1",
		"１２７.０.０.１":          "127.0.0.1",
		"①②⑦.0.0.1":          "127.0.0.1",
		"127%2e0%2E0.1":      "127.0.0.1",
		"%31%32%37.1":        "127.0.0.1",
		"169.254.169.254":    "169.254.169.254",
		"0xa9fea9fe":         "169.254.169.254",
		"2852039166":         "169.254.169.254",
		"0251.0376.0251.254": "169.254.169.254",

		"[::1]":                           "[::1]",
		"[2606:4700:4700:0:0:0:0:1111]":   "[2606:4700:4700::1111]",
		"[::ffff:7f00:1]":                 "127.0.0.1",
		"[0:0:0:0:0:ffff:127.0.0.1]":      "127.0.0.1",
		"[64:ff9b::127.0.0.1]":            "[64:ff9b::7f00:1]",
		strings.Repeat("a", 63) + ".test": strings.Repeat("a", 63) + ".test",
	}
	for in, want := range tests {
		h, err := ParseHost(in)
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, h.String(), in)
		}
	}
}

func TestParseHostRefuses(t *testing.T) {
	tests := map[string]string{
		"":                                "empty",
		".":                               "empty",
		"..":                              "empty label",
		"a..b":                            "empty label",
		".example.com":                    "empty label",
		"example.com..":                   "empty label",
		"example.com。.":                   "empty label",
		"localhost":                       "the machine itself",
		"LocalHost.":                      "the machine itself",
		"loc%61lhost":                     "the machine itself",
		"ｌｏｃａｌｈｏｓｔ":                       "the machine itself",
		"foo.localhost":                   "the machine itself",
		"exa mple.com":                    "' '",
		"exa%20mple.com":                  "' '",
		"example%00.com":                  `'\x00'`,
		"example%2fcom":                   "'/'",
		"example%zz.com":                  "percent",
		"example.com%":                    "percent",
		"example%25.com":                  "'%'",
		"exa\\mple.com":                   `'\\'`,
		"user@example.com":                "'@'",
		"example.com:80":                  "':'",
		"under＿score.example.com":         "'＿'",
		"*.example.com":                   "'*'",
		"example.com\n":                   `'\n'`,
		"\xff.example":                    "UTF-8",
		"%ff.example":                     "UTF-8",
		"℀.example":                       "'℀'",
		"-a.example":                      "hyphen",
		"xn--a":                           "Punycode",
		strings.Repeat("a", 64) + ".com":  "63",
		strings.Repeat("a.", 127) + "com": "253",
		strings.Repeat("ü", 5000):         "253",

		"256.0.0.1":                  "not an IPv4",
		"1.2.3.256":                  "not an IPv4",
		"1.2.3.4.0":                  "not an IPv4",
		"1.2.3.4.5":                  "not an IPv4",
		"1.2.65536":                  "not an IPv4",
		"4294967296":                 "not an IPv4",
		"127.0.0.08":                 "not an IPv4",
		"0400.0.0.1":                 "not an IPv4",
		"example.1":                  "not an IPv4",
		"example.0x1f":               "not an IPv4",
		"-1.2.3.4":                   "hyphen",
		"0x100000000":                "not an IPv4",
		"99999999999999999999999999": "not an IPv4",

		"[":                "brackets",
		"[]":               "brackets",
		"[::1":             "brackets",
		"::1":              "':'",
		"[::1]a":           "brackets",
		"[127.0.0.1]":      "brackets",
		"[fe80::1%eth0]":   "brackets",
		"[fe80::1%25eth0]": "brackets",
		"[[::1]]":          "brackets",
	}
	for in, want := range tests {
		h, err := ParseHost(in)
		if assert.Error(t, err, "%q gave %s", in, h) {
			assert.Contains(t, err.Error(), want, in)
			assert.True(t, h.IsZero())
		}
	}
}

func TestHostParts(t *testing.T) {
	h := MustHost("www.example.com")
	d, ok := h.Domain()
	require.True(t, ok)
	require.Equal(t, MustDomain("www.example.com"), d)
	_, ok = h.IP()
	require.False(t, ok)

	h = MustHost("[2001:db8::1]")
	ip, ok := h.IP()
	require.True(t, ok)
	require.Equal(t, MustIP("2001:db8::1"), ip)
	require.Equal(t, "2001:db8::1", h.Name())
	_, ok = h.Domain()
	require.False(t, ok)
	require.Panics(t, func() { MustHost("") })

	var decoded struct{ Host Host }
	require.NoError(t, json.Unmarshal([]byte(`{"host":"[2001:DB8::1]"}`), &decoded))
	require.Equal(t, h, decoded.Host)
	text, err := json.Marshal(decoded)
	require.NoError(t, err)
	require.JSONEq(t, `{"Host":"[2001:db8::1]"}`, string(text))
	var fault *Error
	require.ErrorAs(t, json.Unmarshal([]byte(`{"host":"a b"}`), &decoded), &fault)
	require.Equal(t, "host", fault.Field)
}

// The text of every host is a host again, the same one.
func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"example.com", "0x7f.1", "[::1]", "①.example", "%41", "xn--a-", "ß.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			if !h.IsZero() {
				t.Fatalf("%q: both a host and an error", s)
			}
			return
		}
		again, err := ParseHost(h.String())
		if err != nil || again != h {
			t.Fatalf("%q gave %s, which gave %s, %v", s, h, again, err)
		}
	})
}

// A host pasted into a request must not contain invisible characters; the host of a link is read as browsers do.
func TestUnseenCharacterInHost(t *testing.T) {
	var h Host
	require.ErrorContains(t, h.UnmarshalText([]byte("google.com\u200B")),
		"the invisible character U+200B ZERO WIDTH SPACE at character 11, give google.com")
	require.True(t, h.IsZero())
	require.Equal(t, "google.com", MustHost("google.com\u200B").Name())
}

func TestUnseenCharacterInAddress(t *testing.T) {
	_, err := ParseIP("192.0.2.1\u200B")
	require.ErrorContains(t, err, "U+200B ZERO WIDTH SPACE at character 10")
}
