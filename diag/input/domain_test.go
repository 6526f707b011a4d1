package input

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	label63 = strings.Repeat("a", 63)
	name253 = strings.Repeat(label63+".", 3) + strings.Repeat("b", 61)
)

func TestParseDomain(t *testing.T) {
	tests := map[string]string{
		"example.com":        "example.com",
		"Example.COM.":       "example.com",
		"com":                "com",
		"localhost":          "localhost",
		"a-b.example":        "a-b.example",
		"1.2.3.4.example":    "1.2.3.4.example",
		"1e3.example":        "1e3.example",
		"example.1a":         "example.1a",
		"0xg":                "0xg",
		label63 + ".example": label63 + ".example",
		name253:              name253,
		name253 + ".":        name253,

		// Hyphens in the third and fourth place of a label that claims to be nothing but ASCII.
		"r3---sn-abc.example": "r3---sn-abc.example",
		"ab--cd.example":      "ab--cd.example",

		// IDNA 2008, non-transitional, with the mapping of UTS #46.
		"bücher.example":        "xn--bcher-kva.example",
		"BÜCHER.example":        "xn--bcher-kva.example",
		"bu\u0308cher.example":  "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
		"XN--BCHER-KVA.example": "xn--bcher-kva.example",
		"ｘｎ－－bcher-kva.example": "xn--bcher-kva.example",
		"faß.example":           "xn--fa-hia.example", // not fass
		"βόλος.example":         "xn--nxasmm1c.example",
		"نامه\u200Cای.example":  "xn--mgba3gch31f060k.example", // ZWNJ between joining letters
		"ශ්\u200Dරී.example":    "xn--10cl1a0b660p.example",    // ZWJ after a virama
		"例え.テスト":                "xn--r8jz45g.xn--zckzah",
		"例え。テスト。":               "xn--r8jz45g.xn--zckzah",
		"example．com":           "example.com",
		"example｡com":           "example.com",
		"الأردن.example":        "xn--igbhzh7gpa.example",
		"i❤.example":            "xn--i-7iq.example", // UTS #46, not IDNA 2008 proper
		"i❤\uFE0F.example":      "xn--i-7iq.example", // as keyboards write it
		"ⓔⓧⓐⓜⓟⓛⓔ.com":           "example.com",
	}
	for in, want := range tests {
		d, err := ParseDomain(in)
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, d.String(), in)
		}
	}
}

func TestParseDomainRefuses(t *testing.T) {
	tests := map[string]string{
		"":                             "it is empty",
		".":                            "it is empty",
		"..":                           "empty label",
		"a..b":                         "empty label",
		".com":                         "empty label",
		"example.com..":                "empty label",
		"example.com.。":                "empty label",
		"ü..example":                   "empty label",
		"\u00AD.example":               "empty label",
		label63 + "a.com":              "label is longer than 63",
		name253 + "b":                  "longer than 253",
		strings.Repeat("ü", 70):        "label is longer than 63",
		strings.Repeat("ü.", 80) + "a": "longer than 253",
		"-a.com":                       "hyphen",
		"a-.com":                       "hyphen",
		"-":                            "hyphen",
		"-ü.com":                       "hyphen",
		"ü-.com":                       "hyphen",
		"ab--ü.com":                    "third and fourth",
		"under_score.com":              "'_'",
		"*.example.com":                "'*'",
		"a b.com":                      "' '",
		"a\u00A0b.com":                 `'\u00a0'`,
		"a\\.com":                      `'\\'`,
		"example.com/":                 "it has a path, give example.com",
		"https://example.com":          "it is a URL, give example.com",
		"https://example.com:8443/x?y": "it is a URL, give example.com",
		"postmaster@example.com":       "it is a mail address, give example.com",
		" example.com\n":               "it has spaces around it, give example.com",
		"0/25.2.0.192.in-addr.arpa":    "'/'",
		"https://a b.com":              "':'",
		"example.com:443":              "':'",
		"a\x00.com":                    `'\x00'`,
		"a%.com":                       "'%'",
		"\xff.com":                     "UTF-8",
		"a／b.com":                      "'／'",
		"1.2.3.4":                      "it is an IP address",
		"::1":                          "it is an IP address",
		"2001:db8::1":                  "it is an IP address",
		"127.1":                        "makes it an IP address",
		"2130706433":                   "makes it an IP address",
		"0x7f.0.0.0x1":                 "makes it an IP address",
		"0x":                           "makes it an IP address",
		"example.0xAf":                 "makes it an IP address",
		"example.123.":                 "makes it an IP address",
		"１.２.３.４":                      "makes it an IP address",
		"xn--":                         "empty label",
		"xn--a":                        "not valid Punycode",
		"xn--a-":                       "not valid Punycode",
		"xn--example-.com":             "not valid Punycode",
		"xn--99999999":                 "not valid Punycode",
		"xn--bücher":                   "not valid Punycode",
		"xn--Bcher-kva.xn--a":          "not valid Punycode",
		"a\u200Cb.com":                 "U+200C ZERO WIDTH NON-JOINER at character 2, give ab.com",
		"a\u200Db.com":                 "U+200D ZERO WIDTH JOINER at character 2, give ab.com",
		"ex\u00ADample.com":            "U+00AD SOFT HYPHEN at character 3, give example.com",
		"google.com\u200B":             "the invisible character U+200B ZERO WIDTH SPACE at character 11, give google.com",
		"\uFEFFgoogle.com":             "U+FEFF ZERO WIDTH NO-BREAK SPACE at character 1, give google.com",
		"google\u2060.com\u200E ":      "U+2060 WORD JOINER at character 7, give google.com",
		"google.com\u00A0":             "it has spaces around it, give google.com",
		"https://google.com/\u200B":    "it is a URL, give google.com",
		"a@google.com\u200B":           "it is a mail address, give google.com",
		"com\u200B":                    "the invisible character U+200B ZERO WIDTH SPACE at character 4",
		"bücher\u200B.example":         "give bücher.example",
		"نامه\u200Cای.example\u200B":   "at character 16, give نامه\u200Cای.example",
		"\u0301a.com":                  "must not be combined", // begins with a combining mark
		"אa.com":                       "must not be combined", // RFC 5893 section 2
		"א.1a":                         "directions",
		"a\u202Eb.com":                 "U+202E RIGHT-TO-LEFT OVERRIDE at character 2, give ab.com",
	}
	for in, want := range tests {
		d, err := ParseDomain(in)
		if !assert.Error(t, err, "%q gave %s", in, d) {
			continue
		}
		var fault *Error
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, "domain", fault.Field)
		assert.Contains(t, fault.Reason, want, in)
		assert.True(t, d.IsZero())
	}
}

