package policy

import "golang.org/x/net/publicsuffix"

// PublicSuffixOrganizational returns the organizational domain of a domain as receivers find it that do as RFC 7489
// section 3.2 suggests: by the list of publicsuffix.org, of which each receiver has a copy of its own age. A
// public suffix is its own organizational domain.
func PublicSuffixOrganizational(domain string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return org
	}
	return domain
}

// IsPublicSuffix reports whether a domain is a public suffix by that list; every top-level domain is one.
func IsPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}
