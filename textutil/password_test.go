package textutil_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil"
)

func ExampleGeneratePassword() {
	report, err := textutil.GeneratePassword(textutil.PasswordRequest{Length: 16, ExcludeAmbiguous: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(report.Passwords[0]), "of", report.AlphabetSize, "characters,", report.Strength)
	// Output:
	// 16 of 87 characters, very_strong
}

func ExampleGeneratePassword_passphrase() {
	report, err := textutil.GeneratePassword(textutil.PasswordRequest{Mode: textutil.PasswordPassphrase})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Count(report.Passwords[0], "-")+1, "words,", report.EntropyBits, "bits,", report.Strength)
	// Output:
	// 6 words, 66 bits, strong
}

func TestGeneratePassword(t *testing.T) {
	no := false
	const lower, upper, digits, symbols = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789",
		"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	cases := []struct {
		name     string
		req      textutil.PasswordRequest
		length   int
		classes  []string // of which each password has one at least
		size     int
		strength textutil.PasswordStrength
	}{
		{"default", textutil.PasswordRequest{}, 20, []string{lower, upper, digits, symbols}, 94, "very_strong"},
		{"shortest", textutil.PasswordRequest{Length: 8}, 8, []string{lower, upper, digits, symbols}, 94, "fair"},
		{"longest", textutil.PasswordRequest{Length: 256, Count: 100}, 256, []string{lower, upper, digits, symbols}, 94,
			"very_strong"},
		{"digits", textutil.PasswordRequest{Lowercase: &no, Uppercase: &no, Symbols: &no, Length: 8}, 8, []string{digits},
			10, "weak"},
		{"letters", textutil.PasswordRequest{Digits: &no, Symbols: &no, Length: 12}, 12, []string{lower, upper}, 52,
			"strong"},
		{"without look-alikes", textutil.PasswordRequest{ExcludeAmbiguous: true, Count: 100}, 20,
			[]string{"abcdefghijkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", strings.ReplaceAll(symbols, "|", "")},
			87, "very_strong"},
		{"one digit left", textutil.PasswordRequest{Exclude: "012345678é", Length: 8, Count: 100}, 8,
			[]string{lower, upper, "9", symbols}, 85, "weak"},
		{"classes not required", textutil.PasswordRequest{RequireEach: &no, Exclude: digits, Length: 8}, 8,
			[]string{lower + upper + symbols}, 84, "fair"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.GeneratePassword(c.req)
			if err != nil {
				t.Fatal(err)
			}
			if report.Length != c.length || report.AlphabetSize != c.size || report.Strength != c.strength {
				t.Errorf("got %+v", report)
			}
			if report.Count != max(1, c.req.Count) || len(report.Passwords) != report.Count {
				t.Errorf("%d passwords", len(report.Passwords))
			}
			seen := map[string]bool{}
			for _, password := range report.Passwords {
				if seen[password] || len(password) != c.length || strings.Trim(password, strings.Join(c.classes, "")) != "" {
					t.Errorf("password %q", password)
				}
				seen[password] = true
				for _, class := range c.classes {
					if !strings.ContainsAny(password, class) {
						t.Errorf("%q has none of %s", password, class)
					}
				}
			}
		})
	}
}

func TestGeneratePasswordOfWords(t *testing.T) {
	report, err := textutil.GeneratePassword(textutil.PasswordRequest{
		Mode: textutil.PasswordPassphrase, Words: 24, Count: 100, WordSeparator: " · ",
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Length != 24 || report.AlphabetSize != 2048 || report.EntropyBits != 264 || report.Strength != "very_strong" {
		t.Errorf("got %+v", report)
	}
	words := map[string]bool{}
	for _, p := range report.Passwords {
		list := strings.Split(p, " · ")
		if len(list) != 24 || !utf8.ValidString(p) {
			t.Errorf("passphrase %q", p)
		}
		for _, w := range list {
			words[w] = true
		}
	}
	if len(words) < 1000 { // of 2400 drawn from 2048, about 1413 differ
		t.Errorf("%d different words", len(words))
	}
}

func TestGeneratePasswordRefuses(t *testing.T) {
	no := false
	digits := textutil.PasswordRequest{Lowercase: &no, Uppercase: &no, Symbols: &no}
	one, none := digits, digits
	one.Exclude, one.RequireEach = "012345678", &no
	none.Digits = &no
	cases := []struct {
		name  string
		req   textutil.PasswordRequest
		field string
	}{
		{"short", textutil.PasswordRequest{Length: 7}, "length"},
		{"long", textutil.PasswordRequest{Length: 257}, "length"},
		{"negative count", textutil.PasswordRequest{Count: -1}, "count"},
		{"many", textutil.PasswordRequest{Count: 101}, "count"},
		{"no class", none, "lowercase"},
		{"nothing to choose", one, "exclude"},
		{"class without characters", textutil.PasswordRequest{Exclude: "0123456789"}, "exclude"},
		{"long exclude", textutil.PasswordRequest{Exclude: strings.Repeat("é", 129)}, "exclude"},
		{"exclude that is not UTF-8", textutil.PasswordRequest{Exclude: "\xff"}, "exclude"},
		{"unknown mode", textutil.PasswordRequest{Mode: "pin"}, "mode"},
		{"words without the mode", textutil.PasswordRequest{Words: 5}, "words"},
		{"separator without the mode", textutil.PasswordRequest{Mode: "characters", WordSeparator: "_"}, "word_separator"},
		{"length of a passphrase", textutil.PasswordRequest{Mode: "passphrase", Length: 20}, "length"},
		{"class of a passphrase", textutil.PasswordRequest{Mode: "passphrase", Digits: &no}, "digits"},
		{"excluded from a passphrase", textutil.PasswordRequest{Mode: "passphrase", Exclude: "x"}, "exclude"},
		{"few words", textutil.PasswordRequest{Mode: "passphrase", Words: 3}, "words"},
		{"many words", textutil.PasswordRequest{Mode: "passphrase", Words: 25}, "words"},
		{"long separator", textutil.PasswordRequest{Mode: "passphrase", WordSeparator: "-----"}, "word_separator"},
		{"separator that is not UTF-8", textutil.PasswordRequest{Mode: "passphrase", WordSeparator: "\xff"}, "word_separator"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.GeneratePassword(c.req)
			refused(t, report, err, c.field)
		})
	}
}

func BenchmarkGeneratePassword(b *testing.B) {
	for name, req := range map[string]textutil.PasswordRequest{"default": {}, "most": {Length: 256, Count: 100}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := textutil.GeneratePassword(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
