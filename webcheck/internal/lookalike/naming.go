package lookalike

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/text/unicode/norm"
)

// A Naming is the owner named by a text that presents a page, such as its title or the words beside its logo.
type Naming struct {
	Target *Target // the brand that it names, or nil
	// Claimed says that a part of the text has nothing but the name and words as "Log in to your PayPal account" has
	// them. "PayPal warns of phishing" does not.
	Claimed bool
	// Ordinary says that the name is a word or an abbreviation that others use as well, such as Target or UPS.
	Ordinary bool
	Beside   []string // words beside the name that are not those of any page to log in, in lower case without marks
	Own      []string // such words of the parts that do not name it
	Proper   bool     // one of those parts has them all with capital letters, as a name has them
}

// The limits of reading a text: its words, and those of a name.
const (
	maxTextWords = 60
	maxNameWords = 6
)

// Naming reads a text that presents a page. Of several brands it is the one that is claimed, or the first. "Sign in
// with PayPal" names no brand: it offers a way to sign in.
func (t *Targets) Naming(text string) (n Naming) {
	for _, part := range textParts(text) {
		list := t.unmask(tokens(part))
		m, from, to := t.named(list)
		if d := t.domainIn(part); d != nil && (m == nil || m == d) {
			rest := slices.DeleteFunc(strings.Fields(part), func(w string) bool { return t.Domain(bare(w)) == d })
			list, m, from, to = tokens(strings.Join(rest, " ")), d, 0, 0
		}
		words := others(list, from, to, func(w token) bool { return t.names[w.key] == m })
		switch {
		case m == nil:
			n.Own = append(n.Own, words...)
			n.Proper = n.Proper || len(words) > 0 && !slices.ContainsFunc(list, func(w token) bool {
				return !generic(w.key) && unicode.IsLower(firstOf(w.text))
			})
		case slices.ContainsFunc(list, func(w token) bool { return offers()[strings.ToLower(w.text)] }):
		case n.Target == nil || len(words) == 0 && !n.Claimed:
			n.Target, n.Claimed, n.Beside = m, len(words) == 0, words
			n.Ordinary = from < to && t.ordinary(m, list[from:to])
		}
	}
	return n
}

// offers are the words by which a page offers a way to sign in or to pay, as keys.
var offers = kit.Words("with via through using mit über per avec con met przez poprzez через ile で 用")

// others are the words that say whose a page is, but for a name and what belongs to it.
func others(list []token, from, to int, belongs func(token) bool) (words []string) {
	for i, w := range list {
		named := i >= from && i < to || i == to && to > 0 && w.key == "com"
		if !named && !generic(w.key) && (to == 0 || !belongs(w)) {
			words = append(words, w.key)
		}
	}
	return words
}

// domainIn returns the brand whose domain is in a text verbatim.
func (t *Targets) domainIn(text string) *Target {
	for _, w := range strings.Fields(text) {
		if target := t.Domain(bare(w)); target != nil {
			return target
		}
	}
	return nil
}

// bare is a word in lower case without punctuation around it.
func bare(word string) string { return strings.Trim(strings.ToLower(word), ".,;!?\"'") }

// named finds the longest name of a brand among words, and its position.
func (t *Targets) named(list []token) (m *Target, from, to int) {
	for size := min(maxNameWords, len(list)); size > 0; size-- {
		for i := 0; i+size <= len(list); i++ {
			joined := ""
			for _, w := range list[i : i+size] {
				joined += w.key
			}
			target := t.names[joined]
			if target != nil && (!t.ordinary(target, list[i:i+size]) || t.exact(target, list[i:i+size])) {
				return target, i, i + size
			}
		}
	}
	return nil, 0, 0
}

// unmask returns words with the names of brands in plain letters that they show by letters of other scripts.
func (t *Targets) unmask(list []token) []token {
	for i, w := range list {
		plain := idn.Fold(strings.ToLower(w.text))
		if t.names[w.key] == nil && len(plain) >= minLabel+2 && t.labels[plain] != nil {
			list[i].key = plain
		}
	}
	return list
}

