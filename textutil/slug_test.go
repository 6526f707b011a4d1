package textutil_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleSlug() {
	for _, text := range []string{"Crème brûlée & more", "Don't panic!", "日本"} {
		report, err := textutil.Slug(textutil.SlugRequest{Text: text})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", report.Result, report.Reason)
	}
	// Output:
	// creme-brulee-and-more ""
	// dont-panic ""
	//  "no_latin_form"
}

func TestSlug(t *testing.T) {
	no := false
	cases := []struct {
		name, want string
		req        textutil.SlugRequest
	}{
		{"words", "hello-world", textutil.SlugRequest{Text: "  Hello,  World! "}},
		{"accents", "creme-brulee", textutil.SlugRequest{Text: "Cre\u0300me brûlée"}},
		{"separator", "a_b", textutil.SlugRequest{Text: "a-b", Separator: "_"}},
		{"full stop", "a.b", textutil.SlugRequest{Text: "a b", Separator: "."}},
		{"capitals", "Hello-World", textutil.SlugRequest{Text: "Hello World", Lowercase: &no}},
		{"contractions", "dont-its-well-weve-youre-im-hed", textutil.SlugRequest{Text: "don't it’s we'll we've you're I'm he'd"}},
		{"apostrophes elsewhere", "l-amour-o-brien-rock-n-roll", textutil.SlugRequest{Text: "l'amour O'Brien rock 'n' roll"}},
		{"backslash before an apostrophe", "don-t-l-amour", textutil.SlugRequest{Text: `don\'t l\'amour`}},
		{"digits", "1234-x2", textutil.SlugRequest{Text: "1٢٣4 x²"}},
		{"fraction", "1-2-3-4", textutil.SlugRequest{Text: "½ ¾"}},
		{"ligature", "office", textutil.SlugRequest{Text: "o\ufb03ce"}},
		{"symbols that stand for letters", "no-5-kg-brand", textutil.SlugRequest{Text: "№ 5 ㎏ Brand™"}},
		{"the same in Unicode", "no-5", textutil.SlugRequest{Text: "№ 5", AllowUnicode: true}},
		{"fullwidth", "abc", textutil.SlugRequest{Text: "ＡＢＣ"}},
		{"soft hyphen", "wordbreak", textutil.SlugRequest{Text: "word\u00adbreak"}},
		{"no-break space", "a-b", textutil.SlugRequest{Text: "a\u00a0b"}},
		{"and", "a-and-b-and-c", textutil.SlugRequest{Text: "a&b & c"}},
		{"German", "ueber-koeln-und-strasse", textutil.SlugRequest{Text: "Über Köln & Straße", Locale: "de"}},
		{"German with accents of its own", "ueber", textutil.SlugRequest{Text: "U\u0308ber", Locale: "de"}},
		{"German in capitals", "UEBER-AERGER-Oel", textutil.SlugRequest{Text: "ÜBER ÄRGER Öl", Locale: "de", Lowercase: &no}},
		{"no language", "uber-koln-strasse", textutil.SlugRequest{Text: "Über Köln Straße"}},
		{"Danish", "roed-groed-med-floede-og-aal", textutil.SlugRequest{Text: "Rød grød med fløde & ål", Locale: "da"}},
		{"Swedish", "smorgas-och-al", textutil.SlugRequest{Text: "Smörgås & ål", Locale: "sv"}},
		{"Turkish", "istanbul-isparta-agac", textutil.SlugRequest{Text: "İstanbul ISPARTA ağaç", Locale: "tr"}},
		{"Polish", "zazolc-gesla-jazn-lodz", textutil.SlugRequest{Text: "Zażółć gęślą jaźń Łódź", Locale: "pl"}},
		{"Vietnamese", "duong-den-ho-chi-minh", textutil.SlugRequest{Text: "Đường đến Hồ Chí Minh"}},
		{"Icelandic", "thingvellir-aeo", textutil.SlugRequest{Text: "Þingvellir æo"}},
		{"Russian", "moskva-shchi-yolka-podyezd", textutil.SlugRequest{Text: "Москва щи ёлка подyезд"}},
		{"Russian in capitals", "SHCHI-Shchi", textutil.SlugRequest{Text: "ЩИ Щи", Lowercase: &no}},
		{"Ukrainian", "kyiv-kharkiv-yizhak-znaiu-yahotyn", textutil.SlugRequest{Text: "Київ Харків їжак знаю Яготин", Locale: "uk"}},
		{"Bulgarian", "sofiya-shtastie-balgariya", textutil.SlugRequest{Text: "София щастие България", Locale: "bg"}},
		{"Serbian", "nis-cacak-dordje", textutil.SlugRequest{Text: "Ниш Чачак Dорђе", Locale: "sr"}},
		{"Greek", "efcharisto-ouranos-angelos-avga-maios-bala", textutil.SlugRequest{
			Text: "Ευχαριστώ ουρανός άγγελος αυγά Μάιος μπάλα"}},
		{"Greek vowels kept apart", "atypos-aypnia", textutil.SlugRequest{Text: "άτυπος αϋπνία"}},
		{"Georgian", "tbilisi", textutil.SlugRequest{Text: "თბილისი"}},
		{"Armenian", "yerevan-hayastan", textutil.SlugRequest{Text: "Yերևան Հայաստան"}},
		{"CamelCase kept", "foobar", textutil.SlugRequest{Text: "fooBar"}},
		{"CamelCase cut", "foo-bar-html-page-api-2-apis-foo2-bar", textutil.SlugRequest{
			Text: "fooBar HTMLPage API2 APIs foo2Bar", Decamelize: true}},
		{"CamelCase in Greek", "αβγ-δε", textutil.SlugRequest{Text: "αβγΔε", Decamelize: true, AllowUnicode: true}},
		{"Unicode", "日本語-στρασσε-ß", textutil.SlugRequest{Text: "日本語, στρασσε (ß)", AllowUnicode: true}},
		{"Unicode in small letters", "οδος-ırmak", textutil.SlugRequest{Text: "ΟΔΟΣ IRMAK", AllowUnicode: true, Locale: "tr"}},
		{"Unicode marks", "नमस्ते", textutil.SlugRequest{Text: "नमस्ते!", AllowUnicode: true}},
		{"partly without Latin form", "tokyo-1", textutil.SlugRequest{Text: "Tokyo 東京 1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Slug(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if report.Result != c.want || report.Truncated || report.Reason != "" || report.OutputBytes != len(c.want) {
				t.Errorf("got %+v; want %q", report, c.want)
			}
		})
	}
}

