package textutil_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleUpper() {
	for _, text := range []string{"Straße", "ﬁne"} {
		report, err := textutil.Upper(textutil.CaseRequest{Text: text})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(report.Result, report.Changed)
	}
	// Output:
	// STRASSE true
	// FINE true
}

func ExampleLower() {
	for _, locale := range []textutil.Locale{textutil.Undetermined, textutil.Turkish} {
		report, err := textutil.Lower(textutil.CaseRequest{Text: "ISPARTA ΟΔΟΣ", Locale: locale})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(report.Result)
	}
	// Output:
	// isparta οδος
	// ısparta οδος
}

func TestCase(t *testing.T) {
	const und, tr, az, lt, el = textutil.Undetermined, textutil.Turkish, textutil.Azerbaijani,
		textutil.Lithuanian, textutil.Greek
	cases := []struct {
		name         string
		locale       textutil.Locale
		text         string
		lower, upper string
	}{
		{"empty", "", "", "", ""},
		{"ascii", "", "Hello, World 42", "hello, world 42", "HELLO, WORLD 42"},
		{"one to many", und, "ŉﬃẗ", "ŉﬃẗ", "ʼNFFIT\u0308"},
		{"title case", und, "ǅ", "ǆ", "Ǆ"},
		{"second dot of a soft-dotted letter", lt, "i\u0307\u0307j\u0323\u0307", "i\u0307\u0307j\u0323\u0307", "I\u0307J\u0323"},
		{"dotted capital", und, "İ", "i\u0307", "İ"},
		{"beyond the basic plane", und, "𐐀𐐨", "𐐨𐐨", "𐐀𐐀"},
		{"sigma ends the word", und, "ΟΔΟΣ ΣΑΣ", "οδος σας", "ΟΔΟΣ ΣΑΣ"},
		{"sigma before an apostrophe", und, "ΑΣ' ΑΣ'Α", "ας' ασ'α", "ΑΣ' ΑΣ'Α"},
		{"sigma alone", und, "Σ .Σ", "σ .σ", "Σ .Σ"},
		{"sigma far from the next letter", und, "ΑΣ" + strings.Repeat(".", 20) + "Α",
			"ασ" + strings.Repeat(".", 20) + "α", "ΑΣ" + strings.Repeat(".", 20) + "Α"},
		{"sigma far from the letter before", und, "Α" + strings.Repeat("\u0301", 40) + "Σ",
			"α" + strings.Repeat("\u0301", 40) + "ς", "Α" + strings.Repeat("\u0301", 40) + "Σ"},
		{"turkish i", tr, "IĞDIR İzmir", "ığdır izmir", "IĞDIR İZMİR"},
		{"turkish i takes the dot", tr, "I\u0307", "i", "I\u0307"},
		{"turkish dot behind a mark below", tr, "I\u0323\u0307", "i\u0323", "I\u0323\u0307"},
		{"turkish dot behind a mark above", tr, "I\u0301\u0307", "ı\u0301\u0307", "I\u0301\u0307"},
		{"azeri is as turkish", az, "Iı İi", "ıı ii", "II İİ"},
		{"ascii without i in turkish", tr, "abc ABC", "abc abc", "ABC ABC"},
		{"lithuanian dot stays under an accent", lt, "I\u0300 J\u0303 Į\u0301",
			"i\u0307\u0300 j\u0307\u0303 į\u0307\u0301", "I\u0300 J\u0303 Į\u0301"},
		{"lithuanian accents in one character", lt, "ÌÍĨ", "i\u0307\u0300i\u0307\u0301i\u0307\u0303", "ÌÍĨ"},
		{"lithuanian without an accent", lt, "IJĮ\u0328a", "ijį\u0328a", "IJĮ\u0328A"},
		{"lithuanian capitals lose the dot", lt, "i\u0307\u0300 į\u0307\u0303 a\u0307",
			"i\u0307\u0300 į\u0307\u0303 a\u0307",
			"I\u0300 Į\u0303 A\u0307"},
		{"lithuanian dot behind a mark below", lt, "i\u0328\u0307", "i\u0328\u0307", "I\u0328"},
		{"lithuanian dot behind a mark above", lt, "i\u0301\u0307", "i\u0301\u0307", "I\u0301\u0307"},
		{"greek capitals without accents", el, "Άλφα ἄνθρωπος", "άλφα ἄνθρωπος", "ΑΛΦΑ ΑΝΘΡΩΠΟΣ"},
		{"greek accents of their own", el, "α\u0301ι", "α\u0301ι", "ΑΙ\u0308"},
		{"greek dialytika stays", el, "ϊΐΰ", "ϊΐΰ", "ΪΪΫ"},
		{"greek dialytika of its own", el, "ι\u0308\u0301 ι\u0344", "ι\u0308\u0301 ι\u0344", "Ι\u0308 Ι\u0308"},
		{"greek accent told the vowels apart", el, "μάιος ρολόι", "μάιος ρολόι", "ΜΑΪΟΣ ΡΟΛΟΪ"},
		{"greek or", el, "ή ή. ήταν", "ή ή. ήταν", "Ή Ή. ΗΤΑΝ"},
		{"greek or with an accent of its own", el, "η\u0301", "η\u0301", "Η\u0301"},
		{"greek iota below", el, "ᾳ ᾈ ῃ\u0345", "ᾳ ᾀ ῃ\u0345", "ΑΙ ΑΙ ΗΙΙ"},
		{"greek among others", el, "été ό τι ß", "été ό τι ß", "ÉTÉ Ο ΤΙ SS"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := textutil.CaseRequest{Text: c.text, Locale: c.locale}
			if got, err := textutil.Lower(req); err != nil || *got != report(c.text, c.lower) {
				t.Errorf("lower: %+q, %v; want %+q", got.Result, err, c.lower)
			}
			if got, err := textutil.Upper(req); err != nil || *got != report(c.text, c.upper) {
				t.Errorf("upper: %+q, %v; want %+q", got.Result, err, c.upper)
			}
		})
	}
}

