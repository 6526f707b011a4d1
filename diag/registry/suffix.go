package registry

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// registered returns the part of a domain that somebody has registered, one label more than the public
// suffix under which it is. A domain that is itself a public suffix is returned as it is, with true.
//
// Below suffixes that a company has made its own, such as github.io, nobody registers anything with a
// registry, unless a registry is known for the suffix.
func (c *Client) registered(name string) (domain string, isSuffix bool) {
	suffix := c.suffix(name)
	if suffix == name {
		return name, true
	}
	rest := strings.TrimSuffix(name, "."+suffix)
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix, false
}

// suffix returns the suffix under which names are registered, the name itself at most.
func (c *Client) suffix(name string) string {
	suffix, _ := publicsuffix.PublicSuffix(name)
	for strings.Contains(suffix, ".") {
		// Whether a suffix is official is told reliably of itself only, not of names below it.
		if _, official := publicsuffix.PublicSuffix(suffix); official || c.known(suffix) {
			return suffix
		}
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, _ = publicsuffix.PublicSuffix(parent)
	}
	return suffix
}

// known reports whether a registry is known for a suffix of several labels.
func (c *Client) known(suffix string) bool {
	b, s := c.bootstrap(), c.servers()
	return b.names[suffix] != nil || b.seeds[suffix] != nil || s.hosts[suffix] != ""
}
