package idn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"plain":        "plain",
		"аррӏе":        "apple", // Cyrillic
		"ṗàỵpɑł":       "paypal",
		"ᴋüçhe":        "kuche",
		"ƅɩɡ":          "big",
		"encyclopædia": "encyclopaedia",
		"straße":       "strasse",
		"日本":           "日本",
	} {
		require.Equal(t, want, Fold(in), in)
	}
}

func TestFoldKnowsEachCodePointOnce(t *testing.T) {
	seen := map[rune]string{}
	for letters, list := range similar() {
		for _, r := range list {
			require.Empty(t, seen[r], "%U", r)
			require.GreaterOrEqual(t, r, rune(0x80))
			seen[r] = letters
		}
	}
	for _, list := range lookalikes() {
		for _, r := range list {
			require.Empty(t, seen[r], "%U stands in both tables", r)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("аррӏе")
	f.Fuzz(func(t *testing.T, s string) {
		if once := Fold(s); Fold(once) != once {
			t.Fatalf("%q folds to %q, which folds again", s, once)
		}
	})
}