func report(text, result string) textutil.CaseReport {
	return textutil.CaseReport{
		Result: result, InputBytes: len(text), OutputBytes: len(result), Changed: text != result,
	}
}

func TestCaseRefuses(t *testing.T) {
	cases := []struct {
		name   string
		req    textutil.CaseRequest
		reason string
	}{
		{"text: no UTF-8", textutil.CaseRequest{Text: "ab\xffc"}, "byte 2"},
		{"text: surrogate", textutil.CaseRequest{Text: "\xed\xa0\x80"}, "byte 0"},
		{"text: too long", textutil.CaseRequest{Text: strings.Repeat("a", textutil.MaxText+1)}, "1048577 bytes"},
		{"locale: unknown", textutil.CaseRequest{Text: "a", Locale: "de"}, `"de" is not one`},
		{"locale: upper case", textutil.CaseRequest{Text: "a", Locale: "TR"}, `"TR" is not one`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range []func(textutil.CaseRequest) (*textutil.CaseReport, error){textutil.Lower, textutil.Upper} {
				r, err := f(c.req)
				input, ok := errors.AsType[*textutil.InputError](err)
				if r != nil || !ok {
					t.Fatalf("got %v, %v; want an InputError", r, err)
				}
				field, reason := input.InputField()
				if want, _, _ := strings.Cut(c.name, ":"); field != want || !strings.Contains(reason, c.reason) {
					t.Errorf("got %v; want %s: %s", err, want, c.reason)
				}
			}
		})
	}
}

