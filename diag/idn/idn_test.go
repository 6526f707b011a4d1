package idn

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/net/idna"
)

func TestRules(t *testing.T) {
	cases := []struct {
		name   string
		domain string
		want   []rule.Code
	}{
		{"plain", "example.com", nil},
		{"German", "bücher.example", nil},
		{"Japanese", "日本語ひらがなカタカナabc.example", nil},
		{"Hebrew", "אבג.example", nil},
		{"empty label", "a..example", []rule.Code{"idn.label.empty"}},
		{"ignored label", "a.\u00AD.example", []rule.Code{"idn.label.empty", "idn.name.invisible"}},
		{"nothing but a dot", ".", []rule.Code{"idn.label.empty"}},
		{"IPv4 address", "192.0.2.1", []rule.Code{"idn.name.address"}},
		{"IPv4 address with a final dot", "192.0.2.1.", []rule.Code{"idn.name.address"}},
		{"IPv4 address in full width", "１９２．０．２．１", []rule.Code{"idn.name.address"}},
		{"IPv4 address in circles", "①②⑦.①", []rule.Code{"idn.name.address"}},
		{"IPv4 address in hexadecimal", "0xC0.0x00.0x02.0x01", []rule.Code{"idn.name.address"}},
		{"IPv4 address in octal", "0300.0.02.01", []rule.Code{"idn.name.address"}},
		{"IPv4 address as one number", "3221225985", []rule.Code{"idn.name.address"}},
		{"what ends in a number", "example.256", []rule.Code{"idn.name.address"}},
		{"numbers before a name", "192.0.2.1.example", nil},
		{"IPv6 address", "2001:db8::1", []rule.Code{"idn.name.address"}},
		{"IPv6 address in brackets", "[2001:DB8::1]", []rule.Code{"idn.name.address"}},
		{"IPv6 address of mail", "[IPv6:2001:db8::1]", []rule.Code{"idn.name.address"}},
		{"zero width space", "google.com\u200B", []rule.Code{"idn.name.invisible"}},
		{"byte order mark and word joiner", "\uFEFFgoogle\u2060.com", []rule.Code{"idn.name.invisible"}},
		{"variation selector", "i❤\uFE0F.example", []rule.Code{"idn.label.symbol"}},
		{"direction mark", "google.com\u200E", []rule.Code{"idn.label.codepoint"}},
		{"no-break space", "google.com\u00A0", []rule.Code{"idn.label.ascii"}},
		{"63 octets", strings.Repeat("a", 63) + ".example", nil},
		{"64 octets", strings.Repeat("a", 64) + ".example", []rule.Code{"idn.label.long"}},
		{"long in ASCII only", strings.Repeat("ü", 60), []rule.Code{"idn.label.long"}},
		{"253 octets", strings.Repeat("abcdefg.", 31) + "abcde", nil},
		{"254 octets", strings.Repeat("abcdefg.", 31) + "abcdef", []rule.Code{"idn.name.long"}},
		{"bad Punycode", "xn--z", []rule.Code{"idn.label.punycode"}},
		{"Punycode of nothing", "xn---", []rule.Code{"idn.label.punycode"}},
		{"prefix alone", "xn--", []rule.Code{"idn.label.punycode"}},
		{"Punycode of ASCII", "xn--abc-", []rule.Code{"idn.label.punycode"}},
		{"A-label", "xn--tda", nil},
		{"A-label of what is mapped", "xn--8ba", []rule.Code{"idn.label.canonical"}},
		{"A-label not composed", "xn--u-ccb", []rule.Code{"idn.label.canonical"}},
		{"underscore", "_dmarc.example", []rule.Code{"idn.label.ascii"}},
		{"space", "a b.example", []rule.Code{"idn.label.ascii"}},
		{"disallowed", "a\u2488b.example", []rule.Code{"idn.label.codepoint"}},
		{"not assigned", "a\U000E0FFFb.example", []rule.Code{"idn.label.codepoint"}},
		{"double hyphen", "ab--c.example", []rule.Code{"idn.label.hyphen.position"}},
		{"hyphen first", "-a.example", []rule.Code{"idn.label.hyphen.edge"}},
		{"hyphen last", "a-.example", []rule.Code{"idn.label.hyphen.edge"}},
		{"mark first", "\u0301a.example", []rule.Code{"idn.label.mark"}},
		{"non-joiner", "a\u200Cb.example", []rule.Code{"idn.label.joiner", "idn.label.deviation"}},
		{"joiner behind a virama", "क्\u200Dष.example", []rule.Code{"idn.label.deviation"}},
		{"non-joiner between joining letters", "نامه\u200Cای.example", []rule.Code{"idn.label.deviation"}},
		{"digit before Hebrew", "1אבג.example", []rule.Code{"idn.label.bidi"}},
		{"Latin in Hebrew", "אaב.example", []rule.Code{"idn.label.bidi"}},
		{"both digits", "ב1\u0660ب.example", []rule.Code{"idn.label.bidi", "idn.script.mixed"}},
		{"Hebrew ends with a hyphen", "א-.example", []rule.Code{"idn.label.hyphen.edge", "idn.label.bidi"}},
		{"digit in a name with Hebrew", "1.אבג", []rule.Code{"idn.label.bidi"}},
		{"symbol", "i♥.example", []rule.Code{"idn.label.symbol"}},
		{"middle dot in Catalan", "col·lecció.example", nil},
		{"middle dot", "a·b.example", []rule.Code{"idn.label.context"}},
		{"middle dot last", "l·.example", []rule.Code{"idn.label.context"}},
		{"Greek numeral sign", "͵α.example", nil},
		{"Greek numeral sign last", "α͵.example", []rule.Code{"idn.label.context"}},
		{"geresh", "א׳ב.example", nil},
		{"Katakana middle dot", "カ・カ.example", nil},
		{"Katakana middle dot in Latin", "a・b.example", []rule.Code{"idn.label.context"}},
		{"two kinds of Arabic digits", "ب\u0660\u06F0ب.example", []rule.Code{"idn.label.bidi", "idn.label.context"}},
		{"Cyrillic in Latin", "bаnк.example", []rule.Code{"idn.script.mixed"}},
		{"Thai and Latin", "abcไทย.example", nil},
		{"looks like Latin, in part", "pаypal.example", []rule.Code{"idn.script.mixed", "idn.label.confusable"}},
		{"looks like Latin, all", "аррӏе.example", []rule.Code{"idn.label.confusable"}},
		{"deviation", "straße.example", []rule.Code{"idn.label.deviation"}},
		{"deviation of Greek", "λόγος.example", []rule.Code{"idn.label.deviation"}},
	}
	var seen diagtest.Seen
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			verdict := rules.Judge(examine(c.domain), nil)
			if got := seen.Add(verdict); len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v; want %v", got, c.want)
			}
			r, err := Convert(Request{Domain: c.domain})
			if err != nil {
				t.Fatal(err)
			}
			broken := slices.ContainsFunc(r.Findings, func(f rule.Finding) bool { return f.Severity >= rule.Error })
			if r.Valid == broken {
				t.Errorf("valid is %t with %v", r.Valid, c.want)
			}
		})
	}
	diagtest.CoverRules(t, rules, seen)
	if !reflect.DeepEqual((*Report)(nil).Rules(), rules.Describe()) {
		t.Error("Rules does not describe the rules")
	}
}

