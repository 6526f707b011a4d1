package registry

import (
	"cmp"
	"strings"
)

// roleWords are the words for roles in the names and paths of redactions, such as "Tech Email" or
// "$.entities[?(@.roles[0]=='technical')]".
var roleWords = []struct{ word, role string }{
	{"registrant", "registrant"}, {"administrative", "administrative"}, {"admin", "administrative"},
	{"technical", "technical"}, {"tech", "technical"}, {"billing", "billing"}, {"abuse", "abuse"},
}

// readRedactions reads of whom something was left out (RFC 9537 section 4.2). Whose it is follows from
// the name of the field, or else from the path to it.
func (o *object) readRedactions(n node) {
	for _, r := range n.get("redacted").list() {
		name := r.get("name")
		role := cmp.Or(roleIn(name.get("type").text()), roleIn(name.get("description").text()),
			roleIn(r.get("prePath").text()), roleIn(r.get("postPath").text()), roleIn(r.get("replacementPath").text()))
		o.redacted = addOnce(o.redacted, role)
	}
	for i, e := range o.entities {
		if e.depth == 0 && e.hasRole(o.redacted...) && !e.hasRole("registrar") {
			o.entities[i].redacted = true
		}
	}
}

func roleIn(text string) string {
	text = strings.ToLower(text)
	for _, w := range roleWords {
		if strings.HasPrefix(text, w.word) || strings.Contains(text, "'"+w.word+"'") {
			return w.role
		}
	}
	return ""
}