// An A-label is accepted only if it is the A-label of its U-label.
func TestParseDomainALabels(t *testing.T) {
	for _, s := range []string{
		"xn--u-ccb",      // decodes to a letter and a combining mark that ought to be one letter
		"xn--BCHER-kvA1", // decodes to something else
		"xn--e1afmkfd-",
		"xn--fa-hia-",
		"xn--strae-oqa\u00DF",
	} {
		d, err := ParseDomain(s + ".example")
		assert.Error(t, err, "%s gave %s", s, d)
	}
}

func TestDomainForms(t *testing.T) {
	d := MustDomain("Bücher.Example.")
	require.Equal(t, "xn--bcher-kva.example", d.String())
	require.Equal(t, "xn--bcher-kva.example.", d.FQDN())
	require.Equal(t, "_dmarc.xn--bcher-kva.example.", d.Sub("_dmarc"))
	require.Equal(t, "bücher.example", d.Unicode())
	require.Equal(t, "bücher.example", d.UnicodeIfDifferent())
	require.Empty(t, MustDomain("example.com").UnicodeIfDifferent())
	require.Equal(t, d, MustDomain("xn--bcher-kva.example"), "domains are comparable")
	require.True(t, Domain{}.IsZero())
	require.Panics(t, func() { MustDomain("a b") })
}

func TestDomainJSON(t *testing.T) {
	var request struct {
		Domain Domain `json:"domain"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"domain":"B\u00fccher.example"}`), &request))
	text, err := json.Marshal(request)
	require.NoError(t, err)
	require.JSONEq(t, `{"domain":"xn--bcher-kva.example"}`, string(text))

	for _, bad := range []string{`""`, `"1.2.3.4"`, `"a b"`} {
		var fault *Error
		require.ErrorAs(t, json.Unmarshal([]byte(`{"domain":`+bad+`}`), &request), &fault)
	}
}

// wellFormedASCII checks what holds of every parsed name.
func wellFormedASCII(t interface{ Fatalf(string, ...any) }, s, extra string) {
	if len(s) == 0 || len(s) > 253 {
		t.Fatalf("%q has %d octets", s, len(s))
	}
	for l := range strings.SplitSeq(s, ".") {
		if l == "" || len(l) > 63 {
			t.Fatalf("%q has a label of %d octets", s, len(l))
		}
		if strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-"+extra) != "" {
			t.Fatalf("%q has other characters than it may", s)
		}
	}
}

func TestDomainProperties(t *testing.T) {
	label := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9-]{1,20}`),
		rapid.StringMatching(`xn--[a-z0-9-]{1,12}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("aßςü例אا١٢\u200C\u200D्क❤é")), 1, 12, -1),
		rapid.StringN(0, 6, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "labels"), ".")
		d, err := ParseDomain(s)
		if err != nil {
			return
		}
		wellFormedASCII(t, d.String(), "")
		for _, form := range []string{d.String(), d.FQDN(), strings.ToUpper(d.String()), d.Unicode()} {
			again, err := ParseDomain(form)
			if err != nil || again != d {
				t.Fatalf("%q gave %s, which gave %s from %q: %v", s, d, again, form, err)
			}
		}
	})
}

// The text of every domain is a domain again, the same one, in Unicode too; and a Name and a Host.
func FuzzParseDomain(f *testing.F) {
	for _, s := range []string{"example.com", "xn--bcher-kva", "faß.example.", "a--b.c", "1.2.3.4", "א.example", "。"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDomain(s)
		if (err == nil) == d.IsZero() {
			t.Fatalf("%q gave %s and %v", s, d, err)
		}
		if err != nil {
			return
		}
		wellFormedASCII(t, d.String(), "")
		if again, err := ParseDomain(d.String()); err != nil || again != d {
			t.Fatalf("%q gave %s, which gave %s, %v", s, d, again, err)
		}
		if again, err := ParseDomain(d.Unicode()); err != nil || again != d {
			t.Fatalf("%q gave %s, whose Unicode form gave %s, %v", s, d.Unicode(), again, err)
		}
		if n, err := ParseName(s); err != nil || n.FQDN() != d.FQDN() {
			t.Fatalf("%q is the domain %s but the name %s, %v", s, d, n, err)
		}
	})
}

func TestParseDomainAllocates(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := ParseDomain("mail.example.com."); err != nil {
			t.Error(err)
		}
	}))
}

func BenchmarkParseDomain(b *testing.B) {
	names := map[string]string{"ascii": "mail.example.com", "upper": "Mail.Example.COM", "idn": "bücher.example"}
	for name, s := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseDomain(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
