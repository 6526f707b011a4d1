package httpapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"

	"github.com/diagkit/diagkit/diag"
)

// A RuleDoc is a rule and the operations that have it.
type RuleDoc struct {
	rule.Description
	Operations []string `json:"operations"`
}

// Rules lists the rules of all operations, each once, by code.
func (t Table) Rules() []RuleDoc {
	byCode := map[diag.Code]*RuleDoc{}
	for _, ep := range t {
		for _, r := range ep.Rules() {
			doc := cmp.Or(byCode[r.Code], &RuleDoc{Description: r})
			if !slices.Contains(doc.Operations, ep.Name()) {
				doc.Operations = append(doc.Operations, ep.Name())
			}
			byCode[r.Code] = doc
		}
	}
	return kit.Map(slices.Sorted(maps.Keys(byCode)), func(code diag.Code) RuleDoc { return *byCode[code] })
}

// Explain returns the rule of a code, or those of all codes that begin with it and a dot. If there are none, nearest
// is the code that was probably meant, or empty.
func (t Table) Explain(code string) (found []RuleDoc, nearest string) {
	if len(code) > maxNearestInput {
		return nil, ""
	}
	all := t.Rules()
	for _, r := range all {
		if string(r.Code) == code {
			return []RuleDoc{r}, "" // the code itself, not those that it begins
		}
		if strings.HasPrefix(string(r.Code), code+".") {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		nearest = nearestCode(code, all)
	}
	return found, nearest
}

// nearestCode returns the code that was probably meant: a misspelt part is compared with those that follow the same
// beginning.
func nearestCode(code string, all []RuleDoc) string {
	parts := strings.Split(code, ".")
	for i, part := range parts {
		prefix := strings.Join(parts[:i], ".")
		var words []string
		for _, r := range all {
			own := strings.Split(string(r.Code), ".")
			if len(own) > i && strings.Join(own[:i], ".") == prefix {
				words = append(words, own[i])
			}
		}
		words = slices.Compact(slices.Sorted(slices.Values(words)))
		if slices.Contains(words, part) {
			continue
		}
		near := phrase.Nearest(part, words...)
		if near == "" {
			return ""
		}
		parts[i] = near
	}
	return strings.Join(parts, ".")
}
