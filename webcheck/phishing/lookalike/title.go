package lookalike

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
)

// maxTitle bounds what is looked at of a title, in bytes.
const maxTitle = 300

// Named returns the brand whose name stands in a title as words of its own, or nil. Brands that are ordinary
// words, or very short, must stand there with a capital letter, at the begin or end of a part of the title.
func (t *Targets) Named(title string) *Target {
	title = title[:min(len(title), maxTitle)]
	lower := " " + strings.Join(fields(strings.ToLower(title)), " ") + " "
	for _, target := range t.List {
		name := strings.Join(fields(strings.ToLower(target.Name)), " ")
		if name == "" || !strings.Contains(lower, " "+name+" ") {
			continue
		}
		if common := target.Word || len(target.Labels) == 0 || len(name) < 5; !common || apart(title, target.Name) {
			return target
		}
	}
	return nil
}

// Claimed reports whether a title says that the page is the brand's: a part of it has nothing but the name and
// words as "Log in to your PayPal account" has them. "Sign in with PayPal" and "PayPal warns of phishing" do not.
func (t *Target) Claimed(title string) bool {
	name := fields(strings.ToLower(t.Name))
	return slices.ContainsFunc(parts(title[:min(len(title), maxTitle)]), func(part string) bool {
		words := fields(strings.ToLower(part))
		for i := 0; i+len(name) <= len(words); i++ {
			if slices.Equal(words[i:i+len(name)], name) {
				others := slices.Concat(words[:i], words[i+len(name):])
				return !slices.ContainsFunc(others, func(w string) bool { return !fillers()[w] && !trusted(w) })
			}
		}
		return false
	})
}

// fillers are the words beside those of confidence in the titles of pages to log in.
var fillers = diag.Words(`
	a an and bei de del der dein deinem deiner die du el en ihr ihrem ihrer il im in into la le les mein meinem mi mon
	mio my of on or sur the to tu un und up votre vous welcome willkommen bienvenue bienvenido benvenuto you your zu
	zum zur anmeldung einloggen inloggen accedi entrar sesión contraseña se connecter identifiez personal private
	business corporate individual home homepage international global`)

// fields are the words of a text.
func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// parts are those of a title: "Sign in" and "Chase" of "Sign in | Chase".
func parts(title string) []string {
	list := strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune("–—|:·•,‹›»«", r) })
	for _, part := range slices.Clone(list) {
		list = append(list, strings.Split(part, " - ")...)
	}
	return list
}

// apart reports whether a part of a title is a name, such as in "Sign in - Chase".
func apart(title, name string) bool {
	cut := strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune("-–—|:·•,", r) })
	return slices.ContainsFunc(cut, func(part string) bool { return strings.TrimSpace(part) == name })
}