func TestSlugCuts(t *testing.T) {
	cases := []struct {
		name, text string
		limit      int
		unicode    bool
		want       string
		truncated  bool
	}{
		{"fits", "one two", 7, false, "one-two", false},
		{"at the end of a word", "one two three", 12, false, "one-two", true},
		{"just behind a word", "one two three", 7, false, "one-two", true},
		{"on the separator", "one two three", 4, false, "one", true},
		{"within the first word", "extraordinary", 5, false, "extra", true},
		{"characters, not bytes", "äöü äöü", 3, true, "äöü", true},
		{"before an accent", "ae\u0328\u0301x", 2, true, "a", true},
		{"nothing to cut", "", 1, false, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Slug(textutil.SlugRequest{Text: c.text, MaxLength: c.limit, AllowUnicode: c.unicode})
			if err != nil {
				t.Fatal(err)
			}
			if report.Result != c.want || report.Truncated != c.truncated {
				t.Errorf("got %+v; want %q, %v", report, c.want, c.truncated)
			}
		})
	}
}

func TestSlugTellsWhatIsMissing(t *testing.T) {
	const empty, dropped = "text.slug.empty", "text.slug.dropped"
	cases := []struct {
		name, text string
		reason     textutil.SlugReason
		codes      []string
	}{
		{"nothing", "", "empty_text", []string{empty}},
		{"white space", " \n\u3000", "empty_text", []string{empty}},
		{"punctuation", "?! — 🦄", "no_letters", []string{empty}},
		{"no Latin form", "東京", "no_latin_form", []string{dropped, empty}},
		{"Hebrew among others", "שלום 1", "", []string{dropped}},
		{"punctuation among others", "a 🦄", "", []string{}},
		{"all there", "a", "", []string{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Slug(textutil.SlugRequest{Text: c.text})
			if err != nil {
				t.Fatal(err)
			}
			codes := []string{}
			for _, f := range report.Findings {
				codes = append(codes, f.Code)
			}
			if report.Reason != c.reason || (c.reason != "") != (report.Result == "") || !slices.Equal(codes, c.codes) {
				t.Errorf("got %+v; want %s, %v", report, c.reason, c.codes)
			}
		})
	}
	report, err := textutil.Slug(textutil.SlugRequest{Text: "日本 日本語 " + strings.Repeat("東西南北春夏秋冬上下左右", 2)})
	if err != nil {
		t.Fatal(err)
	}
	const want = "29 letters have no Latin form here and were omitted: 日本語東西南北春夏秋冬上 and others."
	if report.Findings[0].Detail != want {
		t.Errorf("got %s; want %s", report.Findings[0].Detail, want)
	}
}