func TestConvertReport(t *testing.T) {
	r, err := Convert(Request{Domain: "Bücher。EXAMPLE._x."})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	diagtest.Golden(t, "testdata/report.golden", append(text, '\n'))
}

func TestConvert(t *testing.T) {
	cases := []struct {
		name      string
		req       Request
		ascii     string
		unicode   string
		direction Form
		changed   bool
		isIDN     bool
	}{
		{"to ASCII by itself", Request{"bücher.example", ""}, "xn--bcher-kva.example", "bücher.example", ASCII, true, true},
		{"to Unicode by itself", Request{"xn--bcher-kva.example", Auto}, "xn--bcher-kva.example", "bücher.example",
			Unicode, true, true},
		{"to ASCII", Request{"xn--bcher-kva.example", ASCII}, "xn--bcher-kva.example", "bücher.example", ASCII, false, true},
		{"to Unicode", Request{"bücher.example", Unicode}, "xn--bcher-kva.example", "bücher.example", Unicode, false, true},
		{"both forms in one", Request{"xn--bcher-kva.bücher", ""}, "xn--bcher-kva.xn--bcher-kva", "bücher.bücher",
			Unicode, true, true},
		{"plain", Request{"example.com", ""}, "example.com", "example.com", ASCII, false, false},
		{"capitals", Request{"EXAMPLE.com", Unicode}, "example.com", "example.com", Unicode, true, false},
		{"final dot", Request{"example.com.", ""}, "example.com", "example.com", ASCII, false, false},
		{"ideographic dots", Request{"日本。例え。", ""}, "xn--wgv71a.xn--r8jz45g", "日本.例え", ASCII, true, true},
		{"full width", Request{"ｅｘａｍｐｌｅ．ｃｏｍ", ""}, "example.com", "example.com", ASCII, true, false},
		{"capital sharp s", Request{"STRAẞE.example", ""}, "xn--strae-oqa.example", "straße.example", ASCII, true, true},
		{"decomposed", Request{"bu\u0308cher.example", ""}, "xn--bcher-kva.example", "bücher.example", ASCII, true, true},
		{"A-label in capitals", Request{"XN--BCHER-KVA.example", ""}, "xn--bcher-kva.example", "bücher.example",
			Unicode, true, true},
		{"not decodable", Request{"xn--z.example", ""}, "xn--z.example", "xn--z.example", Unicode, false, true},
		{"decodes to nothing", Request{"xn---.example", ""}, "xn---.example", "xn---.example", Unicode, false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Convert(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if r.ASCII != c.ascii || r.Unicode != c.unicode || r.LengthASCII != len(c.ascii) ||
				r.Direction != c.direction || r.Changed != c.changed || r.IsIDN != c.isIDN {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestConvertRefuses(t *testing.T) {
	cases := []struct {
		name  string
		req   Request
		field string
	}{
		{"nothing", Request{}, "domain"},
		{"too long", Request{Domain: strings.Repeat("ü", 1001)}, "domain"},
		{"no UTF-8", Request{Domain: "a\xff"}, "domain"},
		{"form", Request{Domain: "a", To: "punycode"}, "to"},
	}
	for _, c := range cases {
		r, err := Convert(c.req)
		if input, ok := errors.AsType[*input.Error](err); r != nil || !ok || input.Field != c.field {
			t.Errorf("%s: got %v, %v", c.name, r, err)
		}
	}
	if _, err := Convert(Request{Domain: strings.Repeat("ü", 1000)}); err != nil {
		t.Errorf("the longest name: %v", err)
	}
}

func TestLocations(t *testing.T) {
	cases := []struct {
		name   string
		domain string
		want   string // the part of the domain that is pointed at
	}{
		{"character", "bücher.a_b.example", "_"},
		{"character behind capitals", "ÜÜ.ÄÖ\u2488.example", "\u2488"},
		{"label behind an ideographic dot", "例え。-a.example", "-a"},
		{"A-label", "a.xn--z.example", "xn--z"},
		{"what decoding brought to light", "a.xn--8ba.example", "xn--8ba"},
		{"long label", "a." + strings.Repeat("b", 64), strings.Repeat("b", 64)},
		{"empty label", "a..b", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Convert(Request{Domain: c.domain})
			if err != nil || len(r.Findings) != 1 || r.Findings[0].Location == nil {
				t.Fatalf("got %+v, %v", r, err)
			}
			l := r.Findings[0].Location
			if got := c.domain[l.Offset : l.Offset+l.Length]; got != c.want {
				t.Errorf("points at %q; want %q", got, c.want)
			}
		})
	}
}

// Invisible characters are named, with their place.
func TestUnseenCharacters(t *testing.T) {
	cases := map[string]string{
		"google.com\u200B":     "U+200B ZERO WIDTH SPACE was left out, which IDNA ignores. It is character 11 of the name.",
		"bü\u00ADcher.example": "U+00AD SOFT HYPHEN was left out, which IDNA ignores. It is character 3 of the name.",
		"a.g\u200Eoogle.com":   "In the label \"g\\u200eoogle\": Names may not have U+200E LEFT-TO-RIGHT MARK. It is character 4 of the name.",
		"google\u00A0.com":     "The label \"google\\u00a0\" has the character ' ', typed as U+00A0 NO-BREAK SPACE. It is character 7 of the name.",
		"a\u200Db.example":     "In the label \"a\\u200db\": U+200D ZERO WIDTH JOINER is where it changes nothing. It is character 2 of the name.",
		"a／b.example":          "The label \"a／b\" has the character '/', typed as U+FF0F '／'.",
		"127.0.0.1":            "It is the IPv4 address 127.0.0.1.",
		"1２7.1":                "Its last label is a number: browsers take the name for the IPv4 address 127.0.0.1.",
		"example.256":          "Its last label is a number: browsers take the name for an IPv4 address, and refuse it because it is not one.",
		"[2001:db8::1]":        "It is the IPv6 address 2001:db8::1.",
		"::ffff:192.0.2.1":     "It is the IPv4 address ::ffff:192.0.2.1.",
	}
	for domain, want := range cases {
		r, err := Convert(Request{Domain: domain})
		if err != nil || len(r.Findings) == 0 || r.Findings[0].Detail != want {
			t.Errorf("%q: got %+v, %v", domain, r, err)
		}
	}
}

func TestScripts(t *testing.T) {
	cases := []struct {
		text    string
		scripts []string
		mix     aMix
	}{
		{"", []string{}, usual},
		{"123-", []string{}, usual},
		{"abc1", []string{"Latin"}, usual},
		{"日本ab", []string{"Han", "Latin"}, usual},
		{"日本ごカナab", []string{"Han", "Hiragana", "Katakana", "Latin"}, usual},
		{"漢한ab", []string{"Han", "Hangul", "Latin"}, usual},
		{"漢ㄅab", []string{"Bopomofo", "Han", "Latin"}, usual},
		{"ㄅか", []string{"Bopomofo", "Hiragana"}, mixed},
		{"abไทย", []string{"Latin", "Thai"}, unusual},
		{"abд", []string{"Cyrillic", "Latin"}, mixed},
		{"abλ", []string{"Greek", "Latin"}, mixed},
		{"дλ", []string{"Cyrillic", "Greek"}, mixed},
		{"abไтא", []string{"Cyrillic", "Hebrew", "Latin", "Thai"}, mixed},
		{"\U000E0FFF", []string{}, usual},
		{"\U00010D70", []string{"Garay"}, usual}, // since Unicode 16
	}
	for _, c := range cases {
		got := scriptsOf(c.text)
		if !slices.Equal(got, c.scripts) || mixOf(got) != c.mix {
			t.Errorf("%q: %v, %d; want %v, %d", c.text, got, mixOf(got), c.scripts, c.mix)
		}
	}
}

func TestSkeleton(t *testing.T) {
	cases := []struct{ text, want string }{
		{"paypal", ""},
		{"pаypal", "paypal"},
		{"аррӏе", "apple"},
		{"gооgle", "google"},
		{"ｇоogle", ""}, // mapping has made full-width letters plain before
		{"bücher", ""},
		{"москва", ""},
		{"ехаmрlе-1", "example-1"},
	}
	for _, c := range cases {
		if got := skeleton(c.text); got != c.want {
			t.Errorf("%q looks like %q; want %q", c.text, got, c.want)
		}
	}
}

func TestLookalikesAreAllowedInNames(t *testing.T) {
	seen := map[rune]bool{}
	for ascii, list := range lookalikes() {
		for _, r := range list {
			if s, _ := table().statusOf(r); s != valid || seen[r] {
				t.Errorf("%U of %q is not allowed, or appears twice", r, ascii)
			}
			seen[r] = true
		}
	}
}

func TestNFC(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"known to the library", "u\u0308", "ü"},
		{"later letter", "\U000105D2\u0307", "\U000105C9"},
		{"later letters, joined twice", "\U0001611E\U0001611E\U0001611F", "\U00016126"},
		{"later letter decomposed and joined", "\U00016126", "\U00016126"},
		{"later mark sorted", "a\u0897\u0323", "ạ\u0897"},
		{"later mark blocks", "a\u0897\u0301", "a\u0897\u0301"},
		{"mark below does not block", "\U000105D2\u0323\u0307", "\U000105C9\u0323"},
		{"Hangul beside", "\U00016D67\U00016D67\u1100\u1161\u11A8", "\U00016D68각"},
		{"mark first", "\u0897a", "\u0897a"},
	}
	for _, c := range cases {
		if got := nfc(c.text); got != c.want {
			t.Errorf("%s: %+q; want %+q", c.name, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	p := table()
	for name, list := range map[string]spans{
		"valid": p.valid, "ignored": p.ignored, "symbol": p.symbol, "mark": p.mark, "virama": p.virama,
		"D": p.joinD, "R": p.joinR, "L": p.joinL, "T": p.joinT,
	} {
		for i, s := range list {
			if s.first > s.last || i > 0 && list[i-1].last >= s.first {
				t.Errorf("%s: %X-%X is out of order", name, s.first, s.last)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// FuzzConvert checks that the two forms of a valid name lead to each other.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{
		"bücher.example", "xn--bcher-kva.", "a\u0897\u0323.\U00016126", "נ\u05B7.1", "\u200Ca", "ab--c", "。", "xn--5ca",
		"STRAẞE", "क्\u200Dष", "⒈", "\U000E0FFF",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, domain string) {
		r, err := Convert(Request{Domain: domain})
		if (r == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", r, err)
		}
		if err != nil {
			return
		}
		for _, finding := range r.Findings {
			if l := finding.Location; l != nil && (l.Offset < 0 || l.Length < 0 || l.Offset+l.Length > len(domain)) {
				t.Fatalf("%q: location %+v", domain, l)
			}
		}
		if !r.Valid {
			return
		}
		for _, form := range []string{r.ASCII, r.Unicode} {
			again, err := Convert(Request{Domain: form})
			if err != nil || !again.Valid || again.ASCII != r.ASCII || again.Unicode != r.Unicode {
				t.Fatalf("%q: %+v, then %+v, %v", domain, r, again, err)
			}
		}
	})
}

// FuzzPunycode checks that what was decoded encodes to the same.
func FuzzPunycode(f *testing.F) {
	for _, s := range []string{"bcher-kva", "a-ls", "", "-", "99999999", "zzzzzzzzzzz", "abc-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := decodePunycode(s)
		if err != nil {
			return
		}
		encoded, err := encodePunycode(text)
		if err != nil {
			return // longer than can be encoded
		}
		if again, err := decodePunycode(encoded); err != nil || again != text {
			t.Fatalf("%q is %q, which is %q, which is %q, %v", s, text, encoded, again, err)
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	for _, domain := range []string{"www.example.com", "bücher.example", "日本語.例え.テスト"} {
		b.Run(domain, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Convert(Request{Domain: domain}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(domain+"/x-net", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := idna.Lookup.ToASCII(domain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A detail names the label that it is about.
func TestOfLabel(t *testing.T) {
	for detail, want := range map[string]string{
		"The label has the character ' '.": `The label "a b" has the character ' '.`,
		`"a b" decodes to nothing.`:        `"a b" decodes to nothing.`,
		"Names may not have U+2488.":       `In the label "a b": Names may not have U+2488.`,
	} {
		if got := ofLabel("a b", detail); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := ofLabel("", "The name has an empty label."); got != "The name has an empty label." {
		t.Errorf("got %s", got)
	}
}

// UTS #46 allows symbols, and IDNA 2008, which the report names as its profile, does not.
func TestSymbolIsNotValid(t *testing.T) {
	r, err := Convert(Request{Domain: "☃.net"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Valid || r.ASCII != "xn--n3h.net" || len(r.Findings) != 1 || r.Findings[0].Code != "idn.label.symbol" {
		t.Errorf("got %+v", r)
	}
}
