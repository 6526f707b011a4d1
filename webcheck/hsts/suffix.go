package hsts

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// checkFormat says what keeps a text from being a domain that hstspreload.org accepts. It reads the text as
// it is typed into the form there, so that it may be anything.
func checkFormat(domain string) (found Issues) {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	_, err := netip.ParseAddr(domain)
	dotted := err == nil && strings.Contains(domain, ".") // an address is told below, if it has only digits and dots
	switch {
	case strings.HasPrefix(domain, "."):
		found.fail(formatLeadingDot)
	case strings.HasSuffix(domain, "."):
		found.fail(formatTrailingDot)
	case strings.Contains(domain, ".."):
		found.fail(formatDoubleDot)
	case suffix == domain && !dotted:
		found.fail(formatPublicSuffix)
	case strings.ContainsFunc(strings.ToLower(domain), notLDH):
		found.fail(formatCharacters)
	case err == nil:
		found.fail(formatIPAddress)
	}
	return found
}

func notLDH(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.')
}

// checkLevel says whether a domain stands directly below a public suffix: only such domains are accepted, for
// the sake of the list's size.
func checkLevel(domain string) (found Issues) {
	registrable, err := publicsuffix.EffectiveTLDPlusOne(domain)
	switch {
	case err != nil:
		found.fail(noRegistrableDomain)
	case registrable != domain:
		found.fail(isSubdomain)
	}
	return found
}