func TestSlugRefuses(t *testing.T) {
	cases := []struct {
		name  string
		req   textutil.SlugRequest
		field string
	}{
		{"other separator", textutil.SlugRequest{Separator: "--"}, "separator"},
		{"negative length", textutil.SlugRequest{MaxLength: -1}, "max_length"},
		{"large length", textutil.SlugRequest{MaxLength: 1001}, "max_length"},
		{"unknown language", textutil.SlugRequest{Locale: "xx"}, "locale"},
		{"no UTF-8", textutil.SlugRequest{Text: "\xff"}, "text"},
		{"long", textutil.SlugRequest{Text: strings.Repeat("a", textutil.MaxText+1)}, "text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Slug(c.req)
			refused(t, report, err, c.field)
		})
	}
	for _, locale := range textutil.SlugUndetermined.Values() {
		if _, err := textutil.Slug(textutil.SlugRequest{Text: "a", Locale: textutil.SlugLocale(locale)}); err != nil {
			t.Errorf("%s: %v", locale, err)
		}
	}
}

func TestSlugOfLongestText(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	for _, unit := range []string{"a", "Щ", "\ufdfa", "'s", "日", "αυ", "é ", "\u0301"} {
		text := strings.Repeat(unit, longText/len(unit))
		start := time.Now()
		report, err := textutil.Slug(textutil.SlugRequest{Text: text, Decamelize: true})
		t.Logf("%d bytes of %+q: %v", len(text), unit, time.Since(start))
		if err != nil || len(report.Result) > 12*len(text) {
			t.Errorf("%q: %d bytes, %v", unit, len(report.Result), err)
		}
	}
}

func TestConformanceSlug(t *testing.T) {
	var cases []struct {
		Input string
		Want  string `json:"sindresorhus"`
	}
	conformance(t, &cases, diagtest.Suite(t, "text/slug/sindresorhus_pairs.json"))
	passed, total := 0, 0
	for _, c := range cases {
		if strings.ContainsFunc(c.Input, func(r rune) bool { return r > 0xffff && unicode.Is(unicode.So, r) }) {
			continue // emoji have no names here
		}
		total++
		report, err := textutil.Slug(textutil.SlugRequest{Text: c.Input, Decamelize: true})
		if err != nil || report.Result != c.Want {
			t.Errorf("%q: %+v, %v; want %s", c.Input, report, err, c.Want)
			continue
		}
		passed++
	}
	if total == 0 {
		t.Error("no cases")
	}
	t.Logf("sindresorhus_pairs: %d/%d, and %d with emoji", passed, total, len(cases)-total)
}

func FuzzSlug(f *testing.F) {
	f.Add("Crème & brûlée", "-", 0, false, "und", true)
	f.Add("ЩиЇ αυγ 日本 ½", "_", 7, true, "uk", true)
	f.Add("don\\'t ÄRGER I\u0307", ".", 3, false, "de", false)
	ascii := regexp.MustCompile(`^([A-Za-z0-9]+([-_.][A-Za-z0-9]+)*)?$`)
	f.Fuzz(func(t *testing.T, text, separator string, limit int, allow bool, locale string, camel bool) {
		req := textutil.SlugRequest{Text: text, Separator: separator, MaxLength: limit, AllowUnicode: allow,
			Locale: textutil.SlugLocale(locale), Decamelize: camel}
		report, err := textutil.Slug(req)
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		if err != nil {
			return
		}
		if !allow && !ascii.MatchString(report.Result) || !utf8.ValidString(report.Result) {
			t.Fatalf("%q became %q", text, report.Result)
		}
		if limit > 0 && utf8.RuneCountInString(report.Result) > limit {
			t.Fatalf("%q became %q, which is longer than %d", text, report.Result, limit)
		}
		if (report.Result == "") != (report.Reason != "") {
			t.Fatalf("%q: %+v", text, report)
		}
		req.Text, req.Decamelize = report.Result, false
		if again, err := textutil.Slug(req); !allow && (err != nil || again.Result != report.Result) {
			t.Fatalf("%q became %q and then %+v, %v", text, report.Result, again, err)
		}
	})
}

func BenchmarkSlug(b *testing.B) {
	for name, text := range map[string]string{"latin": "Crème brûlée & more", "cyrillic": "Київ та Харків"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := textutil.Slug(textutil.SlugRequest{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
