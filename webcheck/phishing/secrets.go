package phishing

import (
	_ "embed" // phrases.txt
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A secret is a kind of thing that a page may ask for and that others can misuse.
type secret string

// The kinds of secrets.
const (
	aPassword secret = "password"
	aCode     secret = "code"
	aCard     secret = "card"
	aCheck    secret = "card check"
	aPIN      secret = "pin"
	anID      secret = "identity"
	aPhrase   secret = "phrase"
)

// inWords says what a page asks for, in the order of the report.
var inWords = []struct {
	kind secret
	what string
}{
	{aPassword, "a password"}, {aPhrase, "the recovery phrase or key of a wallet"}, {aPIN, "a PIN or TAN"},
	{aCode, "a one-time code"}, {aCard, "a card number"}, {aCheck, "the security code of a card"},
	{anID, "the number of an identity document"},
}

// autocompleted are the secrets by the tokens of autocomplete (html.spec.whatwg.org, "autofill field").
var autocompleted = map[string]secret{
	"current-password": aPassword, "new-password": aPassword, "one-time-code": aCode,
	"cc-number": aCard, "cc-csc": aCheck,
}

//go:embed phrases.txt
var phraseLines string

// phrases are the words for secrets in labels, placeholders and names of controls, in the languages of the lists,
// as key and as key without spaces. They are compiled by hand from the pages of banks, shops and wallets, as of
// 2026-11-29.
var phrases = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for section := range strings.SplitSeq(phraseLines, "\n\n") {
		name, list, _ := strings.Cut(section, ":")
		for phrase := range strings.SplitSeq(list, ",") {
			if k := hintKey(phrase); k != "" {
				m[strings.TrimSpace(name)] = append(m[strings.TrimSpace(name)], k)
			}
		}
	}
	return m
})

// hintKey brings a text into lower case, without marks, with single spaces between words, and one on either side.
func hintKey(s string) string {
	s = strings.ReplaceAll(strings.ToLower(norm.NFKC.String(s)), "ı", "i")
	list := strings.FieldsFunc(norm.NFD.String(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	})
	for i, w := range list {
		list[i] = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, w)
	}
	if len(list) == 0 {
		return ""
	}
	return " " + strings.Join(list, " ") + " "
}

// minJoined is the length from which a phrase is recognized inside of other letters, as in "txtCardNumber"; shorter
// ones must be words of their own. Scripts without spaces need two characters.
const minJoined = 6

// calls reports whether a text, as a key, calls something a secret of this kind.
func calls(hint string, kind string) bool {
	joined := strings.ReplaceAll(hint, " ", "")
	return slices.ContainsFunc(phrases()[kind], func(p string) bool {
		letters := strings.ReplaceAll(p, " ", "")
		return strings.Contains(hint, p) || len(letters) >= minJoined && strings.Contains(joined, letters)
	})
}

// secretsOf are the kinds of secrets that a control asks for.
func secretsOf(kind, autocomplete, hint string) (list []secret) {
	add := func(s secret) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, word := range strings.Fields(strings.ToLower(autocomplete)) {
		if s := autocompleted[word]; s != "" {
			add(s)
		}
	}
	hint = hintKey(hint)
	for _, w := range inWords {
		if calls(hint, string(w.kind)) {
			add(w.kind)
		}
	}
	if kind == "password" && len(list) == 0 {
		add(aPassword)
	}
	return list
}
