package input

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseName(t *testing.T) {
	tests := map[string]string{
		".":                               ".",
		"com":                             "com.",
		"Example.COM.":                    "example.com.",
		"_DMARC.example.com":              "_dmarc.example.com.",
		"_25._tcp.mail.example.com":       "_25._tcp.mail.example.com.",
		"s1._domainkey.bücher.example":    "s1._domainkey.xn--bcher-kva.example.",
		"_S1._domainkey。bücher.example":   "_s1._domainkey.xn--bcher-kva.example.",
		"under_score.example.com":         "under_score.example.com.",
		"_.example.com":                   "_.example.com.",
		"__.example.com":                  "__.example.com.",
		"-_-.example.com":                 "-_-.example.com.",
		"*.example.com":                   "*.example.com.",
		"*.bücher.example":                "*.xn--bcher-kva.example.",
		"*._domainkey.example.com":        "*._domainkey.example.com.",
		"*.com":                           "*.com.",
		"4.3.2.1.in-addr.arpa":            "4.3.2.1.in-addr.arpa.",
		"r3---sn-abc.example":             "r3---sn-abc.example.",
		"_xn--dmarc.xn--bcher-kva.com":    "_xn--dmarc.xn--bcher-kva.com.",
		"_" + label63[1:] + ".example":    "_" + label63[1:] + ".example.",
		strings.Repeat("_.", 126) + "x":   strings.Repeat("_.", 126) + "x.",
		"xn--fa-hia.xn--igbhzh7gpa.arpa.": "xn--fa-hia.xn--igbhzh7gpa.arpa.",
		// RFC 2181 section 11: the DNS holds any label.
		"xn--a.test":            "xn--a.test.",
		"XN--U-ccb.bücher.test": "xn--u-ccb.xn--bcher-kva.test.",
		"_a.xn--":               "_a.xn--.",
		"-a.example":            "-a.example.",
		"_a.-b-.example":        "_a.-b-.example.",
		"*.xn--a.ü.-.example":   "*.xn--a.xn--tda.-.example.",
	}
	for in, want := range tests {
		n, err := ParseName(in)
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, n.FQDN(), in)
		}
	}
}

func TestParseNameRefuses(t *testing.T) {
	tests := map[string]string{
		"":                               "it is empty",
		"..":                             "empty label",
		"a..b":                           "empty label",
		"._.":                            "empty label",
		"。。":                             "empty label",
		"*":                              "'*'",
		"*.":                             "'*'",
		"a.*.example":                    "'*'",
		"**.example":                     "'*'",
		"*a.example":                     "'*'",
		"ü.*.example":                    "'*'",
		"a b.example":                    "' '",
		`a\.b.example`:                   `'\\'`,
		`\097.example`:                   `'\\'`,
		"0/26.2.0.192.in-addr.arpa":      "'/'",
		"a\"b.example":                   `'"'`,
		"a\nb.example":                   `'\n'`,
		"_ü.example":                     "'_'",
		"-ü.example":                     "hyphen",
		"_dmarc.google.com\u200B":        "U+200B ZERO WIDTH SPACE at character 18, give _dmarc.google.com",
		"1.2.3.4":                        "IP address",
		"2001:db8::1":                    "IP address",
		"_a.127.1":                       "IP address",
		"_" + label63 + ".example":       "longer than 63",
		strings.Repeat("_.", 127) + "x":  "longer than 253",
		strings.Repeat("_a.", 100) + "ü": "longer than 253",
	}
	for in, want := range tests {
		n, err := ParseName(in)
		if !assert.Error(t, err, "%q gave %s", in, n) {
			continue
		}
		var fault *Error
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, "qname", fault.Field)
		assert.Contains(t, fault.Reason, want, in)
		assert.True(t, n.IsZero())
	}
}

func TestNameForms(t *testing.T) {
	root := MustName(".")
	require.Equal(t, ".", root.String())
	require.Equal(t, ".", root.FQDN())
	require.Equal(t, ".", root.Unicode())
	n := MustName("_dmarc.Bücher.example")
	require.Equal(t, "_x._dmarc.xn--bcher-kva.example.", n.Sub("_x"))
	require.Equal(t, "_dmarc.bücher.example", n.UnicodeIfDifferent())
	require.Equal(t, "com.", root.Sub("com"))
	require.Empty(t, root.UnicodeIfDifferent())
	require.Equal(t, MustName("example.com"), MustDomain("example.com").Name())
	require.True(t, Domain{}.Name().IsZero())
	require.Equal(t, "_dmarc.xn--bcher-kva.example", n.String())
	require.Equal(t, "_dmarc.bücher.example", n.Unicode())
	require.Equal(t, "xn--a.example", unicodeName("xn--a.example."), "what is no A-label stays as it is")
	require.Panics(t, func() { MustName("") })

	var request struct {
		QName Name `json:"qname"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"qname":"."}`), &request))
	require.Equal(t, root, request.QName)
	text, err := json.Marshal(request)
	require.NoError(t, err)
	require.JSONEq(t, `{"qname":"."}`, string(text))
	require.Error(t, json.Unmarshal([]byte(`{"qname":""}`), &request))
}

