// Package suffix examines the suffixes of domain names: [Registry] finds the suffix below which a name is
// registered, and [Undotted] recognizes a name to which a zone file appended the name of its zone.
//
// The suffixes are those of the Public Suffix List (publicsuffix.org). It has two parts: suffixes of
// registries, such as com and co.uk, below which domains are registered, and suffixes that companies provide
// for their customers, such as github.io.
package suffix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"golang.org/x/net/publicsuffix"
)

// Registry returns the suffix of a name below which names are registered, which may be the name itself, and
// whether its top-level domain exists. The name is in ASCII form. Suffixes of companies, such as github.io,
// are skipped unless known returns true for them; known may be nil.
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

// Undotted returns the name that was probably meant by a name without its final dot, to which the zone file
// appended the name of the zone (RFC 1035 section 5.1): mx.example.net for mx.example.net.example.com. It
// returns the empty string if the name does not look like that. The bool likely is set if the name is
// unlikely to be a real host of the zone. Names are in ASCII form, with or without the final dot; the result
// has none.
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

// DotAdvice returns the advice for names that lack their final dot in a zone file. Meant are the probable
// names; certain means that they are the only ones possible.
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