// ordinary reports whether a name of one word is one that others use as well.
func (t *Targets) ordinary(m *Target, name []token) bool {
	if len(name) != 1 || name[0].cjk {
		return false
	}
	return m.Word && name[0].key == key(m.Name) || t.labels[name[0].key] == nil
}

// exact reports whether a name is written as the brand writes it.
func (t *Targets) exact(m *Target, name []token) bool {
	for _, known := range append([]string{m.Name}, m.Names...) {
		if list := tokens(known); len(list) == len(name) && list[0].text == name[0].text {
			return true
		}
	}
	return false
}

// A token is a word of a text.
type token struct {
	text, key string // verbatim, and as it is compared
	cjk       bool   // of a script that puts no spaces between words
}

// textParts are those of a title: "Sign in" and "Chase" of "Sign in | Chase".
func textParts(text string) []string {
	text = norm.NFKC.String(text[:min(len(text), maxTitle)])
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("–—|:·•,‹›»«/()[]", r) })
	var parts []string
	for _, part := range list {
		for _, half := range strings.Split(part, " - ") {
			parts = append(parts, strings.Split(half, ". ")...)
		}
	}
	return parts
}

// tokens splits a text into words; names and sign-in words in a script without spaces are words, too.
func tokens(text string) (list []token) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	}) {
		for word != "" && len(list) < maxTextWords {
			first, _ := cjkAt(word)
			end := strings.IndexFunc(word, func(r rune) bool { return spaceless(r) != first })
			if end < 0 {
				end = len(word)
			}
			if first {
				list = append(list, pieces(word[:end])...)
			} else {
				list = append(list, token{word[:end], key(word[:end]), false})
			}
			word = word[end:]
		}
	}
	return list[:min(len(list), maxTextWords)]
}

func cjkAt(s string) (bool, rune) {
	for _, r := range s {
		return spaceless(r), r
	}
	return false, 0
}

// spaceless reports whether a character is of a script that puts no spaces between words.
func spaceless(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// pieces cuts a run of such characters at the words that are known, the longest first.
func pieces(run string) (list []token) {
	rest := ""
	flush := func() {
		if rest != "" {
			list = append(list, token{rest, key(rest), true})
			rest = ""
		}
	}
	for run != "" {
		known := ""
		for _, w := range runWords() {
			if strings.HasPrefix(run, w) {
				known = w
				break
			}
		}
		if known == "" {
			_, size := firstRune(run)
			rest, run = rest+run[:size], run[size:]
			continue
		}
		flush()
		list, run = append(list, token{known, key(known), true}), run[len(known):]
	}
	flush()
	return list
}

func firstOf(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func firstRune(s string) (rune, int) {
	for i, r := range s {
		if i > 0 {
			return r, i
		}
	}
	return 0, len(s)
}

// runWords are the names and the words of signing in of scripts without spaces, the longest first. The names are those
// of the built-in brands, for they decide where a word ends, and not whose it is.
var runWords = sync.OnceValue(func() (list []string) {
	add := func(w string) {
		if is, _ := cjkAt(w); is && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	for _, target := range BuiltIn().List {
		for _, n := range append([]string{target.Name}, target.Names...) {
			add(n)
		}
	}
	for w := range titleWords() {
		add(w)
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return list
})

// key returns a word as it is compared: in lower case, without marks.
func key(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "ı", "i")
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word))
}

// titleWords are the words beside those of trust in titles and headings of pages to log in.
var titleWords = lists("words of titles")

var genericKeys = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, set := range []map[string]bool{titleWords(), fillers(), trustWords()} {
		for w := range set {
			m[key(w)] = true
		}
	}
	return m
})

// generic reports whether a word does not identify the owner of a page.
func generic(key string) bool {
	return genericKeys()[key] || strings.Trim(key, "0123456789") == "" || trusted(key)
}

// Generic reports whether a text has no word that says whose a page is.
func Generic(text string) bool {
	return !slices.ContainsFunc(textParts(text), func(part string) bool {
		return slices.ContainsFunc(tokens(part), func(w token) bool { return !generic(w.key) })
	})
}
