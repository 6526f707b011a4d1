package textutil_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleStats() {
	report, err := textutil.Stats(textutil.StatsRequest{Text: "Don't stop. Don't ask: 👩‍🚀 can't."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Words, "words,", report.Sentences, "sentences")
	fmt.Println(report.Graphemes, "graphemes,", report.Characters, "code points,", report.Bytes, "bytes")
	fmt.Println(report.TopWords[0])
	// Output:
	// 5 words, 2 sentences
	// 31 graphemes, 33 code points, 41 bytes
	// {don't 2}
}

func TestStats(t *testing.T) {
	cases := []struct {
		name, text                                      string
		words, sentences, paragraphs, lines, emptyLines int
	}{
		{"empty", "", 0, 0, 0, 1, 1},
		{"one word", "a", 1, 1, 1, 1, 0},
		{"white space alone", "\t \n", 0, 1, 0, 2, 2},
		{"paragraphs", "a\nb\n\n \nc\n", 3, 5, 2, 6, 3},
		{"line ends", "a\r\nb\rc\u2028d\u0085e\ff", 6, 5, 1, 6, 0},
		{"paragraph separator", "a\u2029b", 2, 2, 2, 2, 0},
		{"abbreviations", "Mr. smith has 3.14 e.g. here. Done! \"Yes?\" he said.", 10, 3, 1, 1, 0},
		{"numbers and addresses", "1,234.56 foo@bar.com can't", 4, 1, 1, 1, 0},
		{"punctuation is no word", "- — … !? 👍🏽", 0, 2, 1, 1, 0},
		{"Thai", "สวัสดีชาวโลก ครับ", 2, 1, 1, 1, 0},
		{"Japanese", "二つ目。テキスト", 4, 2, 1, 1, 0},
		{"Thai in brackets", "(สวัสดี)", 1, 1, 1, 1, 0},
		{"Thai beside Latin", "สวัสดีabcสวัสดี", 3, 1, 1, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := textutil.Stats(textutil.StatsRequest{Text: c.text})
			if err != nil {
				t.Fatal(err)
			}
			got := []int{r.Words, r.Sentences, r.Paragraphs, r.Lines, r.EmptyLines}
			if want := []int{c.words, c.sentences, c.paragraphs, c.lines, c.emptyLines}; !slices.Equal(got, want) {
				t.Errorf("words, sentences, paragraphs, lines, empty lines: %v; want %v", got, want)
			}
		})
	}
}

