package publiccheck

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/target"
)

// maxName is how much of a visitor's word a page repeats.
const maxName = 300

// parse reads what a visitor entered: see [target.ParseDomain]. The fault is for the visitor, and empty if
// there is none.
func parse(word string) (t target.Target, domain diag.Domain, fault string) {
	const advice = "Enter a domain name, such as example.com."
	if len(word) > maxName {
		return t, domain, advice
	}
	t, err := target.ParseDomain(word)
	if err != nil {
		return t, domain, advice
	}
	if private(t.Text) {
		return t, domain, "This name has a meaning in private networks only. " + advice
	}
	return t, diag.MustDomain(t.Text), ""
}

// privateNames are the last labels of names that the operator's resolver may answer for a private network, or that the
// DNS has no answer for: special-use names (RFC 6761, RFC 6762 section 3, RFC 7686, RFC 8375, RFC 9476), and those
// that private networks use nevertheless (RFC 6762 appendix G).
var privateNames = []string{
	"localhost", "test", "invalid", "local", "onion", "arpa", "alt",
	"intranet", "internal", "private", "corp", "home", "lan",
}

func private(name string) bool {
	return slices.Contains(privateNames, name[strings.LastIndexByte(name, '.')+1:])
}