// TestCaseOfLongestText has texts in which each character makes the next ones be looked at. If that
// took more than a little for each, the test would not end.
func TestCaseOfLongestText(t *testing.T) {
	cases := []struct {
		unit   string
		locale textutil.Locale
	}{
		{"Σ'", textutil.Undetermined},
		{"ή'", textutil.Greek},
		{"I\u0323", textutil.Turkish},
		{"I\u0323", textutil.Lithuanian},
	}
	for _, c := range cases {
		req := textutil.CaseRequest{Text: strings.Repeat(c.unit, textutil.MaxText/len(c.unit)), Locale: c.locale}
		if _, err := textutil.Lower(req); err != nil {
			t.Errorf("lower of many %+q in %s: %v", c.unit, c.locale, err)
		}
		if _, err := textutil.Upper(req); err != nil {
			t.Errorf("upper of many %+q in %s: %v", c.unit, c.locale, err)
		}
	}
	text := "Σ" + strings.Repeat("'", textutil.MaxText-4) + "Σ"
	if r, err := textutil.Lower(textutil.CaseRequest{Text: text}); err != nil || r.Result[:2] != "σ" {
		t.Errorf("two letters far apart: %v", err)
	}
}

func TestConformanceCase(t *testing.T) {
	t.Run("icu_casing", func(t *testing.T) {
		var cases []struct {
			Locale              textutil.Locale
			Input, Upper, Lower string
		}
		conformance(t, &cases, diagtest.Vectors(t, "text/case/icu_casing.json"))
		passed := 0
		for _, c := range cases {
			if casedAs(t, textutil.CaseRequest{Text: c.Input, Locale: c.Locale}, c.Lower, c.Upper) {
				passed++
			}
		}
		t.Logf("icu_casing: %d/%d", passed, len(cases))
	})
	t.Run("codepoints", func(t *testing.T) {
		var cases []struct{ CP, Upper, Lower string }
		conformance(t, &cases, diagtest.Vectors(t, "text/case/codepoints.json"))
		passed := 0
		for _, c := range cases {
			cp, err := strconv.ParseUint(c.CP, 16, 21)
			if err != nil {
				t.Fatal(err)
			}
			if casedAs(t, textutil.CaseRequest{Text: string(rune(cp))}, c.Lower, c.Upper) {
				passed++
			}
		}
		t.Logf("codepoints: %d/%d", passed, len(cases))
	})
}

func casedAs(t *testing.T, req textutil.CaseRequest, lower, upper string) bool {
	t.Helper()
	l, err := textutil.Lower(req)
	if err != nil || l.Result != lower {
		t.Errorf("%s lower of %+q: %+v, %v; want %+q", req.Locale, req.Text, l, err, lower)
		return false
	}
	u, err := textutil.Upper(req)
	if err != nil || u.Result != upper {
		t.Errorf("%s upper of %+q: %+v, %v; want %+q", req.Locale, req.Text, u, err, upper)
		return false
	}
	return true
}

func FuzzCase(f *testing.F) {
	f.Add("Straße", "und")
	f.Add("Iİi\u0307\u0300ıΐάι ή ΑΣ'", "el")
	f.Add("I\u0323\u0307", "tr")
	f.Add("Į\u0303i\u0307\u0300", "lt")
	f.Add("\xff", "de")
	f.Fuzz(func(t *testing.T, text, locale string) {
		req := textutil.CaseRequest{Text: text, Locale: textutil.Locale(locale)}
		for _, fold := range []func(textutil.CaseRequest) (*textutil.CaseReport, error){textutil.Lower, textutil.Upper} {
			r, err := fold(req)
			if (r == nil) == (err == nil) {
				t.Fatalf("report %v, error %v", r, err)
			}
			if err != nil {
				continue
			}
			if !utf8.ValidString(r.Result) || r.OutputBytes != len(r.Result) || r.OutputBytes > 3*len(text)+2 {
				t.Fatalf("%q became %q", text, r.Result)
			}
		}
	})
}

func BenchmarkLower(b *testing.B) {
	texts := map[string]string{
		"ascii": "Hello World, this is a Short Text", "ascii unchanged": "hello world, this is a short text",
		"german": "Die Straße nach Köln", "greek": "Η ΟΔΟΣ ΤΗΣ ΑΘΗΝΑΣ",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := textutil.Lower(textutil.CaseRequest{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpper(b *testing.B) {
	texts := map[string]string{
		"ascii": "Hello World, this is a Short Text", "german": "Die Straße nach Köln",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := textutil.Upper(textutil.CaseRequest{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
