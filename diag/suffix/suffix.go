// Package suffix answers questions about where names end: [Registry] finds the suffix below which a name is registered,
// and [Undotted] recognizes a name to which a zone file appended the name of its zone.
//
// The suffixes are those of the Public Suffix List (publicsuffix.org). It has two parts: the suffixes of registries,
// such as com and co.uk, and those that companies made public for their customers, such as github.io. Below the
// former a domain is registered with a registry, below the latter it is not.
package suffix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"golang.org/x/net/publicsuffix"
)

// Registry returns the suffix of a name in ASCII form below which names are registered with a registry, the name
// itself at most, and whether its top-level domain exists. Suffixes that a company made its own, such as github.io,
// do not count, unless known, which may be nil, returns true.
func Registry(name string, known func(suffix string) bool) (suffix string, exists bool) {
	for suffix = name; ; _, suffix, _ = strings.Cut(suffix, ".") {
		suffix, _ = publicsuffix.PublicSuffix(suffix)
		// The flag is reliable only for the suffix itself, not for names below it.
		_, official := publicsuffix.PublicSuffix(suffix)
		if official || !strings.Contains(suffix, ".") || known != nil && known(suffix) {
			return suffix, official
		}
	}
}

// Undotted returns the name that a record probably meant where the final dot is missing, so that a zone file completed
// it with the name of the zone (RFC 1035 section 5.1): mx.example.net for mx.example.net.example.com. It is empty if
// the name does not look like that. Names are absolute or not, in ASCII form; the one returned is not. It is likely to
// be meant if it ends in the zone itself, or is too long to be a host of the zone that is named after a country or a
// thing.
func Undotted(name, zone string) (meant string, likely bool) {
	name, zone = strings.TrimSuffix(strings.ToLower(name), "."), strings.TrimSuffix(strings.ToLower(zone), ".")
	meant, ok := strings.CutSuffix(name, "."+zone)
	if !ok || zone == "" {
		return "", false
	}
	if meant == zone || strings.HasSuffix(meant, "."+zone) {
		return meant, true
	}
	suffix, exists := Registry(meant, nil)
	last := meant[strings.LastIndexByte(meant, '.')+1:]
	if suffix == meant || !exists && !slices.Contains(exampleTLDs, last) {
		return "", false
	}
	return meant, strings.Count(meant, ".") > 1 || slices.Contains(plainTLDs, last) || !exists
}

// DotAdvice says what to do about names that lack their final dots; certain means that no others can be meant.
func DotAdvice(meant []string, certain bool) string {
	meant = slices.Compact(slices.Sorted(slices.Values(meant)))
	names := phrase.Series(kit.Map(meant, func(name string) string { return fmt.Sprintf("%q", name+".") }), 3)
	if certain {
		return "Write " + names + " with a final dot in the zone file: without it, the name of the zone is appended."
	}
	return "Write " + names + " with a final dot in the zone file if that is meant, and correct the name otherwise: " +
		"without the dot, the name of the zone is appended."
}

// exampleTLDs are reserved for examples (RFC 2606 section 2), and plainTLDs are rarely labels within a zone.
var (
	exampleTLDs = []string{"example", "test"}
	plainTLDs   = []string{"com", "net", "org"}
)
