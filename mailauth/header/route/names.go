package route

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// notPublic are last labels of names that no public DNS holds.
var notPublic = []string{"local", "internal", "lan", "localdomain", "localhost", "home", "corp", "intranet", "filterd",
	"invalid"}

// Organizational is the organizational domain of a name, by the list of public suffixes; empty for names that no
// public DNS holds, such as those with a single label, below .local or .internal, and addresses.
func Organizational(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == name || slices.Contains(notPublic, last) || strings.Trim(last, "0123456789") == "" ||
		strings.ContainsAny(name, ":[]@_ ") {
		return ""
	}
	return policy.PublicSuffixOrganizational(name)
}

// operators are domains whose servers hand mail to each other within one company.
var operators = map[string]string{
	"office365.com": "outlook.com", "microsoft.com": "outlook.com", "hotmail.com": "outlook.com", "exchangelabs.com": "outlook.com",
	"googlemail.com": "google.com", "gmail.com": "google.com", "1e100.net": "google.com", "googlegroups.com": "google.com",
	"apple.com": "icloud.com", "me.com": "icloud.com", "yahoodns.net": "yahoo.com", "aol.com": "yahoo.com",
	"fastmail.com": "messagingengine.com", "amazonaws.com": "amazonses.com", "web.de": "gmx.net", "kundenserver.de": "gmx.net",
}

// Operator is who runs the server of a name: its organizational domain, or one that stands for several of a company.
// The list of public suffixes has names below outlook.com and amazonaws.com that customers do not get for mail.
func Operator(name string) string {
	org := Organizational(name)
	lower := strings.ToLower(strings.TrimSuffix(name, "."))
	for _, d := range []string{"outlook.com", "amazonaws.com"} {
		if strings.HasSuffix(lower, "."+d) {
			org = d
		}
	}
	if other, ok := operators[org]; ok {
		return other
	}
	return org
}

// Canonical is a domain in lower case with A-labels. What is no valid name, such as an address literal, is only put
// in lower case.
func Canonical(domain string) string {
	if d, err := diag.ParseName(domain); err == nil && domain != "" {
		return d.String()
	}
	return strings.ToLower(strings.TrimSuffix(domain, "."))
}

// SameOrganization reports whether two names have the same organizational domain, as relaxed alignment asks.
func SameOrganization(a, b string) bool {
	a, b = Canonical(a), Canonical(b)
	return a != "" && policy.PublicSuffixOrganizational(a) == policy.PublicSuffixOrganizational(b)
}

// Private reports whether an address says nothing outside of the network it is in: private (RFC 1918, RFC 4193),
// loopback, link-local and shared (RFC 6598).
func Private(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || shared.Contains(ip)
}

var shared = netip.MustParsePrefix("100.64.0.0/10")