func TestNameProperties(t *testing.T) {
	label := rapid.OneOf(
		rapid.Just("*"),
		rapid.StringMatching(`[a-zA-Z0-9_-]{1,20}`),
		rapid.StringMatching(`xn--[a-z0-9-]{1,12}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("aßςü例אا_é。")), 1, 12, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "labels"), ".")
		n, err := ParseName(s)
		if err != nil {
			return
		}
		wellFormedASCII(t, n.String(), "_*")
		for _, form := range []string{n.String(), n.FQDN(), strings.ToUpper(n.String())} {
			if again, err := ParseName(form); err != nil || again != n {
				t.Fatalf("%q gave %s, which gave %s from %q: %v", s, n, again, form, err)
			}
		}
	})
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{".", "*.example.com", "_a._b.c", "_ü.c", "a\\.b", "xn--a-.x", "ü._a.。"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if (err == nil) == n.IsZero() {
			t.Fatalf("%q gave %s and %v", s, n, err)
		}
		if err != nil || n.String() == "." {
			return
		}
		wellFormedASCII(t, n.String(), "_*")
		if again, err := ParseName(n.FQDN()); err != nil || again != n {
			t.Fatalf("%q gave %s, which gave %s, %v", s, n, again, err)
		}
	})
}

func TestParseSelector(t *testing.T) {
	tests := map[string]string{
		"s1": "s1", "20230601": "20230601", "K1": "k1", "a.b": "a.b", "selector1-example-com": "selector1-example-com",
		"under_score": "under_score", "-a-": "-a-", "0": "0", "xn--a": "xn--a", "bücher": "xn--bcher-kva",
		label63: label63,
	}
	for in, want := range tests {
		s, err := ParseSelector(in)
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, s.String(), in)
		}
	}
	for _, in := range []string{
		"", ".", "a.", ".a", "a..b", "a b", "a/b", "*", "a\x00", "\xff", "ü ", label63 + "a",
		strings.Repeat("a.", 127), strings.Repeat(label63+".", 4) + "a", strings.Repeat("ü", 3000),
	} {
		s, err := ParseSelector(in)
		var fault *Error
		if assert.ErrorAs(t, err, &fault, "%q gave %s", in, s) {
			assert.Equal(t, "selector", fault.Field)
		}
	}
	require.Panics(t, func() { MustSelector("a b") })
	require.True(t, Selector{}.IsZero())

	var request struct{ Selector Selector }
	require.NoError(t, json.Unmarshal([]byte(`{"selector":"S1"}`), &request))
	text, err := json.Marshal(request)
	require.NoError(t, err)
	require.JSONEq(t, `{"Selector":"s1"}`, string(text))
}

func FuzzParseSelector(f *testing.F) {
	f.Add("s1")
	f.Add("ü._x")
	f.Fuzz(func(t *testing.T, s string) {
		selector, err := ParseSelector(s)
		if err != nil {
			return
		}
		wellFormedASCII(t, selector.String(), "_")
		if again, err := ParseSelector(selector.String()); err != nil || again != selector {
			t.Fatalf("%q gave %s, which gave %s, %v", s, selector, again, err)
		}
	})
}

func TestParseIP(t *testing.T) {
	tests := []struct {
		in, want string
		version  int
		reverse  string
	}{
		{"192.0.2.1", "192.0.2.1", 4, "1.2.0.192.in-addr.arpa."},
		{"::ffff:192.0.2.1", "192.0.2.1", 4, "1.2.0.192.in-addr.arpa."},
		{
			"2001:DB8::1", "2001:db8::1", 6,
			"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.",
		},
	}
	for _, tt := range tests {
		ip := MustIP(tt.in)
		assert.Equal(t, tt.want, ip.String())
		assert.Equal(t, tt.version, ip.Version())
		assert.Equal(t, tt.reverse, ip.Reverse())
		assert.False(t, ip.IsZero())
	}
	for _, in := range []string{
		"", "a", "127.1", "192.0.2.01", "192.0.2.1/24", "[::1]", "fe80::1%eth0", "::1%", " ::1", "192.0.2.1:53", "1.2.3.4.",
	} {
		_, err := ParseIP(in)
		var fault *Error
		if assert.ErrorAs(t, err, &fault, in) {
			assert.Equal(t, "ip", fault.Field)
		}
	}
	require.Empty(t, IP{}.Reverse())
	require.Panics(t, func() { MustIP("a") })

	var request struct{ IP IP }
	require.NoError(t, json.Unmarshal([]byte(`{"ip":"::ffff:192.0.2.1"}`), &request))
	require.Equal(t, IP{netip.MustParseAddr("192.0.2.1")}, request.IP)
	text, err := json.Marshal(request)
	require.NoError(t, err)
	require.JSONEq(t, `{"IP":"192.0.2.1"}`, string(text))
	require.Error(t, json.Unmarshal([]byte(`{"ip":""}`), &request))
}
