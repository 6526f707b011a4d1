package decode

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/diagkit/diagkit/webcheck/internal/scan"
)

// said is a good code with a text.
func said(text string) *Code {
	c := &Code{Text: text, IsUTF8: true, Version: 3, ErrorCorrection: "M", Modes: []scan.Mode{scan.Byte}, ErrorsCorrigible: 13,
		symbol: &scan.Symbol{Quiet: 4}}
	c.ContentType, c.Parsed, c.fault = parse(text)
	return c
}

func with(c *Code, change func(*Code)) *Code {
	change(c)
	return c
}

func TestRules(t *testing.T) {
	var seen diagtest.Seen
	type codes = []diag.Code
	for _, tt := range []struct {
		name string
		e    evidence
		want codes
	}{
		{"broken", evidence{broken: &raster.UnreadableError{Format: raster.PNG, Reason: "the file ends too early"}}, codes{"qr.image.unreadable"}},
		{"nothing", evidence{}, codes{"qr.code.missing"}},
		{"another kind", evidence{foreign: scan.MicroQR}, codes{"qr.code.missing"}},
		{"more", evidence{total: 3, codes: []*Code{said("a")}}, codes{"qr.code.more"}},
		{"good", evidence{total: 1, codes: []*Code{said(link)}}, codes{}},
		{"damaged", of(with(said("a"), func(c *Code) { c.ErrorsCorrected = 7 })), codes{"qr.code.damaged"}},
		{"a little damaged", of(with(said("a"), func(c *Code) { c.ErrorsCorrected = 6 })), codes{}},
		{"no margin", of(with(said("a"), func(c *Code) { c.symbol.Quiet = 1 })), codes{"qr.code.quiet"}},
		{"inverted", of(with(said("a"), func(c *Code) { c.Inverted = true })), codes{"qr.code.inverted"}},
		{"mirrored", of(with(said("a"), func(c *Code) { c.Mirrored = true })), codes{"qr.code.mirrored"}},
		{"cut off", evidence{total: 1, codes: []*Code{said(link)}, cut: true}, codes{"qr.search.limit"}},
		{"animated", evidence{total: 1, codes: []*Code{said(link)}, animated: true}, codes{"qr.image.animated"}},
		{"two of one cause", of(said("http://a.example/"), said("http://b.example/")), codes{"qr.url.http"}},
		{"part", of(part(1, 3), part(3, 3)), codes{"qr.append.incomplete"}},
		{"all parts", of(part(2, 2), part(1, 2)), codes{}},
		{"empty", of(said("")), codes{"qr.content.empty"}},
		{"malformed", of(said("WIFI:T:WPA;P:x;;")), codes{"qr.content.malformed"}},
		{"Latin 1", of(with(said("é"), func(c *Code) { c.IsUTF8 = false })), codes{"qr.content.charset"}},
		{"Latin 1 by name", of(with(said("é"), func(c *Code) { c.IsUTF8, c.ECI = false, new(3) })), codes{}},
		{"Kanji", of(with(said("点"), func(c *Code) { c.IsUTF8, c.Modes = false, []scan.Mode{scan.Kanji} })), codes{}},
		{"reordered", of(said("a\u202egpj.exe")), codes{"qr.content.invisible"}},
		{"NUL", of(said("a\x00b")), codes{"qr.content.invisible"}},
		{"script", of(said("javascript:alert(1)")), codes{"qr.url.scheme"}},
		{"user name", of(said("https://bank.example@192.0.2.1/")), codes{"qr.url.userinfo", "qr.url.address"}},
		{"Cyrillic", of(said("https://\u0430pple.example/")), codes{"qr.url.lookalike"}},
		{"umlaut", of(said("https://bücher.example/")), codes{}},
		{"address", of(said("https://[2001:db8::1]/")), codes{"qr.url.address"}},
		{"http", of(said("HTTP://EXAMPLE.COM/")), codes{"qr.url.http"}},
		{"bare host", of(said("www.example.com")), codes{"qr.url.http"}},
		{"shortener", of(said("https://bit.ly/abc")), codes{"qr.url.shortener"}},
		{"open Wi-Fi", of(said("WIFI:S:Guests;T:nopass;;")), codes{"qr.wifi.open"}},
		{"WEP", of(said("WIFI:S:Guests;T:WEP;P:abcde;;")), codes{"qr.wifi.open", "qr.wifi.password"}},
		{"Wi-Fi", of(said("WIFI:S:Guests;T:WPA;P:secret;;")), codes{"qr.wifi.password"}},
		{"account", of(said("otpauth://totp/Example:me?secret=GEZDGNBV&issuer=Example")), codes{"qr.otp.secret"}},
		{"accounts", of(said("otpauth-migration://offline?data=CjEKCkhlbGxv")), codes{"qr.otp.secret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, seen.Add(rules.Judge(&tt.e, tt.e.texts())))
			assert.NotNil(t, tt.e.report().Codes)
		})
	}
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
}

// of is an image with these codes.
func of(codes ...*Code) evidence { return evidence{total: len(codes), codes: codes} }

// part is a code that is a part of a text.
func part(n, of int) *Code {
	return with(said("a"), func(c *Code) { c.Append = &AppendState{n, of, 7} })
}