func TestStatsOfWords(t *testing.T) {
	three := 3
	r, err := textutil.Stats(textutil.StatsRequest{
		Text: "Straße STRASSE cafe\u0301 CAFÉ bb aa Aa a\u0301bc déf", Top: &three, WordsPerMinute: 50,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Words != 9 || r.UniqueWords != 6 || r.WordsBySpaces != 9 || r.ReadingTimeSeconds != 11 {
		t.Errorf("got %+v", r)
	}
	// "aa" and "café" and "strasse" occur twice; ties are in the order of code points.
	want := []textutil.WordCount{{Word: "aa", Count: 2}, {Word: "café", Count: 2}, {Word: "strasse", Count: 2}}
	if !slices.Equal(r.TopWords, want) {
		t.Errorf("top words %v; want %v", r.TopWords, want)
	}
	if r.LongestWord != "STRASSE" || r.AverageWordLength != 3.67 {
		t.Errorf("longest %q, average %v", r.LongestWord, r.AverageWordLength)
	}
}

func TestStatsOfCharacters(t *testing.T) {
	r, err := textutil.Stats(textutil.StatsRequest{Text: "👨‍👩‍👧‍👦 e\u0301\u00a0\n"})
	if err != nil {
		t.Fatal(err)
	}
	got := []int{r.Graphemes, r.Characters, r.CharactersWithoutSpaces, r.UTF16Units, r.Bytes}
	if want := []int{5, 12, 9, 16, 32}; !slices.Equal(got, want) {
		t.Errorf("graphemes, characters, without spaces, UTF-16, bytes: %v; want %v", got, want)
	}
}

func TestStatsOfConjuncts(t *testing.T) {
	for text, want := range map[string]int{
		"क्ष": 1, "क् ष": 3, "नमस्ते": 3, "क्\u200dष": 1, "क्\u200cष": 2, "क\u093cष": 2,
		"्ष": 2, "aक्ष": 2, "क्a": 2, "क्षक्ष": 2, "\r\n": 1,
	} {
		r, err := textutil.Stats(textutil.StatsRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if r.Graphemes != want {
			t.Errorf("%+q: %d graphemes; want %d", text, r.Graphemes, want)
		}
	}
}

func TestStatsTellsOfScriptsWithoutSpaces(t *testing.T) {
	for text, want := range map[string]int{"word": 0, "สวัสดี": 1, "word 日本": 1, "한국어": 0, "カタカナ": 0} {
		r, err := textutil.Stats(textutil.StatsRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != want {
			t.Errorf("%s: findings %v", text, r.Findings)
		}
	}
}

func TestStatsRefuses(t *testing.T) {
	minus, many := -1, 101
	cases := []struct {
		name  string
		req   textutil.StatsRequest
		field string
	}{
		{"slow reader", textutil.StatsRequest{WordsPerMinute: 49}, "words_per_minute"},
		{"fast reader", textutil.StatsRequest{WordsPerMinute: 1001}, "words_per_minute"},
		{"negative top", textutil.StatsRequest{Top: &minus}, "top"},
		{"large top", textutil.StatsRequest{Top: &many}, "top"},
		{"no UTF-8", textutil.StatsRequest{Text: "a\xff"}, "text"},
		{"long", textutil.StatsRequest{Text: strings.Repeat("a", textutil.MaxText+1)}, "text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Stats(c.req)
			refused(t, report, err, c.field)
		})
	}
	none := 0
	if r, err := textutil.Stats(textutil.StatsRequest{Text: "a", Top: &none}); err != nil || len(r.TopWords) != 0 {
		t.Errorf("top 0: %+v, %v", r, err)
	}
}

// TestStatsStaysInTime has texts whose boundaries depend on what is far behind them.
func TestStatsStaysInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	units := []string{"a", "a ", "a. ", "A. ", "1. ", ".)", "a'", "👩‍", "🇫", "\u0301", "สวัสดี", "ÀΣ", "日", "\r\n"}
	texts := []string{"a." + strings.Repeat(")]", longText/2-1), "a." + strings.Repeat(" ", longText-2),
		"a'" + strings.Repeat("\u0301", longText/2-1), "a." + strings.Repeat(")", longText/2) +
			strings.Repeat(" ", longText/2-3) + "b"}
	for _, unit := range units {
		texts = append(texts, strings.Repeat(unit, longText/len(unit)))
	}
	slowest := time.Duration(0)
	for _, text := range texts {
		if !diagtest.Sampled(text[:4], 2) {
			continue
		}
		start := diagtest.ProcessorTime()
		if _, err := textutil.Stats(textutil.StatsRequest{Text: text}); err != nil {
			t.Fatal(err)
		}
		took := diagtest.ProcessorTime() - start
		if slowest = max(slowest, took); took > 10*time.Second {
			t.Errorf("%.20q…: %v", text, took)
		}
	}
	t.Logf("the slowest of %d texts of %d bytes took %v", len(texts), longText, slowest)
}

func TestConformanceStats(t *testing.T) {
	var cases []struct {
		Input                                      string
		UTF16, Codepoints, Bytes, Graphemes, Lines int
		Words                                      int `json:"words_icu_en"`
		Sentences                                  int `json:"sentences_icu_en"`
	}
	conformance(t, &cases, diagtest.Vectors(t, "text/stats/segmenter.json"))
	passed, advice := 0, 0
	for _, c := range cases {
		r, err := textutil.Stats(textutil.StatsRequest{Text: c.Input})
		if err != nil {
			t.Fatal(err)
		}
		got := []int{r.UTF16Units, r.Characters, r.Bytes, r.Graphemes, r.Sentences, r.Lines}
		if want := []int{c.UTF16, c.Codepoints, c.Bytes, c.Graphemes, c.Sentences, c.Lines}; !slices.Equal(got, want) {
			t.Errorf("%+q: UTF-16, characters, bytes, graphemes, sentences, lines: %v; want %v", c.Input, got, want)
			continue
		}
		if len(r.Findings) > 0 && r.Words != c.Words {
			advice++ // the words of these scripts are those of a dictionary
		} else if r.Words != c.Words {
			t.Errorf("%+q: %d words; want %d", c.Input, r.Words, c.Words)
			continue
		}
		passed++
	}
	t.Logf("segmenter: %d/%d, of which %d count words without a dictionary", passed, len(cases), advice)
}

func FuzzStats(f *testing.F) {
	for _, seed := range []string{"", "a b. C", "สวัสดี", "👨‍👩‍👧‍👦", "a.\u0301) b", "\r\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := textutil.Stats(textutil.StatsRequest{Text: text})
		if (r == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", r, err)
		}
		if err != nil {
			return
		}
		ordered := r.Graphemes <= r.Characters && r.Characters <= r.UTF16Units && r.UTF16Units <= r.Bytes &&
			r.UniqueWords <= r.Words && r.EmptyLines <= r.Lines && r.Paragraphs <= r.Lines-r.EmptyLines &&
			len(r.TopWords) <= r.UniqueWords && (r.Words > 0) == (r.LongestWord != "")
		if !ordered || r.WordsBySpaces != len(strings.Fields(text)) {
			t.Fatalf("%+q: %+v", text, r)
		}
	})
}

func BenchmarkStats(b *testing.B) {
	for name, unit := range map[string]string{"latin": "The quick brown fox jumps. ", "greek": "Η ΟΔΟΣ ΤΗΣ ΑΘΗΝΑΣ. "} {
		text := strings.Repeat(unit, 10_000/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := textutil.Stats(textutil.StatsRequest{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
