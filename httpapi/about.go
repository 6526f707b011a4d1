package httpapi

import (
	"cmp"
	_ "embed" // what is said of each operation
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/mailauth/taglist"
)

// aboutText says of each operation in three sentences what it examines: a paragraph each, which begins with its name.
//
//go:embed docs/about.txt
var aboutText string

var abouts = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(aboutText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		all[lines[0]] = lines[1:]
	}
	return all
})

// About says in three sentences what the operation examines and how. The caller does not change them.
func (ep Endpoint) About() []string { return abouts()[ep.Name()] }

// maxMeant bounds the paths for which the endpoint that was meant is looked for, in bytes.
const maxMeant = 100

// Nearest returns the endpoint that a path or a name that is none probably means: the one with most of its words,
// misspelt ones included, of which the first counts double. Among equals it is the shortest, and then the first of
// the table.
func Nearest(path string) (nearest Endpoint, ok bool) {
	if len(path) > maxMeant {
		return Endpoint{}, false
	}
	var all []string
	for _, ep := range endpoints {
		all = append(all, pathWords(ep.Path)...)
	}
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	typed := pathWords(strings.TrimPrefix(strings.ToLower(path), Prefix))
	for i, w := range typed {
		typed[i] = cmp.Or(taglist.Nearest(w, all...), w)
	}
	const perWord = 20 // more than twice the words of a path
	most := 0
	for _, ep := range endpoints {
		own := pathWords(ep.Path)
		score := -len(own)
		for i, w := range typed {
			switch at := slices.Index(own, w); {
			case at == 0 && i == 0:
				score += 2 * perWord
			case at == i:
				score += perWord + 1 // where it belongs
			case at >= 0:
				score += perWord
			}
		}
		if score > most {
			nearest, most, ok = ep, score, true
		}
	}
	return nearest, ok
}

func pathWords(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '-' || r == '{' || r == '}' })
}
