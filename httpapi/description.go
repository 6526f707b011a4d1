package httpapi

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/phrase"
)

// descriptionsText describes in three sentences what each operation examines: a paragraph each, which begins with its
// name.
//
//go:embed docs/descriptions.txt
var descriptionsText string

var descriptions = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(descriptionsText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		all[lines[0]] = lines[1:]
	}
	return all
})

// Description describes in three sentences what the operation examines and how; for a custom one, its purpose. The
// caller must not change them.
func (ep Endpoint) Description() []string {
	if own, ok := descriptions()[ep.Name()]; ok || ep.Purpose == "" {
		return own
	}
	return []string{phrase.Capitalize(ep.Purpose) + "."}
}
